// last-good.ts: the newest copy of each feed that was fetched and passed: <dataDir>/feeds/<id>/.
//
// A body has its checksum in its name; state.json says which one counts. Both are replaced by rename,
// the body first, so that a killed process leaves either the old copy or the new one.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DATA_FOLDER } from "@inkling/engine";
import { z } from "zod";
import { writeWhole } from "../data-folder.ts";
import { EXTENSIONS, type Feed, FeedError, type Format } from "../feed.ts";
import { type FeedCopy, loadStable, measure } from "./copy.ts";

const STATE = "state.json";
const BODY = /^body-[0-9a-f]{16}\.[a-z]+$/;

const stateSchema = z.object({
  file: z.string().regex(BODY),
  format: z.string().refine((text): text is Format => text in EXTENSIONS),
  sha256: z.string(),
  source: z.enum(["mirror", "fetched"]),
  fetchedAt: z.iso.datetime().optional(),
  publishedAt: z.iso.datetime().optional(),
  url: z.string().optional(),
  etag: z.string().optional(),
  lastModified: z.string().optional(),
});

export function feedFolder(feed: Feed, dataDir: string): string {
  return join(dataDir, DATA_FOLDER.feeds, feed.id);
}

/**
 * The last good copy of a feed, with its bytes checked.
 * @returns undefined when there is none
 * @throws FeedError when there is one and it is damaged
 */
export async function readLastGood(feed: Feed, dataDir: string): Promise<FeedCopy | undefined> {
  const folder = feedFolder(feed, dataDir);
  const statePath = join(folder, STATE);
  if (!existsSync(statePath)) return undefined;
  const state = readState(statePath);
  const path = join(folder, state.file);
  if (!existsSync(path)) throw new FeedError(`${path} is missing, which ${STATE} names`);
  const measured = measure([loadStable(path)]);
  if (measured.sha256 !== state.sha256) throw new FeedError(`${path} is damaged: its checksum has changed`);
  return {
    source: "last-good",
    format: state.format,
    licence: feed.licence,
    ...measured,
    ...(state.fetchedAt !== undefined && { fetchedAt: new Date(state.fetchedAt) }),
    ...(state.publishedAt !== undefined && { publishedAt: new Date(state.publishedAt) }),
    ...(state.url !== undefined && {
      origin: { url: state.url, etag: state.etag, lastModified: state.lastModified },
    }),
  };
}

function readState(path: string): z.infer<typeof stateSchema> {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    throw new FeedError(`${path} is damaged: it is not JSON`);
  }
  const result = stateSchema.safeParse(value);
  if (!result.success) throw new FeedError(`${path} is damaged: ${result.error.issues[0]!.message}`);
  return result.data;
}

/**
 * Keeps a copy that passed as the last good one. Does nothing with seeds, our own lists and what is kept already.
 * @throws what node:fs throws when the data folder cannot be written
 */
export function keepLastGood(feed: Feed, copy: FeedCopy, dataDir: string): void {
  if (copy.source !== "mirror" && copy.source !== "fetched") return;
  const folder = feedFolder(feed, dataDir);
  mkdirSync(folder, { recursive: true });
  const file = `body-${copy.sha256.slice(0, 16)}.${EXTENSIONS[copy.format]}`;
  const state: z.input<typeof stateSchema> = {
    file,
    format: copy.format,
    sha256: copy.sha256,
    source: copy.source,
    fetchedAt: copy.fetchedAt?.toISOString(),
    publishedAt: copy.publishedAt?.toISOString(),
    ...copy.origin,
  };
  const stateText = `${JSON.stringify(state, undefined, 2)}\n`;
  // Nothing is written that stands there already: 14 mirror files took 310 ms to write again, 4 ms to compare.
  if (!holdsBody(join(folder, file), copy)) {
    writeWhole(
      join(folder, file),
      copy.files.map(({ bytes }) => bytes),
    );
  }
  if (!holdsText(join(folder, STATE), stateText)) writeWhole(join(folder, STATE), [stateText]);
  for (const name of readdirSync(folder)) {
    if (BODY.test(name) && name !== file) rmSync(join(folder, name), { force: true });
  }
}

function holdsBody(path: string, copy: FeedCopy): boolean {
  if (copy.files.length === 1 && copy.files[0]!.path === path) return true; // this very file, confirmed
  return existsSync(path) && measure([loadStable(path)]).sha256 === copy.sha256;
}

function holdsText(path: string, text: string): boolean {
  return existsSync(path) && readFileSync(path, "utf8") === text;
}
