// live-rulesets.ts: the newest published ruleset, in memory.
//
// If this version cannot read a ruleset, the previous one remains active, and `state.error` contains the reason. Cost:
// one row is read every half second.

import { join } from "node:path";
import type { EventLog } from "@inkling/contract";
import { DATA_FOLDER, Live, SnapshotFile, storeSource } from "@inkling/data";
import type { EpochMs } from "./keys/key.ts";
import {
  loadedRuleset,
  NO_RULESET,
  type PublishedRuleset,
  readRulesetSnapshot,
  rulesetSnapshot,
} from "./rulesets/record.ts";
import type { RulesetStore } from "./rulesets.ts";
import type { UnreadableRows } from "./unreadable.ts";

const REFRESH_MS = 500;

export const RULESET_HINT =
  "upgrade this server, or publish a ruleset that it can read: `inkling rules rollback`";

interface LiveRulesetOptions {
  readonly store: {
    readonly rulesets: Pick<RulesetStore, "readStamp" | "newest" | "before">;
    readonly database: { readonly unreadable: Pick<UnreadableRows, "note" | "forget"> };
  };
  readonly dataDir: string;
  readonly now?: () => EpochMs;
  readonly refreshMs?: number;
  readonly log?: EventLog;
  /** Called when another ruleset is active. */
  readonly onChange?: () => void;
}

export type LiveRulesets = Live<PublishedRuleset>;

/** A published ruleset that this version of Inkling cannot read. */
export class RulesetRefused extends Error {
  readonly number: number;
  constructor({ number }: PublishedRuleset, reason: string) {
    super(`this version of Inkling cannot use ruleset ${number}: ${reason}`);
    this.name = "RulesetRefused";
    this.number = number;
  }
}

export function liveRulesets(options: LiveRulesetOptions): LiveRulesets {
  const {
    store: { rulesets, database },
    dataDir,
    now = Date.now,
    refreshMs = REFRESH_MS,
    log,
    onChange,
  } = options;
  const snapshot = new SnapshotFile<PublishedRuleset>({
    path: join(dataDir, DATA_FOLDER.ruleset),
    now,
    onFailure: (reason) => log?.error("ruleset-copy-failed", { reason }),
    parse: readRulesetSnapshot,
    print: rulesetSnapshot,
  });
  const live: LiveRulesets = new Live({
    initial: NO_RULESET,
    source: storeSource({
      readStamp: () => rulesets.readStamp(),
      load: async () => {
        const newest = await rulesets.newest();
        return loadedRuleset(live.current.number > 0 ? newest : await newestReadable(newest, rulesets));
      },
      countLost: ({ number }) => number,
      what: "a ruleset",
    }),
    apply: checkRuleset,
    onApplied: ({ number, text }, { before, from, isOtherOrigin }) => {
      const isSame = number === before.number && text === before.text;
      if (isSame && !(isOtherOrigin && number > 0)) return;
      log?.info("ruleset-loaded", { ruleset: number, from: from === "source" ? "database" : "data folder" });
      onChange?.();
    },
    onChecked: (error, before) => {
      // The keyring already reports that the database is unreachable or empty.
      if (error instanceof RulesetRefused && error.message !== before?.message) {
        const { number: ruleset, message: reason } = error;
        log?.error("ruleset-refused", { ruleset, reason, hint: RULESET_HINT });
        database.unreadable.note("rulesets", String(ruleset), reason);
      }
      if (error === undefined && before instanceof RulesetRefused) database.unreadable.forget("rulesets");
    },
    pollMs: refreshMs,
    snapshot,
    now,
  });
  return live;
}

/**
 * Finds the newest ruleset that this version can read. A server that starts uses it until the next check, which refuses
 * the newest ruleset and keeps this one.
 * @returns the newest ruleset if this version can read none
 */
async function newestReadable(
  newest: PublishedRuleset,
  rulesets: Pick<RulesetStore, "before">,
): Promise<PublishedRuleset> {
  for (let one: PublishedRuleset | undefined = newest; one !== undefined; ) {
    try {
      await checkRuleset(one);
      return one;
    } catch (error) {
      if (!(error instanceof RulesetRefused)) throw error;
      one = await rulesets.before(one.number);
    }
  }
  return newest;
}

/**
 * Checks that this version can read a ruleset, so that an unreadable ruleset never reaches the workers. Workers parse
 * the text again.
 * @throws RulesetRefused
 */
async function checkRuleset(ruleset: PublishedRuleset): Promise<void> {
  if (ruleset.number === 0) return; // loading the parser would add tens of milliseconds to the start
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
