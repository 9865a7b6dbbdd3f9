// make-geo.ts: writes a geo segment with more ranges than today's, in a separate process so that its memory can be
// measured.
//
// run  bun make-geo.ts FILE FACTOR

import { closeSync, openSync, statSync, writeFileSync } from "node:fs";
import { cover, type RangeColumns } from "@inkling/engine";
import { randomWords } from "../../test/harness/random.ts";
import {
  type GeoSource,
  geoTable,
  openCountries,
  openPlaces,
  type Place,
  type PlaceSource,
  segmentChunks,
} from "./compiler.ts";
import { databaseFiles, registryFiles } from "./data.ts";
import { growRanges, newPlaceShare } from "./grow.ts";
import { peakOf } from "./proc.ts";
import { SEED } from "./random.ts";

export interface MadeGeo {
  readonly bytes: number;
  readonly ranges: { readonly v4: number; readonly v6: number };
  readonly answers: number;
  readonly seconds: number;
  readonly peakMegabytes: number;
}

function make(path: string, factor: number): MadeGeo {
  const open = ({ v4, v6 }: { v4: string; v6: string }) =>
    [v4, v6].map((file) => Bun.mmap(file, { shared: false }));
  const source = grow(openPlaces(open(databaseFiles())), factor);
  const registered = openCountries(open(registryFiles()));
  Bun.gc(true);
  const from = performance.now();
  const { sections, ranges, answers } = geoTable(source, registered, {
    feeds: { places: ["generated"], registered: "nro-delegated-stats" },
    progress: () => {},
    collectGarbage: () => Bun.gc(true),
  });
  const file = openSync(path, "w");
  for (const chunk of segmentChunks("geo", sections, {})) writeFileSync(file, chunk);
  closeSync(file);
  const seconds = (performance.now() - from) / 1000;
  return { bytes: statSync(path).size, ranges, answers, seconds, peakMegabytes: peakOf(process.pid) };
}

/** Returns today's places, with new places beside them. A family's ranges are released when the compiler takes them. */
function grow(today: GeoSource, factor: number): PlaceSource {
  const next = randomWords(SEED);
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
    const beside = today.places.at((besides[id - first] ?? 0) - 1);
    return beside && { ...beside, cityName: `${beside.cityName ?? ""} ${id}` };
  };
  return {
    places: { length: first + besides.length, at },
    walk: () => {
      throw new Error("a grown source is covered, not walked");
    },
    cover: (family) => {
      const columns = grown.get(family)!;
      grown.delete(family);
      return columns;
    },
  };
}

if (import.meta.main) {
  const [path, factor] = process.argv.slice(2);
  process.stdout.write(JSON.stringify(make(path!, Number(factor))));
}
