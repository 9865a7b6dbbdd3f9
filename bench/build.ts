// build.ts: what a build takes in time and memory: everything, and reputation and e-mail alone; how large segments are.
//
// run  npx bun bench/build.ts [--quick]
// Builds are made of what npm packages carry (seeds), as on a fresh clone that reaches nobody, mirror or not.
// "Alone" is what an hourly update does: the places did not change, so that their segment is taken over. Memory is the
// most that the compiler's process ever had resident (VmHWM, by its own account at its end).

import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { openSegment, type SegmentKind } from "@inkling/engine";
import type { Scope } from "@inkling/server";
import {
  build,
  CACHE,
  cacheFolder,
  databaseFiles,
  emptyFolder,
  fromSeeds,
  linkedCopy,
  upToDateRelease,
} from "./lib/data.ts";
import { IS_QUICK, sized } from "./lib/options.ts";
import { emit, tell } from "./lib/record.ts";
import { type CurrentRelease, openCurrent, whyRefused } from "./lib/release.ts";
import { figure, told } from "./lib/stats.ts";

const ROUNDS = sized(3, 1);
const KINDS = { geo: "geolocate", reputation: "reputation", email: "email" } as const;
const RUN = "from start to end of the process";

interface Cost {
  /** Of the whole process, and of the build by its own account. */
  readonly seconds: number;
  readonly buildSeconds: number;
  readonly peakGigabytes: number;
}

async function measure(dataDir: string): Promise<Cost> {
  const from = performance.now();
  const done = await build(fromSeeds(dataDir));
  const seconds = (performance.now() - from) / 1000;
  return { seconds, buildSeconds: done.seconds, peakGigabytes: done.peakBytes / 1e9 };
}

function say(what: string, costs: readonly Cost[]): void {
  const row = (measure: string, unit: string, values: number[]) => {
    emit({ type: "row", what, who: "inkling", measure, unit, values });
    tell(`${what}: ${measure} ${told(values)} ${unit}`);
  };
  row(
    RUN,
    "s",
    costs.map((cost) => cost.seconds),
  );
  row(
    "the build by its own account",
    "s",
    costs.map((cost) => cost.buildSeconds),
  );
  row(
    "peak memory",
    "GB",
    costs.map((cost) => cost.peakGigabytes),
  );
}

async function rounds(count: number, prepare: () => string): Promise<Cost[]> {
  const costs: Cost[] = [];
  for (let round = 0; round < count; round++) costs.push(await measure(prepare()));
  return costs;
}

const release = await upToDateRelease();
const seeds = IS_QUICK ? release : cacheFolder("build");
if (IS_QUICK) emit({ type: "note", text: "left out: full builds" });
else say("full build, from seeds", await rounds(ROUNDS, () => emptyFolder("build")));

/** A release without the segments that an hourly update makes. */
function withoutLists(): string {
  const dataDir = linkedCopy(seeds, "build-lists");
  const current = openCurrent(dataDir);
  for (const kind of ["reputation", "email"] as const) rmSync(current.segmentPath(kind));
  return dataDir;
}

say("reputation and e-mail alone, from seeds", await rounds(ROUNDS, withoutLists));

/** What a segment was made of, its guards included; in bytes. */
function sourcesOf({ manifest, segmentPath }: CurrentRelease, kind: SegmentKind) {
  const meta = openSegment(readFileSync(segmentPath(kind)), kind).u8("meta");
  const ids: string[] = JSON.parse(new TextDecoder().decode(meta)).feeds.map(({ id }: { id: string }) => id);
  const feeds = manifest.feeds.filter(({ id }) => ids.includes(id));
  return { ids, bytes: feeds.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0) };
}

function saySizes(current: CurrentRelease, suffix: string): void {
  for (const [kind, scope] of Object.entries(KINDS) as [SegmentKind, Scope][]) {
    const who = `${kind}${suffix}`;
    const why = whyRefused(current.manifest, scope);
    if (why !== undefined) {
      emit({ type: "note", text: `left out: size of ${who}: ${why}` });
      continue;
    }
    const row = (measure: string, unit: string, value: number) =>
      emit({ type: "row", what: "sizes of segments", who, measure, unit, values: [value] });
    const { size } = statSync(current.segmentPath(kind));
    const sources = sourcesOf(current, kind);
    row("file", "MB", size / 1e6);
    row("its sources", "MB", sources.bytes / 1e6);
    row("file to sources", "times", size / sources.bytes);
    emit({ type: "fact", name: `sources of ${who}`, value: sources.ids.join(", ") });
  }
}

const current = openCurrent(release);
saySizes(current, "");
const hasOthers = current.manifest.feeds.some(({ source }) => !["seed", "own", "none"].includes(source));
if (hasOthers && !IS_QUICK) saySizes(openCurrent(seeds), ", from seeds");

const { v4, v6, version } = databaseFiles();
const places = statSync(v4).size + statSync(v6).size;
emit({
  type: "fact",
  name: "DB-IP's files alone",
  value: `dbip-city-mmdb ${version}, ${figure(places / 1e6)} MB: geo is ${figure(statSync(current.segmentPath("geo")).size / places)} times as large`,
});
for (const name of ["build", "build-lists"]) rmSync(join(CACHE, name), { recursive: true, force: true });
