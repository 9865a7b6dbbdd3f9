// operator-places.ts: what operators state about their own networks, laid over a geolocation database.
//
// in   geofeeds and anycast networks in order of preference, the database, the country each network is registered in
// out  for each network a place number: the database's own, or one beyond them, of an operator's place
// cost a pass over what is stated for each depth of nesting, one over the countries; places are made on first use
//
// A city, or a country or region that the database contradicts, is the operator's; where it only confirms the database,
// the database's place remains. One address of an anycast network is in many places at once: the country that it is
// registered in is all that is known: a city, coordinates, a radius or a time zone would be invented.

import {
  cover,
  type Networks,
  networksOf,
  overlay,
  type Prefix,
  prefixContains,
  type RangeColumns,
} from "@inkling/engine";
import type { StatedPlace, StatedPlaces } from "../parse/index.ts";
import { radiusIn, rowKeys } from "../place/accuracy.ts";
import { countryCode, findCountry } from "../place/countries.ts";
import type { Place, Subdivision } from "../place/place.ts";
import { cleanName } from "../place/place-names.ts";
import { findSubdivisionCode, findSubdivisionName } from "../place/subdivisions.ts";
import { type CityName, Gazetteer, weigh } from "./gazetteer.ts";
import { KINDS, layersOf, ROWS } from "./layers.ts";
import type { PlaceSource } from "./place-list.ts";

/** The networks of a feed, and what it states of them: "anycast" of all, or a place of each. */
export interface OperatorFeed {
  readonly id: string;
  readonly networks: readonly Prefix[];
  readonly stated: StatedPlaces | "anycast";
}

interface OperatorPlace {
  /** As the operator states it. */
  readonly stated: Place;
  /** With what the database has of it. */
  readonly place: Place;
  readonly feed: OperatorFeed;
  /** The place of the database that it was taken from, if one was. */
  readonly from: number | undefined;
}

interface Row extends StatedPlace {
  readonly feed: OperatorFeed;
}

const NOT_YET = 0xff;

export class OperatorPlaces {
  private readonly general: PlaceSource;
  private readonly feeds: readonly OperatorFeed[];
  /** What feeds state, each once; numbered from 1. */
  private readonly rows: Row[] = [];
  private readonly firstRow = new Map<OperatorFeed, number>();
  private readGazetteer: Gazetteer | undefined;
  private readonly made = new Map<string, OperatorPlace>();
  private readonly kinds: readonly string[];
  /** By class of place, and by kind of network in it: the first kind with the same radius. */
  private firstKinds: Uint8Array = new Uint8Array(0);

  /**
   * @param feeds the preferred one first
   * @param kinds of network, numbered from 1
   */
  constructor(general: PlaceSource, feeds: readonly OperatorFeed[], kinds: readonly string[] = []) {
    if (kinds.length >= KINDS) throw new RangeError(`${kinds.length} kinds of network`);
    this.general = general;
    this.feeds = feeds;
    this.kinds = kinds;
    for (const feed of feeds) {
      this.firstRow.set(feed, this.rows.length + 1);
      const places = feed.stated === "anycast" ? [{}] : feed.stated.places;
      for (const place of places) this.rows.push({ ...checked(place), feed });
    }
    if (this.rows.length >= ROWS) throw new RangeError(`${this.rows.length} stated places`);
  }

  /** Of the database and of operators. */
  get length(): number {
    return this.general.places.length + this.rows.length;
  }

  /** @param grounds a covering with a ground for each range @returns one with layers: see layers.ts */
  layOver(family: 4 | 6, grounds: RangeColumns): RangeColumns {
    let rows = cover(family, () => {});
    for (const feed of this.feeds.toReversed())
      for (const networks of this.byDepth(feed, family))
        rows = overlay(rows, networks, (over, under) => over || under);
    return overlay(grounds, networksIn(rows), layersOf, rows.length);
  }

  /** The networks in none of the feed, then those in one of these, and so on: each list without overlaps. */
  private byDepth(feed: OperatorFeed, family: 4 | 6): Networks[] {
    const first = this.firstRow.get(feed)!;
    const depths: number[][] = [];
    const open: Prefix[] = [];
    feed.networks.forEach((network, i) => {
      if (network.address.family !== family) return;
      while (open.length > 0 && !prefixContains(open.at(-1)!, network.address)) open.pop();
      depths[open.length] ??= [];
      depths[open.length]!.push(i);
      open.push(network);
    });
    return depths.map(
      (indices): Networks =>
        (add) => {
          for (const i of indices) {
            const { address, bits } = feed.networks[i]!;
            const [w0, w1, w2, w3] = address.words as unknown as readonly [number, number, number, number];
            const row = first + (feed.stated === "anycast" ? 0 : feed.stated.placeOf[i]!);
            if (family === 4) add(w0, 0, 0, 0, bits, row);
            else add(w0, w1, w2, w3, bits, row);
          }
        },
    );
  }

  /** Reads the database. @param cover of IPv4, if the database is made of several */
  prepare(cover: RangeColumns | undefined): void {
    const names = this.rows.filter((row): row is Row & CityName => row.city !== undefined);
    const weights = weigh(this.general, cover);
    this.readGazetteer = new Gazetteer(this.general.places, weights, names);
    this.firstKinds = new Uint8Array(this.gazetteer.classes * KINDS).fill(NOT_YET);
  }

