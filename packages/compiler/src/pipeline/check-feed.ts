// check-feed.ts: reads one feed in the same way as a build, in a temporary folder, and keeps nothing.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FeedReport } from "@inkling/engine";
import type { Feed } from "../catalog/feed.ts";
import type { SourceOptions } from "../fetch/source.ts";
import { unflaggableDomains, unflaggableNetworks } from "../validate/content-gates.ts";
import { loadFeed } from "./load.ts";

export interface FeedCheck extends FeedReport {
  /** Number of entries without those that have no effect. Undefined if no copy can be used. */
  readonly usable?: number;
}

export async function checkFeed(
  feed: Feed,
  options: Pick<SourceOptions, "mirror" | "fetch" | "credentials">,
): Promise<FeedCheck> {
  const dataDir = mkdtempSync(join(tmpdir(), "inkling-check-"));
  try {
    const load = { ...options, dataDir, now: new Date(), onlyDue: false, chance: Math.random };
    const { report, content } = await loadFeed(feed, load, undefined);
    if (report.entries === undefined) return report;
    const { networks, domains, stated } = content();
    if (networks === undefined && stated !== undefined) return { ...report, usable: stated.networks.length };
    const idle =
      (networks ?? []).flatMap((claims) => unflaggableNetworks(feed, claims.networks)).length +
      unflaggableDomains(feed, domains?.domains.keys() ?? []).length;
    return { ...report, usable: report.entries - idle };
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}
