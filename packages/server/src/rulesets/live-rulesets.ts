// live-rulesets.ts: the newest published ruleset, in memory.
//
// in   the store, checked twice a second and at each notice; the data folder's snapshot, for a start while the store is
//      unreachable
// out  `current`; `state` for metrics, readiness and logs
// err  none: a ruleset that this version cannot read leaves the one before active, and is in `state.error`
// cost one row read each half second

import { join } from "node:path";
import { DATA_FOLDER, Live, SnapshotFile, storeSource } from "@inkling/release-store";
import {
  loadedRuleset,
  NO_RULESET,
  type PublishedRuleset,
  readRulesetSnapshot,
  rulesetSnapshot,
} from "./record.ts";

const REFRESH_MS = 500;

interface RulesetSource {
  /** The newest number as text, or "new" before the first. */
  readStamp(): Promise<string>;
  /** The newest; NO_RULESET before the first. */
  newest(): Promise<PublishedRuleset>;
}

export type RulesetEvent =
  | { readonly type: "loaded"; readonly ruleset: number; readonly from: "database" | "data folder" }
  /** The newest ruleset cannot be used here, and an older one remains active. */
  | { readonly type: "refused"; readonly reason: string }
  /** The database names the active ruleset again. */
  | { readonly type: "accepted" }
  | { readonly type: "copy-failed"; readonly reason: string };

interface LiveRulesetOptions {
  readonly store: RulesetSource;
  readonly dataDir: string;
  /** Epoch ms. */
  readonly now?: () => number;
  readonly refreshMs?: number;
  readonly onEvent?: (event: RulesetEvent) => void;
}

export type LiveRulesets = Live<PublishedRuleset>;

/** A published ruleset that this version of Inkling cannot read. */
export class RulesetRefused extends Error {
  readonly number: number;
  constructor({ number }: PublishedRuleset, reason: string) {
    super(`ruleset ${number} cannot be used by this version of Inkling: ${reason}`);
    this.name = "RulesetRefused";
    this.number = number;
  }
}

export function liveRulesets(options: LiveRulesetOptions): LiveRulesets {
  const { store, dataDir, now = Date.now, refreshMs = REFRESH_MS, onEvent } = options;
  const snapshot = new SnapshotFile<PublishedRuleset>({
    path: join(dataDir, DATA_FOLDER.ruleset),
    now,
    onFailure: (reason) => onEvent?.({ type: "copy-failed", reason }),
    parse: readRulesetSnapshot,
    print: rulesetSnapshot,
    idsOf: ({ number }) => Array.from({ length: number }, (_, i) => String(i + 1)), // those that lead to it
  });
  return new Live({
    initial: NO_RULESET,
    source: storeSource({
      readStamp: () => store.readStamp(),
      load: async () => loadedRuleset(await store.newest()),
      countLost: ({ number }) => number,
      what: "a ruleset",
      snapshot,
    }),
    apply: checkRuleset,
    onApplied: ({ number }, { before, from, isOtherOrigin }) => {
      if (number === before.number && !(isOtherOrigin && number > 0)) return;
      onEvent?.({ type: "loaded", ruleset: number, from: from === "source" ? "database" : "data folder" });
    },
    onChecked: (error, before) => {
      // That the database is unreachable, or empty, is reported with the keys.
      if (error instanceof RulesetRefused && error.message !== before?.message)
        onEvent?.({ type: "refused", reason: error.message });
      if (error === undefined && before instanceof RulesetRefused) onEvent?.({ type: "accepted" });
    },
    pollMs: refreshMs,
    snapshot,
    now,
  });
}

/** Parses it, although workers parse it again: a text that this version cannot read must not reach them. */
async function checkRuleset(ruleset: PublishedRuleset): Promise<void> {
  if (ruleset.number === 0) return; // loading the parser takes tens of milliseconds of the start
  const { parseRuleset, RulesetError } = await import("@inkling/engine/assess");
  try {
    parseRuleset(ruleset.text, ruleset.number);
  } catch (error) {
    if (!(error instanceof RulesetError)) throw error;
    const [first] = error.mistakes;
    throw new RulesetRefused(
      ruleset,
      first === undefined ? error.message : `line ${first.line}: ${first.message}`,
    );
  }
}
