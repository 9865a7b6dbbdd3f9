// data-folders.ts: the mirror of real feeds and the conformance vectors, for `npm run test:data`.
//
// Both are large and belong to other publishers, so they are not part of the repository. Only files named
// *.data.test.ts may import this module, because `npm test` reads nothing outside the repository.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dataFolder } from "../../scripts/run-tests.mjs";
import { builtRelease, temporaryFolder } from "./release.ts";

/** Folder with one file for each feed, named after the feed's id. */
export const MIRROR = dataFolder("INKLING_MIRROR");
/** MaxMind's conformance files (`maxmind-db/`), opt-in feed samples (`opt-in/`), never-flag lists (`guards/`). */
export const VECTORS = dataFolder("INKLING_VECTORS");

/**
 * Copies the mirror as if its lists had been created today, because the compiler drops most address lists from an old
 * mirror.
 */
export function copyMirror(): string {
  const copy = temporaryFolder();
  for (const file of readdirSync(MIRROR))
    writeFileSync(join(copy, file), madeToday(file, readFileSync(join(MIRROR, file))));
  return copy;
}

/** For address lists that expire: the text before their date, and the format of the date. */
const DATED: Readonly<Record<string, readonly [before: RegExp, date: (now: Date) => string]>> = {
  "tor-onionoo.json": [/(?<="relays_published":")[^"]+/, (now) => now.toISOString().slice(0, 19)],
  "feodo-recommended.txt": [/(?<=# Last updated: )[-\d: ]+ UTC/, (now) => now.toISOString()],
  "spamhaus-drop-v4.json": [/(?<="timestamp":)\d+/, (now) => String(Math.floor(now.getTime() / 1000))],
  "avastel-8days.txt": [/(?<=# Last update: )\S+/, (now) => now.toISOString().slice(0, 10)],
  "aws-geofeed.csv": [/(?<=lastupdated \(rfc3339\): )\S+/, (now) => now.toISOString()],
};

function madeToday(file: string, body: Buffer): Buffer | string {
  const [stated, date] = DATED[file] ?? [];
  if (stated === undefined || date === undefined) return body;
  return body.toString().replace(stated, date(new Date()));
}

/** Returns a fresh data folder with a release from the whole mirror. Never write to its files. */
export const mirrorRelease = (): Promise<string> => builtRelease("mirror-release", [MIRROR], copyMirror);
