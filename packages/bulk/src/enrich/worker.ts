// worker.ts: one thread of `inkling enrich`. It opens the release once and then processes block after block.

import { openRelease, sha256Hex } from "@inkling/data";
import { Overrides } from "@inkling/engine";
import { Answers } from "./answers.ts";
import { appendedColumnsFor } from "./appended-columns.ts";
import { type Enriched, type Enricher, enricherFor, type Tally } from "./enricher.ts";
import type { Plan } from "./plan.ts";

/** The first message to a thread: plain data. */
export interface Start {
  readonly plan: Plan;
  readonly dataDir: string;
  readonly release: string;
  readonly overrides: Overrides["all"];
  /** Milliseconds since 1970. It decides which overrides have expired. */
  readonly now: number;
  readonly withSummary: boolean;
  /** Flags without data. */
  readonly unknown: readonly string[];
}

export type Task =
  | ({ readonly type: "start" } & Start)
  | { readonly type: "block"; readonly bytes: Uint8Array; readonly isFirst: boolean }
  | { readonly type: "finish" };

export type Reply =
  | ({ readonly type: "block" } & Enriched)
  | { readonly type: "finish"; readonly tally: Tally };

/** Creates the enricher of a thread. Small files are enriched without a thread. */
export function makeEnricher(start: Start): Enricher {
  const overrides = new Overrides(start.overrides, sha256Hex);
  const release = openRelease(start.dataDir, start.release);
  return enricherFor(start.plan, (plan) => {
    const columns = appendedColumnsFor(plan, start.withSummary, start.unknown);
    return new Answers(release, overrides, start.now, columns);
  });
}

declare const self: Worker;

const BLOCKS_TO_COLLECT = 64;

if (!Bun.isMainThread) {
  let enricher: Enricher | undefined;
  let blocks = 0;
  self.onmessage = ({ data }: MessageEvent<Task>) => {
    if (data.type === "start") {
      enricher = makeEnricher(data);
      return;
    }
    if (data.type === "finish") {
      self.postMessage({ type: "finish", tally: enricher!.tally() } satisfies Reply);
      return;
    }
    const done = enricher!.block(data.bytes, data.isFirst);
    // Without an explicit collection, 1 MB buffers pile up on a machine with a lot of memory.
    if (++blocks % BLOCKS_TO_COLLECT === 0) Bun.gc(true);
    self.postMessage({ type: "block", ...done } satisfies Reply, [done.bytes.buffer]);
  };
}
