// check-feed.ts: reads one feed in the same way as a build, in a temporary folder, and keeps nothing.
//
// in   a row of the feed table, and where copies come from
// out  the report that a build would create
// err  errors of node:fs if the temporary folder is not writable

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FeedReport } from "@inkling/engine";
import type { Feed } from "../catalog/feed.ts";
import type { SourceOptions } from "../fetch/source.ts";
import { loadFeed } from "./load.ts";

export async function checkFeed(
  feed: Feed,
  options: Pick<SourceOptions, "mirror" | "fetch" | "credentials">,
): Promise<FeedReport> {
  const dataDir = mkdtempSync(join(tmpdir(), "inkling-check-"));
  try {
    const load = { ...options, dataDir, now: new Date(), onlyDue: false, chance: Math.random };
    return (await loadFeed(feed, load, undefined)).report;
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}
