// database-guard.ts: keeps revocations active on this host while the database cannot be written to, and after the
// database went back to an earlier state. It reports both cases, and which keys and overrides apply only because of the
// data folder's copies.
//
// out  log events; warnings for /readyz and the host's report, in the keyring's state

import { join } from "node:path";
import { DATA_FOLDER, EmptyDatabaseError, isEmptyStamp, type Live } from "@inkling/release-store";
import { StoreError } from "@inkling/store/error";
import { DatabaseHistory, type HistoryEvent } from "@inkling/store/history";
import type { Keyring, KeySnapshot } from "@inkling/store/keys/keyring";
import { countKeys, type LiveKeys } from "@inkling/store/keys/live-keys";
import { type Revocation, RevocationFile } from "@inkling/store/keys/revocation-file";
import { type RevocationEvent, Revocations } from "@inkling/store/keys/revocations";
import type { LiveOverrides } from "@inkling/store/overrides/live-overrides";
import { type LiveRulesets, RulesetRefused } from "@inkling/store/rulesets/live-rulesets";
import type { Store } from "@inkling/store/store";
import type { Log } from "../telemetry/log.ts";
import type { ServerOptions } from "./options.ts";

interface GuardParts {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly log: Log;
  /** Called when the keyring's warnings have changed. */
  readonly onChange: () => void;
}

export const ADOPT_HINT =
  "`inkling database adopt` writes the copies into the database; `inkling database confirm` discards them";
const CONFIRM_HINT =
  "restore the newest backup, or accept the database as it is with `inkling database confirm`";

export const RULESET_HINT =
  "upgrade this server, or publish a ruleset that it can read: `inkling rules rollback`";

/** The parts of the database that this server has loaded. */
interface Followed {
  readonly keyLoader: LiveKeys;
  readonly overrides: LiveOverrides;
  readonly rulesets: LiveRulesets;
}

export class DatabaseGuard {
  readonly history: DatabaseHistory;
  readonly revocations: Revocations;
  private readonly parts: GuardParts;
  private followed: Followed | undefined;
  /** Set if the database can be read but not written, because its disk is full or read-only. Then call `warn`. */
  isReadOnly = false;

  constructor({ dataDir, checkMs }: Pick<ServerOptions, "dataDir" | "checkMs">, parts: GuardParts) {
    this.parts = parts;
    const { store } = parts;
    this.history = new DatabaseHistory({
      path: join(dataDir, DATA_FOLDER.databaseHistory),
      read: (before, since) => store.readHistory(before, since),
      now: Date.now,
      onEvent: (event) => this.takeHistory(event),
    });
    this.revocations = new Revocations({
      file: new RevocationFile(join(dataDir, DATA_FOLDER.revocations)),
      store: (revocation) => this.store(revocation),
      onChange: () => this.apply(),
      onEvent: (event) => this.logRevocation(event),
      ...(checkMs !== undefined && { checkMs }),
    });
    this.revocations.open();
  }

  /** Runs before loaded keys or overrides become active. */
  readonly review = async () => {
    await this.history.review();
    this.warn();
  };

  readonly wentBackAt = () => this.history.wentBack?.at;

  /** Reports a copy that was moved aside because it has keys or overrides that the database lacks. */
  readonly reportAside = (file: string) => {
    const { log, store } = this.parts;
    const hint = `\`inkling database status\` lists what only this file has; \`inkling database adopt ${file}\` writes it into the database`;
    log.error("database-copy-kept", { database: store.label, file, hint });
  };

  readonly withoutRevoked = (snapshot: KeySnapshot): KeySnapshot => {
    const { stamp, tokens, delta } = this.history.withoutRevoked(snapshot);
    const allowed = (all: typeof tokens) => all.filter(({ key }) => !this.revocations.has(key.id));
    return {
      stamp,
      tokens: allowed(tokens),
      ...(delta !== undefined && { delta: { ...delta, tokens: allowed(delta.tokens) } }),
    };
  };

  /** Starts storing revocations and logging warnings. Call this once keys, overrides and rulesets are loaded. */
  async follow(followed: Followed): Promise<void> {
    this.followed = followed;
    this.warn();
    await this.revocations.follow();
  }

