// report.ts: `npm run bench -- truth`: how right the answers are, by samples; writes bench/TRUTH.md.
//
// in   the mirror and the never-flag lists where they are; a release that is built from them and the npm packages
// out  bench/TRUTH.md

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openServable } from "@inkling/release-store";
import { ROOT, releaseFolder, sourcesLine, updateRelease } from "../lib/data.ts";
import { BENCH } from "../lib/peers.ts";
import { measureDisposable } from "./disposable.ts";
import { measureFlags } from "./flags.ts";
import { measureNetworks } from "./network.ts";
import { measurePlaces } from "./places.ts";
import { judged, type TruthRow } from "./row.ts";

const HEAD = `# How right the answers are

Written by \`npm run bench -- truth\`, which builds a release and looks up samples in it. **Built from**: the build has read
the sample itself, so that the figure shows that nothing is lost on the way, not that the list is right. **Operator**: a
rule names the owner, the build has not read the list. **Held out**: the build has seen neither.
`;

/** @returns the file */
export async function writeTruth(commit: string): Promise<string> {
  const checkout = { root: ROOT, suffix: "" };
  await updateRelease(checkout);
  const dataDir = releaseFolder(checkout);
  const release = openServable(dataDir);
  const parts: Readonly<Record<string, readonly TruthRow[]>> = {
    Places: measurePlaces(release),
    Flags: measureFlags(release),
    "Whose network": measureNetworks(release),
    "Disposable domains": await measureDisposable(),
  };
  const about = `Measured at ${commit} on ${new Date().toISOString().slice(0, 10)}. ${sourcesLine(release.manifest)}\n`;
  const sections = Object.entries(parts).map(([title, rows]) =>
    rows.length === 0
      ? `## ${title}\n\nNot measured: the samples are not on this machine.\n`
      : `## ${title}\n\n${table(rows)}`,
  );
  const file = join(BENCH, "TRUTH.md");
  writeFileSync(file, [HEAD, about, ...sections].join("\n"));
  return file;
}

function table(rows: readonly TruthRow[]): string {
  const lines = rows.map(
    ({ measure, sample, value, target = "", seen }) =>
      `| ${sample} | ${measure} | ${judged({ value, target })} | ${target} | ${seen} |\n`,
  );
  return `| sample | measure | value | target | data |\n|---|---|---|---|---|\n${lines.join("")}`;
}
