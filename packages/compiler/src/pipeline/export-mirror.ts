// export-mirror.ts: the copies of feeds that this machine has -> a folder that another one can use as its mirror.
//
// in   the feeds to take, the data folder, the folder to write
// out  <feed id>.<ext> for each, as old as its copy, so that it expires when that does; the feeds left out, with reasons
// err  what node:fs throws when the folder cannot be written; FeedError is a reason to leave out
//
// Left out: our own lists and seeds of two files, which every installation has (a mirror holds one file per feed).

import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { PUBLIC_FILE, replaceFile } from "@inkling/release-store";
import { EXTENSIONS, type Feed, type Format } from "../catalog/feed.ts";
import { type FeedCopy, isCopy } from "../fetch/copy.ts";
import { readFeedState } from "../fetch/feed-state.ts";
import { KeptCopies } from "../fetch/kept-copies.ts";
import { candidates } from "../fetch/source.ts";

interface Exported {
  readonly feed: string;
  readonly file: string;
  readonly bytes: number;
  readonly source: FeedCopy["source"];
}

interface LeftOut {
  readonly feed: string;
  readonly why: string;
}

interface MirrorExport {
  readonly exported: readonly Exported[];
  readonly leftOut: readonly LeftOut[];
}

/** Each file is replaced by rename; files of the same feeds under other names go, others remain. */
export async function exportMirror(
  feeds: readonly Feed[],
  dataDir: string,
  folder: string,
  now: Date,
): Promise<MirrorExport> {
  mkdirSync(folder, { recursive: true });
  const exported: Exported[] = [];
  const leftOut: LeftOut[] = [];
  for (const feed of feeds) {
    const found = await bestCopy(feed, dataDir, now);
    if ("why" in found) {
      leftOut.push({ feed: feed.id, why: found.why });
      continue;
    }
    const file = `${feed.id}.${extensionOf(feed, found.format)}`;
    writeCopy(join(folder, file), found, now);
    removeOthers(feed, folder, file);
    exported.push({ feed: feed.id, file, bytes: found.bytes, source: found.source });
  }
  return { exported, leftOut };
}

async function bestCopy(feed: Feed, dataDir: string, now: Date): Promise<FeedCopy | { why: string }> {
  const problems: string[] = [];
  const kept = new KeptCopies(feed, dataDir, readFeedState(feed, dataDir));
  for await (const copy of candidates(feed, { dataDir, fetch: false, now }, kept)) {
    if (!isCopy(copy)) {
      problems.push(copy.error);
    } else if (copy.source === "own") {
      return { why: "comes with Inkling" };
    } else if (copy.files.length > 1) {
      return { why: "its seed comes with Inkling, in several files" };
    } else {
      return copy;
    }
  }
  return { why: problems.length > 0 ? problems.join("; ") : "there is no copy yet" };
}

/** The extension that stands for this format in a mirror. */
function extensionOf(feed: Feed, format: Format): string {
  if (format === feed.format) return EXTENSIONS[format];
  const other = Object.entries(feed.otherFormats ?? {}).find(([, value]) => value === format);
  return other?.[0] ?? EXTENSIONS[format];
}

function writeCopy(path: string, copy: FeedCopy, now: Date): void {
  replaceFile(path, [copy.files[0]!.bytes], { mode: PUBLIC_FILE, modified: usableSince(copy) ?? now });
}

/** What the copy expires by (policy/age.ts): of a file without its own date, that is when it was put there. */
function usableSince({ fetchedAt, publishedAt }: FeedCopy): Date | undefined {
  return publishedAt ?? fetchedAt;
}

/** A mirror with two files for one feed is refused. */
function removeOthers(feed: Feed, folder: string, file: string): void {
  for (const name of readdirSync(folder))
    if (name.startsWith(`${feed.id}.`) && name !== file) rmSync(join(folder, name), { force: true });
}