  /** How many keys and overrides apply only because of the copies, after an empty database replaced the earlier one. */
  get onlyHere(): { readonly keys: number; readonly overrides: number } {
    const { keyLoader, overrides } = this.followed ?? {};
    return {
      keys: isMissing(keyLoader) ? countKeys(keyLoader?.current) : 0,
      overrides: isMissing(overrides) ? (overrides?.current.all.length ?? 0) : 0,
    };
  }

  /** Updates the warnings. */
  warn(): void {
    if (this.followed === undefined) return;
    const { keyring, onChange } = this.parts;
    const warnings = this.warnings();
    if (Bun.deepEquals(keyring.warnings, warnings)) return;
    keyring.warnings = warnings;
    onChange();
  }

  private warnings(): string[] {
    const found: string[] = [];
    const { keys, overrides } = this.onlyHere;
    const { wentBack, revoked } = this.history;
    const unstored = this.revocations.pending.length;
    const away = this.followed?.keyLoader.state.error;
    if (this.parts.store.isFileGone) {
      found.push(
        "the database file is missing, but the last known keys and overrides still apply; restore a backup, or run `inkling database adopt`",
      );
    } else if (away instanceof StoreError) {
      const state = away.code === "AWAY" ? "is unreachable" : "cannot be used";
      found.push(
        `the database ${state}, but the last known keys and overrides still apply; \`inkling doctor\` names the reason`,
      );
    } else if (this.isReadOnly) {
      found.push(
        "the database cannot be written, because its disk is full or read-only; usage waits in memory; `inkling doctor` shows the free space",
      );
    }
    if (keys + overrides > 0) {
      found.push(
        `the database is empty: ${counted(keys, "key")} and ${counted(overrides, "override")} apply from copies in the data folder; ${ADOPT_HINT}`,
      );
    }
    if (wentBack !== undefined) {
      found.push(
        `the database reverted to an earlier state: ${counted(revoked.length, "key")} revoked since then ${revoked.length === 1 ? "remains" : "remain"} revoked; ${CONFIRM_HINT}`,
      );
    }
    if (unstored > 0) {
      found.push(
        `not stored yet: ${counted(unstored, "revoked key")}, because the database cannot be written`,
      );
    }
    const refused = this.followed?.rulesets;
    if (refused?.state.error instanceof RulesetRefused) {
      const { number } = refused.current;
      found.push(`${refused.state.error.message}; ruleset ${number} remains active; ${RULESET_HINT}`);
    }
    return found;
  }

  private async apply(): Promise<void> {
    await this.followed?.keyLoader.applyAgain();
    this.warn();
  }

  /**
   * Revokes a key in the database. If the database has lost the key, the history remembers the revocation, so that no
   * copy and no restored database makes the key valid again.
   * @throws StoreError; the file system's errors; Error if the database is empty, because the copy's keys then apply
   */
  private async store({ id, by, at }: Revocation): Promise<void> {
    const { store } = this.parts;
    if ((await store.revokeKey(id, by, at)) !== undefined) return;
    // Asks the database, because the key loader may not have noticed yet that the database is empty.
    if (isEmptyStamp(await store.readKeyStamp()))
      throw new Error("the database is empty and does not have the key");
    await this.history.remember(id);
  }

  private takeHistory(event: HistoryEvent): void {
    const { log, store } = this.parts;
    if (event.type === "file-failed") log.error("database-history-not-kept", { reason: event.reason });
    else if (event.type === "confirmed") log.info("database-confirmed", { database: store.label });
    else {
      log.error("database-went-back", {
        database: store.label,
        audit_sequence_known: event.from,
        audit_sequence_now: event.to,
        revocations_kept: event.revocations,
        hint: CONFIRM_HINT,
      });
    }
    // Not awaited, because the loader that runs this review waits for it.
    void this.followed?.keyLoader.applyAgain();
    this.warn();
  }

  private logRevocation({ type, ...fields }: RevocationEvent): void {
    const { log } = this.parts;
    if (type === "stored") log.info("key-revocation-stored", fields);
    else if (type === "applied") {
      log.error("key-revoked-here", { ...fields, effect: "stored once the database can be written" });
    } else log.error("revocations-file-failed", fields);
    this.warn();
  }
}

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** Returns whether the database is empty, although an earlier database contained these values. */
const isMissing = (live: Pick<Live<unknown>, "state"> | undefined) =>
  live?.state.error instanceof EmptyDatabaseError;