  /**
   * The place number of a network; numbers count from 1, 0 is none.
   * @param row that the network has
   * @param place number of the database's place
   */
  choose(row: number, place: number, country: number): number {
    const { feed, country: stated, region, city } = this.rows[row - 1]!;
    const ofOperator = this.general.places.length + row;
    if (feed.stated === "anycast") return country === 0 ? place : ofOperator;
    if (stated === undefined) return place;
    if (city !== undefined || place === 0) return ofOperator;
    const { gazetteer } = this;
    if (gazetteer.countryOf(place - 1) !== stated) return ofOperator;
    return region === undefined || gazetteer.isWithin(place - 1, stated, region) ? place : ofOperator;
  }

  /** A place of the database, with what its radius is estimated by. @param kind of network, 0 for none */
  placeAt(id: number, kind = 0): Place {
    const density = this.gazetteer.densityOf(id);
    return { ...this.general.places.at(id)!, density, networkKind: this.kinds[kind - 1] };
  }

  /** The first kind of network with which a place has the same radius; 0 for a place that is none of the database. */
  firstKindWithRadius(place: number, kind: number): number {
    if (kind === 0 || place === 0 || place > this.general.places.length) return 0;
    const { gazetteer } = this;
    const placeClass = gazetteer.classOf(place - 1);
    if (placeClass === undefined) return kind;
    let first = this.firstKinds[placeClass * KINDS + kind]!;
    if (first === NOT_YET) {
      const [country, density] = [gazetteer.countryOf(place - 1), gazetteer.densityOf(place - 1)];
      const radius = (one: number) =>
        radiusIn(rowKeys(country, undefined, "city", density, this.kinds[one - 1]));
      first = 0;
      while (radius(first) !== radius(kind)) first++;
      this.firstKinds[placeClass * KINDS + kind] = first;
    }
    return first;
  }

  /** @param registered the country that the network is registered in */
  describe(number: number, registered: string | undefined): OperatorPlace {
    const row = number - this.general.places.length;
    const { feed, ...stated } = this.rows[row - 1]!;
    const key = feed.stated === "anycast" ? `${row} ${registered}` : `${row}`;
    let made = this.made.get(key);
    if (made === undefined) {
      made = feed.stated === "anycast" ? makeAnycast(feed, registered) : this.make(feed, stated);
      this.made.set(key, made);
    }
    return made;
  }

  private make(feed: OperatorFeed, { country, region, city }: StatedPlace): OperatorPlace {
    const { gazetteer } = this;
    const inRegion = (isoCode: string | undefined): Subdivision[] =>
      isoCode === undefined ? [] : [{ isoCode }];
    const stated = { countryCode: country, cityName: city, subdivisions: inRegion(region) };
    if (country === undefined) return { stated, place: stated, feed, from: undefined };
    const id = city === undefined ? undefined : gazetteer.findCity({ country, city }, region);
    if (id === undefined) {
      // Some state a region or the country in the column of cities.
      const meant = region ?? (city && findSubdivisionCode(country, city));
      const isCity = city !== undefined && meant === region && city !== findCountry(country)?.name;
      const cityName = isCity ? city : undefined;
      const middle = gazetteer.middleOf(country, meant) ?? gazetteer.middleOf(country);
      const place = { ...stated, cityName, subdivisions: inRegion(meant), ...middle };
      return { stated: { ...stated, cityName }, place, feed, from: undefined };
    }
    const found = this.general.places.at(id)!;
    const { cityName, latitude, longitude, timeZone } = found;
    const subdivisions = found.subdivisions.length === 0 ? stated.subdivisions : found.subdivisions;
    const density = "operator" as const;
    const place = { ...stated, cityName, latitude, longitude, timeZone, subdivisions, density };
    return { stated: { ...stated, cityName }, place, feed, from: id };
  }

  private get gazetteer(): Gazetteer {
    if (this.readGazetteer === undefined) throw new Error("the database has not been read");
    return this.readGazetteer;
  }
}

function makeAnycast(feed: OperatorFeed, registered: string | undefined): OperatorPlace {
  const place: Place = { countryCode: registered, isAnycast: true, subdivisions: [] };
  return { stated: { subdivisions: [] }, place, feed, from: undefined };
}

/** The networks of a covering that have a value. */
export function networksIn(ranges: RangeColumns): Networks {
  return (add) => {
    for (const { words, bits, value } of networksOf(ranges))
      add(words[0]!, words[1]!, words[2]!, words[3]!, bits, value);
  };
}

/** Without a country that is none, a region that ISO 3166-2 does not have, and a name that cannot be printed. */
function checked({ country: code, region, city: name }: StatedPlace): StatedPlace {
  const country = countryCode(code);
  if (country === undefined) return {};
  const isRegion = region !== undefined && findSubdivisionName(country, region) !== undefined;
  const city = cleanName(name);
  return { country, ...(isRegion && { region }), ...(city !== undefined && { city }) };
}
