// export-mirror.ts: exports this machine's copies of feeds to a folder that another machine can use as its mirror.
//
// It leaves out Inkling's own lists and seeds that consist of several files. Every installation has them, and a mirror
// contains one file per feed.

import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { PUBLIC_FILE, replaceFile } from "@inkling/data";
import { programFile } from "@inkling/data/program";
import { EXTENSIONS, type Feed, type Format } from "../catalog/feed.ts";
import { type FeedCopy, isCopy } from "../fetch/copy.ts";
import { KeptCopies } from "../fetch/feed-state.ts";
import { candidates } from "../fetch/source.ts";

/** Replaces each file atomically. Deletes files of the same feeds under other names, and keeps all other files. */
export async function exportMirror(feeds: readonly Feed[], dataDir: string, folder: string, now: Date) {
  mkdirSync(folder, { recursive: true });
  const exported: { feed: string; file: string; bytes: number; source: FeedCopy["source"] }[] = [];
  const leftOut: { feed: string; why: string }[] = [];
  for (const feed of feeds) {
    const found = await bestCopy(feed, dataDir, now);
    if ("why" in found) {
      leftOut.push({ feed: feed.id, why: found.why });
      continue;
    }
    const file = `${feed.id}.${extensionOf(feed, found.format)}`;
    // Undated data in a mirror has its file's date (ageOf in validate/copy-gates.ts).
    const modified = found.publishedAt ?? found.fetchedAt ?? now;
    replaceFile(join(folder, file), [found.files[0]!], { mode: PUBLIC_FILE, modified });
    removeOthers(feed, folder, file);
    if (feed.licenceText !== undefined) copyText(feed.licenceText, folder);
    exported.push({ feed: feed.id, file, bytes: found.bytes, source: found.source });
  }
  return { exported, leftOut };
}

async function bestCopy(feed: Feed, dataDir: string, now: Date): Promise<FeedCopy | { why: string }> {
  const problems: string[] = [];
  const kept = new KeptCopies(feed, dataDir);
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

/** Returns the file extension that represents this format in a mirror. */
function extensionOf(feed: Feed, format: Format): string {
  if (format === feed.format) return EXTENSIONS[format];
  const other = Object.entries(feed.otherFormats ?? {}).find(([, value]) => value === format);
  return other?.[0] ?? EXTENSIONS[format];
}

/** Copies a licence's text, which must go wherever the feed's file goes. */
function copyText(path: string, folder: string): void {
  const text = readFileSync(programFile(join("compiler", path)));
  replaceFile(join(folder, basename(path)), [text], { mode: PUBLIC_FILE });
}

/** Deletes the feed's other files, because a mirror that contains two files for one feed is refused. */
function removeOthers(feed: Feed, folder: string, file: string): void {
  for (const name of readdirSync(folder))
    if (name.startsWith(`${feed.id}.`) && name !== file) rmSync(join(folder, name), { force: true });
}
