// build.ts: measures the time and memory of a full build, and of a build of reputation and email only, and the sizes of
// the segments.
//
// Builds use the seeds in npm packages, as in a fresh clone without network access. An hourly update builds only
// reputation and email: geolocation has not changed, so its segment is kept. Memory is the peak resident size of the
// compiler's process. CPU time and page faults are those of all processes of the command.

import { readFileSync, rmSync, statSync } from "node:fs";
import { openSegment, type SectionName, type SegmentFile, type SegmentKind } from "@inkling/engine";
import * as data from "../lib/data.ts";
import { recordKernel } from "../lib/peers.ts";
import { usageValues } from "../lib/proc.ts";
import type { Checkout, Run } from "../lib/record.ts";
import { figure, sum } from "../lib/stats.ts";

const KINDS: readonly SegmentKind[] = ["geo", "reputation", "email", "network"];

/** The sections that a segment has only because of evidence, by the size of their elements. */
const EVIDENCE_SECTIONS = {
  u8: ["evidence", "evidenceFeeds", "evidenceNames"],
  u32: [
    "answerNotes",
    "evidenceStarts",
    "evidenceSlots",
    "evidenceV4Directory",
    "evidenceV4Nodes",
    "evidenceV6Directory",
    "evidenceV6Nodes",
  ],
} as const satisfies Record<string, readonly SectionName[]>;

/** Measures each checkout's build in data folders that `prepare` returns. */
async function compare(run: Run, what: string, prepare: (checkout: Checkout) => string | Promise<string>) {
  const contestants = run.checkouts.map((checkout) => {
    const measure = async () => {
      const dataDir = await prepare(checkout);
      const from = performance.now();
      const used = await data.build(checkout.root, dataDir);
      const seconds = (performance.now() - from) / 1000;
      const last = data.lastBuild(dataDir);
      return {
        "from start to end of the command, s": seconds,
        ...usageValues(used),
        "the build by its own account, s": last.seconds,
        "peak memory, GB": last.peak_bytes / 1e9,
      };
    };
    return { what, who: `inkling${checkout.suffix}`, measure };
  });
  await run.alternate(contestants, run.size(3, 1), true);
}

/** Copies a release without the segments that an hourly update builds. */
async function withoutLists(dataDir: string, name: string): Promise<string> {
  const copy = await data.linkedCopy(dataDir, name);
  const { segmentPath } = data.openCurrent(copy);
  for (const kind of ["reputation", "email"] as const) rmSync(segmentPath(kind));
  return copy;
}

function evidenceBytes(segment: SegmentFile): number {
  const sizes = (["u8", "u32"] as const).flatMap((element) =>
    EVIDENCE_SECTIONS[element].map((name) => (segment.has(name) ? segment[element](name).byteLength : 0)),
  );
  return sum(sizes);
}

/** Records the sizes of the segments, and of the feeds that each was built from. */
function recordSizes(run: Run, { manifest, segmentPath }: data.CurrentRelease, suffix: string): void {
  for (const kind of KINDS) {
    const who = kind + suffix;
    const refused = kind === "network" ? undefined : data.whyRefused(manifest, kind);
    if (refused !== undefined) {
      run.note(`left out: size of ${who}: ${refused}`);
      continue;
    }
    const segment = openSegment(readFileSync(segmentPath(kind)), kind);
    const made: { feeds: { id: string }[] } = JSON.parse(new TextDecoder().decode(segment.u8("meta")));
    const ids = made.feeds.map(({ id }) => id);
    const sources = manifest.feeds.filter(({ id }) => ids.includes(id)).map(({ bytes }) => bytes ?? 0);
    const { size } = statSync(segmentPath(kind));
    const row = (key: string, value: number) => run.row("sizes of segments", who, key, [value]);
    row("file, MB", size / 1e6);
    row("its evidence, MB", evidenceBytes(segment) / 1e6);
    row("its sources, MB", sum(sources) / 1e6);
    row("file to sources, times", size / sum(sources));
    run.note(`sources of ${who}: ${ids.join(", ")}`);
  }
}

export async function measureBuild(run: Run): Promise<void> {
  await recordKernel(run);
  const { isQuick, checkouts, checkout } = run;
  for (const name of ["build", "build-lists"])
    run.defer(() => checkouts.map((one) => data.removeFolder(data.nameFor(name, one))));
  if (isQuick) run.note("left out: full builds");
  else await compare(run, "full build, from seeds", (one) => data.emptyFolder(data.nameFor("build", one)));
  const base = (one: Checkout) =>
    isQuick ? data.releaseFolder(one) : data.cacheFolder(data.nameFor("build", one));
  await compare(run, "reputation and email alone, from seeds", (one) =>
    withoutLists(base(one), data.nameFor("build-lists", one)),
  );
  const current = data.openCurrent(data.releaseFolder(checkout));
  recordSizes(run, current, "");
  const hasMirror = current.manifest.feeds.some(({ source }) => source === "mirror");
  if (hasMirror && !isQuick) recordSizes(run, data.openCurrent(base(checkout)), ", from seeds");
  const { v4, v6, version } = data.databaseFiles();
  const bytes = statSync(v4).size + statSync(v6).size;
  const times = figure(statSync(current.segmentPath("geo")).size / bytes);
  const files = `DB-IP's files alone: dbip-city-mmdb ${version}, ${figure(bytes / 1e6)} MB`;
  run.note(`${files}: geo is ${times} times as large`);
}
