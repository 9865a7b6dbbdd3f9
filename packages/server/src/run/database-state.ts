// database-state.ts: derives what /readyz and the host's report state about the database while lookups are still
// answered.

import { EmptyDatabaseError, type Live, Poller } from "@inkling/data";
import { StoreError } from "@inkling/store/error";
import { RulesetRefused } from "@inkling/store/rulesets/live-rulesets";
import type { UsageState } from "../limits/usage-recorder.ts";
import type { ServerOptions, Services } from "./options.ts";
import { REVOKED_HINT } from "./revoked-keys.ts";

export const EMPTY_HINT =
  "check INKLING_DATABASE_URL, or restore a backup; to start with an empty database, delete keys.json and overrides.json, and restart";

export const RULESET_HINT =
  "upgrade this server, or publish a ruleset that it can read: `inkling rules rollback`";

const CHECK_MS = 1_000;
/** Maximum number of keys that a warning lists. */
const MAX_LISTED = 5;

type Watched = Pick<
  Services,
  "store" | "keyring" | "keyLoader" | "overrides" | "rulesets" | "usage" | "serving"
>;

/**
 * Once a second, derives warnings and readiness from the state of the services, and hands them to the threads that
 * answer.
 */
export class DatabaseState {
  private readonly services: Watched;
  private readonly maxUnstoredSeconds: number;
  private readonly checks: Poller;

  constructor(
    { maxUnstoredSeconds, checkMs = CHECK_MS }: Pick<ServerOptions, "maxUnstoredSeconds" | "checkMs">,
    services: Watched,
  ) {
    this.services = services;
    this.maxUnstoredSeconds = maxUnstoredSeconds;
    this.checks = new Poller({ check: async () => this.update(), waitMs: () => checkMs });
  }

  start(): void {
    this.update();
    this.checks.schedule();
  }

  stop(): Promise<void> {
    return this.checks.stop();
  }

  private update(): void {
    const { keyring, serving, usage } = this.services;
    const usageState = usage.state;
    const warnings = databaseWarnings(this.services, usageState);
    const unready = this.whyUnready(usageState);
    if (unready === keyring.unready && Bun.deepEquals(keyring.warnings, warnings)) return;
    keyring.unready = unready;
    keyring.warnings = warnings;
    serving.publish("keys");
  }

  private whyUnready({ oldestMs }: UsageState): string | undefined {
    const { maxUnstoredSeconds } = this;
    const isLate = maxUnstoredSeconds > 0 && oldestMs > maxUnstoredSeconds * 1_000;
    return isLate ? `usage could not be stored for more than ${maxUnstoredSeconds} s` : undefined;
  }
}

function databaseWarnings(
  { store, keyLoader, overrides, rulesets, keyring }: Watched,
  { isReadOnly }: UsageState,
): string[] {
  const found: string[] = [];
  const { error } = keyLoader.state;
  if (store.isFileGone) {
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
