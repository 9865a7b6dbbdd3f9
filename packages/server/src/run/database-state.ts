// database-state.ts: derives what /readyz and the host's report state about the database while lookups are still
// answered.

import { EMPTY_HINT, EmptyDatabaseError, type Live, Poller } from "@inkling/data";
import { StoreError } from "@inkling/store/error";
import { RULESET_HINT, RulesetRefused } from "@inkling/store/live-rulesets";
import type { Services } from "../admin/services.ts";
import { REVOKED_HINT } from "./active-keys.ts";

const CHECK_MS = 1_000;
/** Maximum number of keys that a warning lists. */
const MAX_LISTED = 5;

/**
 * Once a second, derives warnings and readiness from the state of the services, and hands them to the threads that
 * answer.
 */
export function watchDatabase(services: Services): Poller {
  const { keyring, serving, settings, usage } = services;
  const { maxUnstoredSeconds, checkMs = CHECK_MS } = settings;
  const update = () => {
    const usageState = usage.state;
    const warnings = databaseWarnings(services, usageState.isReadOnly);
    const isLate = maxUnstoredSeconds > 0 && usageState.oldestMs > maxUnstoredSeconds * 1_000;
    const unready = isLate ? `usage could not be stored for more than ${maxUnstoredSeconds} s` : undefined;
    if (unready === keyring.unready && Bun.deepEquals(keyring.warnings, warnings)) return;
    keyring.unready = unready;
    keyring.warnings = warnings;
    serving.publish("keys");
  };
  update();
  const checks = new Poller({ check: async () => update(), waitMs: () => checkMs });
  checks.schedule();
  return checks;
}

function databaseWarnings(
  { store, keyLoader, overrides, rulesets, keyring }: Services,
  isReadOnly: boolean,
): string[] {
  const found: string[] = [];
  const { error } = keyLoader.state;
  if (store.database.isFileGone) {
    found.push(
      "the database file is missing, but the last known keys and overrides still apply; restore a backup",
    );
  } else if (error instanceof StoreError) {
    const state = error.code === "UNREACHABLE" ? "is unreachable" : "cannot be used";
    found.push(
      `the database ${state}, but the last known keys and overrides still apply; run \`inkling doctor\` to see why`,
    );
  } else if (isReadOnly) {
    found.push(
      "the database cannot be written, because its disk is full or read-only; usage waits in memory; run `inkling doctor` to see the free space",
    );
  }
  const keys = isMissing(keyLoader) ? keyring.table.size : 0;
  const some = isMissing(overrides) ? overrides.current.all.length : 0;
  if (keys + some > 0) {
    found.push(
      `the database is empty: ${counted(keys, "key")} and ${counted(some, "override")} apply from copies in the data folder; ${EMPTY_HINT}`,
    );
  }
  const refused = [...keyring.refused];
  if (refused.length > 0) {
    const more = refused.length > MAX_LISTED ? ` and ${refused.length - MAX_LISTED} more` : "";
    found.push(
      `only this host refuses ${counted(refused.length, "key")}, because its file \`revoked\` lists them: ${refused.slice(0, MAX_LISTED).join(", ")}${more}; ${REVOKED_HINT}`,
    );
  }
  if (rulesets.state.error instanceof RulesetRefused) {
    const { number } = rulesets.current;
    found.push(`${rulesets.state.error.message}; ruleset ${number} remains active; ${RULESET_HINT}`);
  }
  return found;
}

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** Returns whether the database is empty, although an earlier database contained these values. */
const isMissing = (live: Pick<Live<unknown>, "state">) => live.state.error instanceof EmptyDatabaseError;
