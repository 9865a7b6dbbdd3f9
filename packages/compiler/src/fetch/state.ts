// state.ts: what is remembered of a feed between builds: <dataDir>/feeds/<id>/state.json.
//
// in   a feed's folder
// out  FeedState: its last good copy, a copy that waits for the operator, its attempts at the publisher and at a mirror
// err  FeedError when the file is damaged; what node:fs throws when it cannot be written
//
// Bodies have their checksum in their names, and this file says which ones count. Everything is replaced by rename,
// a body before the state that names it, so that a killed process leaves either the old state or the new one.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DATA_FOLDER, replaceFile, TEMPORARY } from "@inkling/release-store";
import { z } from "zod";
import { EXTENSIONS, type Feed, FeedError, type Format } from "../catalog/feed.ts";

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
  okAt: time.optional(),
  failures: z.number().int().nonnegative(),
  error: z.string().optional(),
  nextAt: time.optional(),
  waitUntil: time.optional(),
  spread: z.number().min(0).max(1),
  requests: z.array(time).readonly().optional(),
});
const feedState = z.object({
  copy: keptCopy.optional(),
  /** Differs too much from the last good copy: waits for `--accept`. */
  pending: keptCopy.extend({ why: z.string() }).optional(),
  /** At the publisher. */
  attempts: attempts.optional(),
  /** At the operator's mirror: what that lacks says nothing of the publisher. */
  mirror: attempts.extend({ of: z.string() }).optional(),
});

export type KeptCopy = z.infer<typeof keptCopy>;
export type FeedState = z.infer<typeof feedState>;

/** What is remembered of asking. */
export type Asked = Pick<FeedState, "attempts" | "mirror">;

/** @param mirror its folder or base URL; undefined: the publisher */
export function attemptsAt({ attempts, mirror: known }: Asked, mirror: string | undefined) {
  if (mirror === undefined) return attempts;
  return known?.of === mirror ? known : undefined;
}

/** The same with other attempts there. */
export function withAttempts(
  { attempts: before, mirror: known }: Asked,
  mirror: string | undefined,
  attempts: NonNullable<FeedState["attempts"]>,
): Asked {
  if (mirror === undefined) return { attempts, ...(known && { mirror: known }) };
  return { ...(before && { attempts: before }), mirror: { ...attempts, of: mirror } };
}

export function feedFolder(feed: Feed, dataDir: string): string {
  return join(dataDir, DATA_FOLDER.feeds, feed.id);
}

/** @throws FeedError when it is damaged */
export function readState(feed: Feed, dataDir: string): FeedState {
  const path = join(feedFolder(feed, dataDir), STATE);
  if (!existsSync(path)) return {};
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    throw new FeedError(`${path} is damaged: it is not JSON`);
  }
  const result = feedState.safeParse(value);
  if (result.success) return result.data;
  const { path: place, message } = result.error.issues[0]!;
  throw new FeedError(`${path} is damaged: ${place.join(".")}: ${message}`);
}

/** As {@link readState}; a damaged one is as good as none to whoever is about to write a new one. */
export function stateOrNone(feed: Feed, dataDir: string): FeedState {
  try {
    return readState(feed, dataDir);
  } catch (error) {
    if (error instanceof FeedError) return {};
    throw error;
  }
}

/** Replaces the state, and removes bodies that it does not name, and what a killed build left. */
export function writeState(feed: Feed, dataDir: string, state: FeedState): void {
  const folder = feedFolder(feed, dataDir);
  mkdirSync(folder, { recursive: true });
  const path = join(folder, STATE);
  const text = `${JSON.stringify(state, undefined, 2)}\n`;
  if (!(existsSync(path) && readFileSync(path, "utf8") === text)) replaceFile(path, [text]);
  for (const name of readdirSync(folder)) {
    const isNeeded = name === state.copy?.file || name === state.pending?.file;
    if ((BODY.test(name) && !isNeeded) || name.startsWith(TEMPORARY))
      rmSync(join(folder, name), { force: true });
  }
}
