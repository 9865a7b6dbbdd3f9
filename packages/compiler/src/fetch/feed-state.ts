// feed-state.ts: the state of a feed between builds: <dataDir>/feeds/<id>/state.json, and bodies beside it.
//
// in   a feed, the data folder
// out  FeedState: read once when a load begins, written once when it ends
// err  a damaged file is a state with `damage` only; what node:fs throws when the folder cannot be written
//
// Bodies have their checksum in their names, and the state names the ones that count. Files are only replaced by rename,
// bodies before the state that names them: a killed process leaves either the old state or the new one.

import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DATA_FOLDER, makeFolder, replaceFile, replaceJson, TEMPORARY } from "@inkling/release-store";
import { z } from "zod";
import { EXTENSIONS, type Feed, type Format } from "../catalog/feed.ts";
import type { FeedCopy } from "./copy.ts";

export const STATE = "state.json";
const BODY = /^(body|pending)-[0-9a-f]{16}\.[a-z]+$/;

const time = z.iso.datetime();
const keptCopy = z.object({
  file: z.string().regex(BODY),
  format: z.string().refine((text): text is Format => text in EXTENSIONS),
  sha256: z.string(),
  entries: z.number().int().nonnegative().optional(),
  source: z.enum(["mirror", "fetched"]),
  fetchedAt: time.optional(),
  publishedAt: time.optional(),
  url: z.string().optional(),
  etag: z.string().optional(),
  lastModified: z.string().optional(),
});
const attempts = z.object({
  at: time.optional(),
  /** The last one that ended with a copy that passed, or with "not modified". */
  okAt: time.optional(),
  /** In a row, up to now. */
  failures: z.number().int().nonnegative(),
  /** Of the last failure. */
  error: z.string().optional(),
  /** Why its source could not be reached, where that is all of `error`. */
  unreached: z.string().optional(),
  nextAt: time.optional(),
  /** From Retry-After. */
  waitUntil: time.optional(),
  /** The point of its interval at which the feed is checked: 0 to 1, drawn once. */
  spread: z.number().min(0).max(1),
  /** Within the last day; kept where the publisher has a budget. */
  requests: z.array(time).readonly().optional(),
});
const feedState = z.object({
  /** The last good copy: a release that was made with it was published, or waits for the operator. */
  copy: keptCopy.optional(),
  /** It passed, and no release that was made with it is published yet: a build is at work, or was killed. */
  candidate: keptCopy.optional(),
  /** A copy that no segment could be made of, and the code that tried: another version may succeed. */
  refused: z.object({ sha256: z.string(), why: z.string(), code: z.string() }).optional(),
  /** Differs too much from the last good copy: waits for `--accept`. */
  pending: keptCopy.extend({ why: z.string() }).optional(),
  /** At the publisher. */
  attempts: attempts.optional(),
  /** At the operator's mirror: its failures are not the publisher's. */
  mirror: attempts.extend({ of: z.string() }).optional(),
});

export type KeptCopy = Readonly<z.infer<typeof keptCopy>>;
export type RefusedCopy = NonNullable<FeedState["refused"]>;
export type PendingCopy = KeptCopy & { readonly why: string };
/** Times are ISO 8601. */
export type Attempts = Readonly<z.infer<typeof attempts>>;
export type FeedState = Readonly<z.infer<typeof feedState>> & {
  /** Why the file could not be read; never written. */
  readonly damage?: string;
};

export function feedFolder(feed: Feed, dataDir: string): string {
  return join(dataDir, DATA_FOLDER.feeds, feed.id);
}

export function readFeedState(feed: Feed, dataDir: string): FeedState {
  const path = join(feedFolder(feed, dataDir), STATE);
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    if (error instanceof SyntaxError) return { damage: `${path} is damaged: it is not JSON` };
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return {};
    throw error;
  }
  const result = feedState.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  return { damage: `${path} is damaged: ${issue.path.join(".")}: ${issue.message}` };
}

/**
 * Replaces the state; bodies that it does not name, and what a killed build left, are removed.
 * @param bodies copies that the state names and that are not on disk yet
 */
export function writeFeedState(
  feed: Feed,
  dataDir: string,
  { damage: _, ...state }: FeedState,
  bodies: readonly FeedCopy[] = [],
): void {
  const folder = feedFolder(feed, dataDir);
  makeFolder(folder);
  const named = [state.copy, state.candidate, state.pending].flatMap((kept) => kept ?? []);
  for (const copy of bodies) {
    const file = named.find(({ sha256 }) => sha256 === copy.sha256)?.file;
    if (file === undefined) continue;
    replaceFile(
      join(folder, file),
      copy.files.map(({ bytes }) => bytes),
    );
  }
  replaceJson(join(folder, STATE), state);
  for (const name of readdirSync(folder)) {
    const isStale = BODY.test(name) && !named.some(({ file }) => file === name);
    if (isStale || name.startsWith(TEMPORARY)) rmSync(join(folder, name), { force: true });
  }
}
