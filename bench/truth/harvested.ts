// harvested.ts: measures the gates for harvested geofeeds with the geofeeds of operators, as if a harvester had collected
// them, and with geofeeds that claim half of the world.
//
// The limits of the gates were chosen with other geofeeds, including those that are not fresh. Whether a city is right
// cannot be measured here: the operator's statement is also the truth. The tables of places show how often databases
// agree with it.

import { readFileSync } from "node:fs";
import { formatPrefix } from "@inkling/engine";
import { openCountries, openPlaces, parseGeofeed, plausible } from "../lib/compiler.ts";
import { databaseFiles, registeredFiles } from "../lib/data.ts";
import { announced } from "./kinds.ts";
import { fileOf, on, PUBLISHERS, type Publisher } from "./places.ts";
import { count, type TruthRow } from "./rows.ts";

/** Geofeeds that place a small network in 66, 72 and 255 countries. */
const SPREAD = [
  on("hosting", "MoeQing-Network/MoeQing-Network-Geofeed", "geofeeds.csv"),
  on("hosting", "zuuab/geofeed"),
  on("hosting", "Easione/AS209686"),
];

const HEAD = "prefix,country,region,city,postal_code,rir,inetnum,url,fetched_at,confidence,flags";

/** Returns a geofeed's networks as lines of a harvested file. */
async function harvestedLines(publisher: Publisher): Promise<string[]> {
  const { stated } = parseGeofeed(readFileSync(await fileOf(publisher)));
  return stated.networks.map((network, i) => {
    const { country = "", city = "" } = stated.places[stated.placeOf[i]!]!;
    const prefix = formatPrefix(network);
    return [prefix, country, "", `"${city}"`, "", "", prefix, publisher.url, "", "", ""].join(",");
  });
}

export async function measureHarvested(): Promise<TruthRow[]> {
  const groups = [
    { what: "operators' geofeeds that are fresh", of: PUBLISHERS.filter(({ isFresh }) => isFresh) },
    {
      what: "operators' other geofeeds that no feed has",
      of: PUBLISHERS.filter(({ isFresh, feed }) => !isFresh && !feed),
    },
    { what: "geofeeds that state 66 to 255 countries", of: SPREAD, areLiars: true },
  ];
  const lines = new Map<string, readonly string[]>();
  const missing = new Map<string, string>();
  for (const publisher of groups.flatMap(({ of }) => of))
    try {
      lines.set(publisher.url, await harvestedLines(publisher));
    } catch (error) {
      missing.set(publisher.url, (error as Error).message);
    }
  const text = [HEAD, ...[...lines.values()].flat()].join("\n");
  const open = ({ v4, v6 }: { v4: string; v6: string }) => [v4, v6].map((path) => readFileSync(path));
  const { refused } = plausible(parseGeofeed(new TextEncoder().encode(text)).stated, {
    registered: openCountries(open(registeredFiles())),
    places: openPlaces(open(databaseFiles())),
    asns: announced(),
  });
  return groups.map(({ what, of, areLiars }): TruthRow => {
    const read = of.filter(({ url }) => lines.has(url));
    const out = read.filter(({ url }) => refused.some(({ publisher }) => url.endsWith(publisher)));
    const row = { measure: "left out by the gates, if harvested", mode: "seeds" } as const;
    if (read.length === 0)
      return { ...row, sample: what, value: undefined, seen: `not measured: ${missing.get(of[0]!.url)}` };
    const target = areLiars ? `at least ${read.length}` : "0";
    return { ...row, sample: `${read.length} ${what}`, value: count(out.length), target, seen: "held out" };
  });
}
