// truth.ts: `npm run bench -- truth` measures with samples how often the answers are right. It writes bench/TRUTH.md,
// and tables in docs/accuracy.md and docs/decision-reference.md.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, sourcesText } from "../lib/data.ts";
import { BENCH } from "../lib/peers.ts";
import { builds } from "./builds.ts";
import { calibrationTable } from "./calibration.ts";
import { measureDecisions } from "./decisions.ts";
import { measureDisposable } from "./domains.ts";
import { measureHarvested } from "./harvested.ts";
import { measureKinds } from "./kinds.ts";
import { listTable } from "./lists.ts";
import { loginTable } from "./logins.ts";
import { measureMachines } from "./machines.ts";
import { measureNetworks } from "./networks.ts";
import { placeTables } from "./places.ts";
import { type TruthRow, table } from "./rows.ts";
import { fetchSamples, sampleTable } from "./samples.ts";
import { measureVpns } from "./vpns.ts";

const HEAD = `# How right the answers are

Written by \`npm run bench -- truth\`, which builds two releases, one from a mirror and one from the seeds only, and looks up
samples in both. **Built from**: the build has read the sample itself, so the figure shows that nothing is lost on the way,
not that the list is right. **Operator**: the build has a rule for the owner, but has not read the list. **Held out**: the
build has neither the list nor a rule for the owner. Samples of domains are split by a hash of the name: rules are compared on
one half, and the rows show the other half. **Not measured**: the sample is not on this machine.
`;

/** @returns the path of TRUTH.md */
export async function writeTruth(commit: string): Promise<string> {
  fetchSamples();
  const made = await builds();
  const each = (measure: (build: (typeof made)[number]) => readonly TruthRow[]) => made.flatMap(measure);
  const disposable = measureDisposable();
  const main = [...(await measureHarvested()), ...each(measureKinds), ...each(measureMachines)];
  const decisions = table(each(measureDecisions));
  const about = made
    .map(({ mode, release }) => `The ${mode} build has ${sourcesText(release.manifest)}.`)
    .join(" ");
  const measured = `Measured on ${new Date().toISOString().slice(0, 10)} at ${commit}. ${about}\n`;
  const places = await placeTables(made);
  const parts = [
    HEAD,
    measured,
    `## Places\n\n${places.scores}\n### By radius\n\n${places.byRadius}\n### Databases\n\n${places.databases}\n${places.samples}`,
    `## Measures\n\n${table([...disposable.main, ...main])}`,
    `## Decisions of the default weights\n\n${decisions}`,
    `## Whose network\n\n${table(each(measureNetworks))}`,
    `## VPN servers\n\n${table(measureVpns())}`,
    `## Disposable domains\n\n${table(disposable.more)}`,
    listTable(),
    `## Samples\n\nThese samples are not feeds. Each other sample is the feed of the same name, from a mirror.\n\n${sampleTable()}`,
  ];
  const file = join(BENCH, "TRUTH.md");
  writeFileSync(file, parts.join("\n"));
  writeIntoDocs("docs/accuracy.md", "places in short", places.summary);
  writeIntoDocs("docs/accuracy.md", "places", `${places.scores}\n${places.databases}`);
  writeIntoDocs("docs/accuracy.md", "places by radius", places.byRadius);
  writeIntoDocs("docs/accuracy.md", "disposable", table(disposable.main));
  writeIntoDocs("docs/accuracy.md", "measured", `${measured}\n${table(main)}`);
  writeIntoDocs("docs/decision-reference.md", "logins", await loginTable());
  writeIntoDocs("docs/decision-reference.md", "calibration", calibrationTable());
  writeIntoDocs("docs/decision-reference.md", "measured", `${measured}\n${decisions}`);
  return file;
}

const END = "<!-- end of what is measured -->";

function writeIntoDocs(path: string, part: string, text: string): void {
  const file = join(ROOT, path);
  const page = readFileSync(file, "utf8");
  const head = `<!-- ${part}: npm run bench -- truth -->`;
  const begin = page.indexOf(head);
  const end = page.indexOf(END, begin);
  if (begin < 0 || end < begin) throw new Error(`${path} lacks the lines ${head} and ${END}`);
  writeFileSync(file, `${page.slice(0, begin + head.length)}\n\n${text}\n${page.slice(end)}`);
}
