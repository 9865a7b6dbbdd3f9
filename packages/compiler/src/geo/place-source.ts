// place-source.ts: the files of a geolocation database, or of a registry -> which network has which place or country.
//
// err  MmdbError from open, which decodes everything
// cost places are not kept but read when they are asked for, in 0.9 µs each: 703,356 of them took 300 MB, and each
//      garbage collection 0.15 s

import { type IdVisitor, MmdbRecords } from "../mmdb/records.ts";
import type { Place } from "../place/place.ts";
import type { NetworkWalk, PlaceList, PlaceSource, RegisteredCountries } from "./place-list.ts";
import { type Ignored, readCountry, readPlace } from "./read-place.ts";

/** A database of either kind. */
class Source implements NetworkWalk {
  /** What was left out of the records that were read: of countries all, of places those that were asked for. */
  readonly ignored: Ignored;
  protected readonly records: MmdbRecords;

  protected constructor(records: MmdbRecords, ignored: Ignored) {
    this.records = records;
    this.ignored = ignored;
  }

  get networks(): MmdbRecords["networks"] {
    return this.records.networks;
  }

  get publishedAt(): Date | undefined {
    return this.records.publishedAt;
  }

  walk(family: 4 | 6, visit: IdVisitor): void {
    this.records.walk(family, visit);
  }
}

/** A geolocation database. */
export class GeoSource extends Source implements PlaceSource {
  readonly places: PlaceList;

  private constructor(records: MmdbRecords, offsets: Uint32Array, ignored: Ignored) {
    super(records, ignored);
    const at = (id: number): Place | undefined => {
      const offset = offsets[id];
      return offset === undefined ? undefined : readPlace(records.decode(offset), ignored);
    };
    this.places = { length: offsets.length, at };
  }

  /**
   * Decodes everything once.
   * @param files one file, or an IPv4 and an IPv6 one
   * @throws MmdbError as {@link MmdbRecords.open}
   */
  static open(files: readonly Uint8Array[]): GeoSource {
    const offsets: number[] = [];
    const records = MmdbRecords.open(files, (_record, at) => offsets.push(at) - 1);
    return new GeoSource(records, Uint32Array.from(offsets), new Map());
  }
}

/** A database of countries only; networks without a valid code are left out. */
export class CountrySource extends Source implements RegisteredCountries {
  /** By id: each code once. */
  readonly countries: readonly string[];

  private constructor(records: MmdbRecords, countries: readonly string[], ignored: Ignored) {
    super(records, ignored);
    this.countries = countries;
  }

  /** @throws MmdbError as {@link MmdbRecords.open} */
  static open(files: readonly Uint8Array[]): CountrySource {
    const ids = new Map<string, number>();
    const ignored: Ignored = new Map();
    const records = MmdbRecords.open(files, (record) => {
      const country = readCountry(record, ignored);
      if (country === undefined) return -1;
      const id = ids.get(country) ?? ids.size;
      ids.set(country, id);
      return id;
    });
    return new CountrySource(records, [...ids.keys()], ignored);
  }
}
