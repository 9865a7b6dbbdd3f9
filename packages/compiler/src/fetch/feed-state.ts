// feed-state.ts: keeps the state of a feed between builds in <dataDir>/feeds/<id>/state.json, with the bodies in the
// same folder.
//
// The names of bodies contain their checksums, and the state lists the bodies that are in use. Files are only replaced
// by rename, and bodies are written before the state that lists them. So a killed process leaves either the old or the
// new state.

import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DATA_FOLDER, makeFolder, replaceFile, replaceJson, TEMPORARY } from "@inkling/data";
import { z } from "zod";
import { EXTENSIONS, type Feed, type Format } from "../catalog/feed.ts";
import type { FeedCopy } from "./copy.ts";

export const STATE = "state.json";
/** Earlier versions named some copies `pending-…`. */
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
  /** When an attempt last ended with a copy that passed the gates, or with "not modified". */
  okAt: time.optional(),
  /** Number of failed attempts since the last success. */
  failures: z.number().int().nonnegative(),
  /** The text of the last failure. */
  error: z.string().optional(),
  /** Why the source could not be reached; set only if `error` reports no other problem. */
  unreached: z.string().optional(),
  nextAt: time.optional(),
  /** Retry-After forbids requests until this time. */
  waitUntil: time.optional(),
  /** The point within the interval at which the feed is checked, from 0 to 1. It is drawn once. */
  spread: z.number().min(0).max(1),
  /** Times of the requests within the last day. Recorded only if the publisher has a budget. */
  requests: z.array(time).readonly().optional(),
});
const heldCopy = keptCopy.extend({ why: z.string().optional() });
const currentState = z.object({
  /** The last good copy: the newest copy that a published release contains. */
  copy: keptCopy.optional(),
  /**
   * A newer copy that no release contains. `why` says what looks wrong. If it is missing, a build is running or was
   * killed, and the next build uses the copy.
   */
  held: heldCopy.optional(),
  /** Attempts to fetch the feed from the publisher. */
  attempts: attempts.optional(),
  /** Attempts to read the feed from the operator's mirror. The mirror's failures do not count as the publisher's. */
  mirror: attempts.extend({ of: z.string() }).optional(),
});
/** Earlier versions stored a held copy as `pending`, and a copy without a release as `candidate`. */
const feedState = currentState
  .extend({ candidate: keptCopy.optional(), pending: heldCopy.optional() })
  .transform(({ candidate, pending, held = pending ?? candidate, ...state }) => ({
    ...state,
    ...(held && { held }),
  }));

export type KeptCopy = Readonly<z.infer<typeof keptCopy>>;
export type HeldCopy = Readonly<z.infer<typeof heldCopy>>;
/** Times are ISO 8601. */
export type Attempts = Readonly<z.infer<typeof attempts>>;
export type FeedState = Readonly<z.infer<typeof currentState>> & {
  /** Why the state file could not be read. Never written to disk. */
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
 * Replaces the state. Removes bodies that the new state does not list, and files that a killed build left behind.
 * @param bodies the copies that the state lists and that are not on disk yet
 */
export function writeFeedState(
  feed: Feed,
  dataDir: string,
  { damage: _, ...state }: FeedState,
  bodies: readonly FeedCopy[] = [],
): void {
  const folder = feedFolder(feed, dataDir);
  makeFolder(folder);
  const named = [state.copy, state.held].flatMap((kept) => kept ?? []);
  for (const copy of bodies) {
    const file = named.find(({ sha256 }) => sha256 === copy.sha256)?.file;
    if (file === undefined) continue;
    replaceFile(join(folder, file), copy.files);
  }
  replaceJson(join(folder, STATE), state);
  for (const name of readdirSync(folder)) {
    const isStale = BODY.test(name) && !named.some(({ file }) => file === name);
    if (isStale || name.startsWith(TEMPORARY)) rmSync(join(folder, name), { force: true });
  }
}
