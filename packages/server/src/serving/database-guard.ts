// database-guard.ts: keeps revocations active on this host whatever becomes of the database: while it cannot be written,
// and after it went back to an earlier state. Reports both, and what applies only from the data folder's copies.
//
// out  log events; warnings of /readyz and of the host's report, in the keyring's state

import { join } from "node:path";
import { DATA_FOLDER, EmptyDatabaseError, type Live } from "@inkling/release-store";
import type { Keyring, KeySnapshot } from "../keys/keyring.ts";
import { countKeys, type LiveKeys } from "../keys/live-keys.ts";
import { type Revocation, RevocationFile } from "../keys/revocation-file.ts";
import { type RevocationEvent, Revocations } from "../keys/revocations.ts";
import type { LiveOverrides } from "../overrides/live-overrides.ts";
import { type LiveRulesets, RulesetRefused } from "../rulesets/live-rulesets.ts";
import { DatabaseHistory, type HistoryEvent } from "../store/history.ts";
import type { Store } from "../store/store.ts";
import type { Log } from "../telemetry/log.ts";
import type { ServerOptions } from "./options.ts";

interface GuardParts {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly log: Log;
  /** The keyring's warnings have changed. */
  readonly onChange: () => void;
}

export const ADOPT_HINT =
  "`inkling database adopt` writes the copies into the database; `inkling database confirm` discards them";
const CONFIRM_HINT =
  "restore the newest backup, or accept the database as it is with `inkling database confirm`";

export const RULESET_HINT =
  "upgrade this server, or publish a ruleset that it can read: `inkling rules rollback`";

/** What the database holds, as this server has loaded it. */
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

  constructor({ dataDir, checkMs }: Pick<ServerOptions, "dataDir" | "checkMs">, parts: GuardParts) {
    this.parts = parts;
    const { store } = parts;
    this.history = new DatabaseHistory({
      path: join(dataDir, DATA_FOLDER.databaseHistory),
      read: (known, since) => store.readHistory(known, since),
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

  /** For what loads keys and overrides: runs before either is active. */
  readonly review = () => this.history.review();

  readonly withoutRevoked = (snapshot: KeySnapshot): KeySnapshot => {
    const kept = this.history.withoutRevoked(snapshot);
    return { ...kept, tokens: kept.tokens.filter(({ key }) => !this.revocations.has(key.id)) };
  };

  /** Begins, when all are loaded. */
  async follow(followed: Followed): Promise<void> {
    this.followed = followed;
    this.warn();
    await this.revocations.follow();
  }

  /** What applies here only from the copies, because the database is empty instead of another. */
  get onlyHere(): { readonly keys: number; readonly overrides: number } {
    const { keyLoader, overrides } = this.followed ?? {};
    return {
      keys: isMissing(keyLoader) ? countKeys(keyLoader?.current) : 0,
      overrides: isMissing(overrides) ? (overrides?.current.all.length ?? 0) : 0,
    };
  }

  /** Brings the warnings up to date. */
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
    if (keys + overrides > 0) {
      found.push(
        `the database is empty: ${keys} keys and ${overrides} overrides apply from copies in the data folder; ${ADOPT_HINT}`,
      );
    }
    if (wentBack !== undefined) {
      found.push(
        `the database went back to an earlier state: ${revoked.length} keys that were revoked in the day before stay revoked; ${CONFIRM_HINT}`,
      );
    }
    if (unstored > 0) {
      found.push(`${unstored} revoked keys are not stored yet: the database cannot be written`);
    }
    const refused = this.followed?.rulesets;
    if (refused?.state.error instanceof RulesetRefused) {
      const { number } = refused.current;
      found.push(`${refused.state.error.message}; ruleset ${number} stays in force; ${RULESET_HINT}`);
    }
    return found;
  }

  private async apply(): Promise<void> {
    await this.followed?.keyLoader.applyAgain();
    this.warn();
  }

  /** @throws StoreError; Error where the database lost the key, which is active from the copy */
  private async store({ id, by, at }: Revocation): Promise<void> {
    const { store } = this.parts;
    const stored = await store.revokeKey(id, by, at);
    if (stored === undefined && this.onlyHere.keys > 0) throw new Error("the database does not hold the key");
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
    // Not awaited: the loader that reviews waits for this.
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

/** Is the database empty instead of one that held this? */
const isMissing = (live: Pick<Live<unknown>, "state"> | undefined) =>
  live?.state.error instanceof EmptyDatabaseError;
