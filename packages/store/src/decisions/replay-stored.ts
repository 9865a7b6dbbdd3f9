// replay-stored.ts: replays the newest stored decisions through a draft, to show the effect of publishing it.
//
// Cost: 10 s at most; it yields after each page, because this process may also answer lookups.

import type { Replay, ReplayReport } from "@inkling/engine/assess";
import { pastDecision, type StoredRow } from "./record.ts";

/** Limits of one replay: number of decisions, and duration in milliseconds. */
const MAX_REPLAYED = 100_000;
const MAX_REPLAY_MS = 10_000;
const PAGE = 250;

interface StoredReplay extends ReplayReport {
  /** Why older decisions were left out; null if all decisions since `since` were replayed. */
  readonly stopped: "limit" | "time" | null;
}

interface StoredDecisions {
  list(
    page: { readonly limit: number; readonly cursor: string | undefined },
    filter: { readonly since: number },
  ): Promise<{ readonly items: readonly StoredRow[]; readonly next?: string | undefined }>;
}

/** @param since epoch ms */
export async function replayStored(
  decisions: StoredDecisions,
  replayed: Replay,
  { since, elapsed }: { readonly since: number; readonly elapsed: () => number },
): Promise<StoredReplay> {
  const end = elapsed() + MAX_REPLAY_MS;
  let stopped: StoredReplay["stopped"] = null;
  let cursor: string | undefined;
  for (let read = 0; ; ) {
    const page = await decisions.list({ limit: PAGE, cursor }, { since });
    for (const row of page.items) replayed.add(pastDecision(row));
    read += page.items.length;
    cursor = page.next;
    if (cursor === undefined) break;
    stopped = read >= MAX_REPLAYED ? "limit" : elapsed() >= end ? "time" : null;
    if (stopped !== null) break;
    await Bun.sleep(0);
  }
  return { ...replayed.report, stopped };
}
