// build.ts: what a build takes in time and memory: everything, and reputation and e-mail alone.
//
// run  npx bun bench/build.ts [--quick]
// "Alone" is what an hourly update does: the places did not change, so that their segment is taken over. Memory is the
// most that the compiler's process ever had resident (VmHWM, by its own account at its end).

import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { openSegment } from "@inkling/engine";
import { build, databaseFiles, emptyFolder, linkedCopy, upToDateRelease } from "./lib/data.ts";
import { IS_QUICK, sized } from "./lib/options.ts";
import { emit, tell } from "./lib/record.ts";
import { openCurrent } from "./lib/release.ts";
import { figure, told } from "./lib/stats.ts";

const ROUNDS = sized(3, 1);
const RUN = "from start to end of the process";

interface Cost {
  /** Of the whole process, and of the build by its own account. */
  readonly seconds: number;
  readonly buildSeconds: number;
  readonly peakGigabytes: number;
}

async function measure(dataDir: string): Promise<Cost> {
  const from = performance.now();
  const done = await build(dataDir);
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

/** The release without the segments that an hourly update makes. */
function withoutLists(): string {
  const dataDir = linkedCopy(release, "build");
  const current = openCurrent(dataDir);
  for (const kind of ["reputation", "email"] as const) rmSync(current.segmentPath(kind));
  return dataDir;
}

say("reputation and e-mail alone", await rounds(ROUNDS, withoutLists));
if (IS_QUICK) emit({ type: "note", text: "left out: full builds" });
else say("full build", await rounds(ROUNDS, () => emptyFolder("build")));

const current = openCurrent(release);
const { v4, v6, version } = databaseFiles();
const places = statSync(v4).size + statSync(v6).size;
/** What the geo segment is made of: DB-IP's places and the registries' countries. */
const { feeds } = JSON.parse(
  new TextDecoder().decode(openSegment(readFileSync(current.segmentPath("geo")), "geo").u8("meta")),
);
const ids = feeds.map(({ id }: { id: string }) => id);
const sources = current.manifest.feeds.filter(({ id }) => ids.includes(id));
const sourceBytes = sources.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0);
for (const kind of ["geo", "reputation", "email"] as const) {
  const { size } = statSync(current.segmentPath(kind));
  emit({
    type: "row",
    what: "sizes of segments",
    who: kind,
    measure: "file",
    unit: "MB",
    values: [size / 1e6],
  });
  if (kind !== "geo") continue;
  emit({
    type: "row",
    what: "sizes of segments",
    who: "geo, to its sources",
    measure: "ratio",
    unit: "times",
    values: [size / sourceBytes],
  });
  emit({
    type: "row",
    what: "sizes of segments",
    who: "geo, to DB-IP's files alone",
    measure: "ratio",
    unit: "times",
    values: [size / places],
  });
  emit({
    type: "fact",
    name: "sources of the geo segment",
    value: `dbip-city-mmdb ${version}, ${figure(places / 1e6)} MB; with ${ids.join(" and ")} ${figure(sourceBytes / 1e6)} MB`,
  });
}
rmSync(join(release, "../build"), { recursive: true, force: true });
