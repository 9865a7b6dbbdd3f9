// last-good.ts: the newest copy of each feed that was fetched and passed, and the one that waits for the operator.
//
// in   a feed, the data folder; a copy to keep
// out  FeedCopy, with its bytes checked
// err  FeedError when a kept copy is damaged; what node:fs throws when the folder cannot be written

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "@inkling/release-store";
import { EXTENSIONS, type Feed, FeedError } from "../catalog/feed.ts";
import { type FeedCopy, loadStable, measure } from "./copy.ts";
import { type Asked, feedFolder, type KeptCopy, readState, STATE, stateOrNone, writeState } from "./state.ts";

/**
 * The last good copy of a feed, with its bytes checked.
 * @returns undefined when there is none
 * @throws FeedError when there is one and it is damaged
 */
export function readLastGood(feed: Feed, dataDir: string): FeedCopy | undefined {
  const { copy } = readState(feed, dataDir);
  return copy && readKept(feed, dataDir, copy, "last-good");
}

/** The copy that waits to be accepted; else as {@link readLastGood}. */
export function readPending(feed: Feed, dataDir: string): FeedCopy | undefined {
  const { pending } = readState(feed, dataDir);
  return pending && readKept(feed, dataDir, pending, pending.source);
}

function readKept(feed: Feed, dataDir: string, kept: KeptCopy, source: FeedCopy["source"]): FeedCopy {
  const path = join(feedFolder(feed, dataDir), kept.file);
  if (!existsSync(path)) throw new FeedError(`${path} is missing, which ${STATE} names`);
  const measured = measure([loadStable(path)]);
  if (measured.sha256 !== kept.sha256) throw new FeedError(`${path} is damaged: its checksum has changed`);
  return {
    source,
    keptFrom: kept.source,
    format: kept.format,
    licence: feed.licence,
    ...measured,
    ...(kept.fetchedAt !== undefined && { fetchedAt: new Date(kept.fetchedAt) }),
    ...(kept.publishedAt !== undefined && { publishedAt: new Date(kept.publishedAt) }),
    ...(kept.url !== undefined && {
      origin: { url: kept.url, etag: kept.etag, lastModified: kept.lastModified },
    }),
  };
}

/**
 * Keeps a copy that passed as the last good one; what waited is forgotten.
 * Does nothing with seeds, our own lists and what is kept already.
 * @throws what node:fs throws when the data folder cannot be written
 */
export function keepLastGood(
  feed: Feed,
  copy: FeedCopy,
  dataDir: string,
  { attempts, mirror }: Asked = stateOrNone(feed, dataDir),
  entries?: number,
): void {
  if (copy.source !== "mirror" && copy.source !== "fetched") return;
  const kept = { ...keepBody("body", feed, copy, dataDir), ...(entries !== undefined && { entries }) };
  writeState(feed, dataDir, { copy: kept, ...(attempts && { attempts }), ...(mirror && { mirror }) });
}

/** Keeps a copy aside that the operator has to accept; the last good one stays. */
export function keepPending(feed: Feed, copy: FeedCopy, why: string, dataDir: string, asked: Asked): void {
  const pending = { ...keepBody("pending", feed, copy, dataDir), why };
  writeState(feed, dataDir, { ...stateOrNone(feed, dataDir), pending, ...asked });
}

function keepBody(prefix: "body" | "pending", feed: Feed, copy: FeedCopy, dataDir: string): KeptCopy {
  const folder = feedFolder(feed, dataDir);
  mkdirSync(folder, { recursive: true });
  const file = `${prefix}-${copy.sha256.slice(0, 16)}.${EXTENSIONS[copy.format]}`;
  // Nothing is written that stands there already: 14 mirror files took 310 ms to write again, 4 ms to compare.
  if (!holdsBody(join(folder, file), copy)) {
    replaceFile(
      join(folder, file),
      copy.files.map(({ bytes }) => bytes),
    );
  }
  return {
    file,
    format: copy.format,
    sha256: copy.sha256,
    source: copy.source === "mirror" ? "mirror" : "fetched",
    fetchedAt: copy.fetchedAt?.toISOString(),
    publishedAt: copy.publishedAt?.toISOString(),
    ...copy.origin,
  };
}

function holdsBody(path: string, copy: FeedCopy): boolean {
  if (copy.files.length === 1 && copy.files[0]!.path === path) return true; // this very file, confirmed
  return existsSync(path) && measure([loadStable(path)]).sha256 === copy.sha256;
}
