// make-geo.ts: a geo segment of more ranges than today's, or with a mark in every answer; a process of its own, so that its
// memory can be measured.
//
// run  bun make-geo.ts DATA_DIR FACTOR [MARK]
// out  JSON of MadeGeo; the segment stands in DATA_DIR/segments
// What is timed is what the compiler does from ranges to the file; making up the ranges is not.

import { prepareDataFolder, writeSegmentFile } from "@inkling/release-store";
import { completePlace } from "../../packages/compiler/src/geo/complete-place.ts";
import { encodePlace } from "../../packages/compiler/src/geo/encode-place.ts";
import type { Place } from "../../packages/compiler/src/geo/place.ts";
import type { PlaceSource } from "../../packages/compiler/src/geo/place-list.ts";
import { CountrySource, GeoSource } from "../../packages/compiler/src/geo/place-source.ts";
import { geoTable } from "../../packages/compiler/src/segments/geo-table.ts";
import { segmentChunks } from "../../packages/compiler/src/segments/segment-writer.ts";
import { cover, type RangeColumns } from "../../packages/engine/src/segment/range-columns.ts";
import { databaseFiles, registryFiles } from "./data.ts";
import { growRanges, newPlaceShare } from "./grow.ts";
import { peakOf } from "./proc.ts";
import { generator, SEED } from "./random.ts";

export interface MadeGeo {
  readonly sha256: string;
  readonly bytes: number;
  readonly ranges: { readonly v4: number; readonly v6: number };
  readonly answers: number;
  readonly seconds: number;
  readonly peakBytes: number;
}

/** @param mark stands before the name of every city and is every postal code: both ends of every answer differ from those of another mark */
function make(dataDir: string, factor: number, mark: string | undefined): MadeGeo {
  const map = (path: string) => Bun.mmap(path, { shared: false });
  const database = databaseFiles();
  const today = GeoSource.open([map(database.v4), map(database.v6)]);
  const source = grow(today, factor);
  const registered = CountrySource.open(registryFiles().map(map));
  Bun.gc(true);
  const from = performance.now();
  const complete = (place: Place): Place =>
    mark === undefined
      ? completePlace(place)
      : { ...completePlace(place), cityName: `${mark} ${place.cityName ?? ""}`, postalCode: mark };
  const table = geoTable(source, registered, {
    feeds: { places: ["generated"], registered: "nro-delegated-stats" },
    complete,
    encode: encodePlace,
    progress: () => {},
    settle: () => Bun.gc(true),
  });
  prepareDataFolder(dataDir);
  const written = writeSegmentFile(dataDir, segmentChunks("geo", table.sections, {}));
  const seconds = (performance.now() - from) / 1000;
  return {
    ...written,
    ranges: table.ranges,
    answers: table.answers,
    seconds,
    peakBytes: peakOf(process.pid) ?? 0,
  };
}

/** Today's places and new ones beside them; the ranges of each family are made at once and given away when asked for. */
function grow(today: GeoSource, factor: number): PlaceSource {
  const next = generator(SEED);
  const first = today.places.length;
  const besides: number[] = [];
  const columnsOf = (family: 4 | 6) =>
    cover(family, (add) =>
      today.walk(family, (w0, w1, w2, w3, bits, id) => add(w0, w1, w2, w3, bits, id + 1)),
    );
  const before = { 4: columnsOf(4), 6: columnsOf(6) };
  const share = newPlaceShare(before[4].length + before[6].length, first, factor);
  const grown = new Map<4 | 6, RangeColumns>();
  for (const family of [4, 6] as const) {
    const made = growRanges(before[family], factor, share, first + 1 + besides.length, next);
    grown.set(family, made.columns);
    for (const value of made.besides) besides.push(value);
  }
  const at = (id: number): Place | undefined => {
    if (id < first) return today.places.at(id);
    const beside = besides[id - first];
    return beside === undefined ? undefined : moved(today.places.at(beside - 1)!, id);
  };
  return {
    places: { length: first + besides.length, at },
    walk: () => {
      throw new Error("a source that was grown is covered, not walked");
    },
    cover: (family) => {
      const columns = grown.get(family)!;
      grown.delete(family);
      return columns;
    },
  };
}

/** A place up to 10 km away: another part of the same town. */
function moved(place: Place, id: number): Place {
  if (place.latitude === undefined || place.longitude === undefined)
    return { ...place, cityName: `${place.cityName} ${id}` };
  const random = generator(id);
  const shift = () => (random() / 2 ** 32 - 0.5) * 0.2;
  const clamp = (value: number, most: number) => Number(Math.max(-most, Math.min(most, value)).toFixed(5));
  return {
    ...place,
    latitude: clamp(place.latitude + shift(), 89.9),
    longitude: clamp(place.longitude + shift(), 179.9),
  };
}

if (import.meta.main) {
  const [dataDir, factor, mark] = process.argv.slice(2);
  process.stdout.write(JSON.stringify(make(dataDir!, Number(factor), mark)));
}
