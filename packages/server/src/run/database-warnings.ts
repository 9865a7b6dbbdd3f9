// database-warnings.ts: what /readyz and the host's report say about the database while lookups are still answered.

import { EmptyDatabaseError, type Live } from "@inkling/data";
import { StoreError } from "@inkling/store/error";
import type { Keyring } from "@inkling/store/keys/keyring";
import type { LiveKeys } from "@inkling/store/keys/live-keys";
import type { LiveOverrides } from "@inkling/store/overrides/live-overrides";
import { type LiveRulesets, RulesetRefused } from "@inkling/store/rulesets/live-rulesets";
import type { Store } from "@inkling/store/store";
import { REVOKED_HINT } from "./revoked-keys.ts";

export const EMPTY_HINT =
  "check INKLING_DATABASE_URL, or restore a backup; to start with an empty database, delete keys.json and overrides.json, and restart";

export const RULESET_HINT =
  "upgrade this server, or publish a ruleset that it can read: `inkling rules rollback`";

/** Maximum number of keys that a warning lists. */
const MAX_LISTED = 5;

interface WarningParts {
  readonly store: Pick<Store, "isFileGone">;
  readonly keyLoader: LiveKeys;
  readonly overrides: LiveOverrides;
  readonly rulesets: LiveRulesets;
  readonly keyring: Pick<Keyring, "table" | "refused">;
  /** The database can be read but not written. */
  readonly isReadOnly: boolean;
}

export function databaseWarnings(parts: WarningParts): string[] {
  const { store, keyLoader, overrides, rulesets, keyring, isReadOnly } = parts;
  const found: string[] = [];
  const { error } = keyLoader.state;
  if (store.isFileGone) {
    found.push(
      "the database file is missing, but the last known keys and overrides still apply; restore a backup",
    );
  } else if (error instanceof StoreError) {
    const state = error.code === "UNREACHABLE" ? "is unreachable" : "cannot be used";
    found.push(
      `the database ${state}, but the last known keys and overrides still apply; \`inkling doctor\` names the reason`,
    );
  } else if (isReadOnly) {
    found.push(
      "the database cannot be written, because its disk is full or read-only; usage waits in memory; `inkling doctor` shows the free space",
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
