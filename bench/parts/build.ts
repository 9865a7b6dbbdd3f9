// build.ts: time and memory of a build, of everything and of reputation and email alone; sizes of the segments.
//
// Builds are made of the seeds in npm packages, as on a fresh clone without network. "Alone" is what an hourly update does:
// geolocation did not change, so its segment is kept. Memory is the greatest resident size of the compiler's process.

import { readFileSync, rmSync, statSync } from "node:fs";
import { openSegment, type SegmentKind } from "@inkling/engine";
import {
  build,
  type CurrentRelease,
  cacheFolder,
  databaseFiles,
  emptyFolder,
  linkedCopy,
  nameFor,
  openCurrent,
  releaseFolder,
  removeFolder,
  whyRefused,
} from "../lib/data.ts";
import type { Checkout, Contestant, Run } from "../lib/record.ts";
import { figure } from "../lib/stats.ts";

const KINDS: readonly SegmentKind[] = ["geo", "reputation", "email"];
const FULL = "full build, from seeds";
const LISTS = "reputation and email alone, from seeds";

function contestant(what: string, checkout: Checkout, prepare: () => string | Promise<string>): Contestant {
  const measure = async () => {
    const dataDir = await prepare();
    const from = performance.now();
    const last = await build(checkout.root, dataDir);
    return {
      "from start to end of the command, s": (performance.now() - from) / 1000,
      "the build by its own account, s": last.seconds,
      "peak memory, GB": last.peak_bytes / 1e9,
    };
  };
  return { what, who: `inkling${checkout.suffix}`, measure };
}

/** A copy of a release without the segments that an hourly update makes. */
async function withoutLists(dataDir: string, name: string): Promise<string> {
  const copy = await linkedCopy(dataDir, name);
  const { segmentPath } = openCurrent(copy);
  for (const kind of ["reputation", "email"] as const) rmSync(segmentPath(kind));
  return copy;
}

/** Sizes of the segments, and of the feeds that each was made of. */
function recordSizes(run: Run, { manifest, segmentPath }: CurrentRelease, suffix: string): void {
  for (const kind of KINDS) {
    const who = kind + suffix;
    const refused = whyRefused(manifest, kind);
    if (refused !== undefined) {
      run.note(`left out: size of ${who}: ${refused}`);
      continue;
    }
    const meta = openSegment(readFileSync(segmentPath(kind)), kind).u8("meta");
    const ids: string[] = JSON.parse(new TextDecoder().decode(meta)).feeds.map(
      ({ id }: { id: string }) => id,
    );
    const feeds = manifest.feeds.filter(({ id }) => ids.includes(id));
    const sources = feeds.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0);
    const { size } = statSync(segmentPath(kind));
    run.row("sizes of segments", who, "file, MB", [size / 1e6]);
    run.row("sizes of segments", who, "its sources, MB", [sources / 1e6]);
    run.row("sizes of segments", who, "file to sources, times", [size / sources]);
    run.note(`sources of ${who}: ${ids.join(", ")}`);
  }
}

export async function measureBuild(run: Run): Promise<void> {
  const { isQuick, checkouts, checkout } = run;
  const rounds = run.size(3, 1);
  const full = checkouts.map((one) => contestant(FULL, one, () => emptyFolder(nameFor("build", one))));
  if (isQuick) run.note("left out: full builds");
  else await run.alternate(full, rounds, true);
  const base = (one: Checkout) => (isQuick ? releaseFolder(one) : cacheFolder(nameFor("build", one)));
  const lists = checkouts.map((one) =>
    contestant(LISTS, one, () => withoutLists(base(one), nameFor("build-lists", one))),
  );
  await run.alternate(lists, rounds, true);
  const current = openCurrent(releaseFolder(checkout));
  recordSizes(run, current, "");
  const hasMirror = current.manifest.feeds.some(({ source }) => source === "mirror");
  if (hasMirror && !isQuick) recordSizes(run, openCurrent(base(checkout)), ", from seeds");
  const { v4, v6, version } = databaseFiles();
  const bytes = statSync(v4).size + statSync(v6).size;
  const times = figure(statSync(current.segmentPath("geo")).size / bytes);
  run.note(
    `DB-IP's files alone: dbip-city-mmdb ${version}, ${figure(bytes / 1e6)} MB: geo is ${times} times as large`,
  );
  for (const one of checkouts) for (const name of ["build", "build-lists"]) removeFolder(nameFor(name, one));
}
