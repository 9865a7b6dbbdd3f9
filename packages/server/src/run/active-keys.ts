// active-keys.ts: takes care of a server's keys. It creates the key in INKLING_API_KEY, gives each key a cell, and keeps
// the server and the data folder's list of revocations in step: the server refuses the keys in the list, and adds keys
// that were revoked in the database.
//
// Failures after startup are logged. A revocation in the database then applies without its line in the list, until a
// retry writes the line.

import { messageOf, Poller } from "@inkling/data";
import { adoptKey } from "@inkling/store/adopt-key";
import { type KeyId, KeyInputError } from "@inkling/store/keys/key";
import { type KeyUpdate, recordsOf } from "@inkling/store/keys/key-table";
import type { Revocation, RevokedFile } from "@inkling/store/keys/revoked-file";
import type { KeyHost, LiveKeys } from "@inkling/store/live-keys";
import type { Services } from "../admin/services.ts";
import { StartError } from "../http/start-error.ts";

const CHECK_MS = 1_000;

export const REVOKED_HINT =
  "`inkling keys revoke ID` also revokes a key in the database; to accept it again, remove its line and restart";

/** Reads the file at startup. @throws StartError */
export function openRevoked(file: RevokedFile): void {
  let invalid: readonly string[] = [];
  try {
    ({ invalid } = file.read());
  } catch (error) {
    const hint = "let this user read the file. Without it, the server would accept revoked keys";
    throw new StartError("REVOKED", `cannot read ${file.path}: ${messageOf(error)}`, hint, error);
  }
  if (invalid[0] === undefined) return;
  throw new StartError(
    "REVOKED",
    `${file.path} has a line that is not a revocation: ${JSON.stringify(invalid[0].slice(0, 100))}`,
    "correct or remove the line",
  );
}

type KeyServices = Pick<
  Services,
  "settings" | "log" | "serving" | "store" | "keyring" | "keyCells" | "usage"
>;

export class ActiveKeys implements KeyHost {
  private readonly services: KeyServices;
  private readonly file: RevokedFile;
  /** Why INKLING_API_KEY cannot be a key. */
  private chosenKeyError: KeyInputError | undefined;
  private readonly checks: Poller;
  private followed: Pick<LiveKeys, "refresh"> | undefined;
  private last: number | undefined;
  private isBehind = false;
  /** What the previous check found: a command adds a line to the file just before its change of the database. */
  private unreported: readonly Revocation[] = [];
  private lastFailure: string | undefined;

  constructor(services: KeyServices, file: RevokedFile) {
    this.services = services;
    this.file = file;
    const { checkMs = CHECK_MS } = services.settings;
    this.checks = new Poller({ check: () => this.check(), waitMs: () => checkMs });
  }

  async prepare(): Promise<void> {
    const { settings, store } = this.services;
    if (settings.apiKey === undefined) return;
    try {
      await adoptKey(store, settings.apiKey);
    } catch (error) {
      if (error instanceof KeyInputError) this.chosenKeyError = error;
      throw error;
    }
  }

  /** @throws StartError if INKLING_API_KEY cannot be a key */
  requireChosenKey(): void {
    const error = this.chosenKeyError;
    if (error !== undefined)
      throw new StartError("KEY", error.message, "change or unset INKLING_API_KEY", error);
  }

  /** Adds to the file what the database has revoked since the last call. @throws StoreError */
  async review(): Promise<void> {
    const { last, revocations } = await this.services.store.readRevocations(this.last);
    this.isBehind = !this.attempt(() => this.file.add(revocations));
    if (!this.isBehind) this.last = last;
  }

  activate(update: KeyUpdate): void {
    const { keyring, keyCells, usage } = this.services;
    const { refused, state } = keyring;
    for (const { key } of state.loaded ? recordsOf(update.lines) : [])
      if (key.quota !== undefined && key.quota !== keyring.find(key.id)?.quota) usage.readAgain(key.id);
    keyCells.take(update);
    this.refuseRevoked();
    void this.logAdded(refused); // not awaited: it waits for the next update
    this.publish();
  }

  publish(): void {
    this.services.serving.publish("keys");
  }

  /** Starts checking the file. Call this once keys are loaded. */
  follow(keyLoader: Pick<LiveKeys, "refresh">): void {
    this.followed = keyLoader;
    this.checks.schedule();
  }

  stop(): Promise<void> {
    return this.checks.stop();
  }

  /** Makes the keyring refuse the keys that the file lists. */
  private refuseRevoked(): void {
    const { keyring } = this.services;
    keyring.refused = this.file.keysOf((keyId) => keyring.table.has(keyId));
  }

  /**
   * Logs that an update has keys that this host refuses. A key may have been revoked in the database after the update
   * was read, so the keys are loaded once more first.
   */
  private async logAdded(before: ReadonlySet<KeyId>): Promise<void> {
    const { keyring, log } = this.services;
    const added = [...keyring.refused].filter((keyId) => !before.has(keyId));
    if (added.length === 0) return;
    await this.followed?.refresh();
    if (added.some((keyId) => keyring.refused.has(keyId)))
      log.error("keys-revoked-here", { keys: keyring.refused.size, hint: REVOKED_HINT });
  }

  private async check(): Promise<void> {
    const { keyring, log } = this.services;
    const active: Revocation[] = [];
    this.attempt(() => {
      const { added, invalid } = this.file.read();
      for (const line of invalid) log.error("revoked-line-invalid", { line: line.slice(0, 100) });
      active.push(...added.filter(({ id }) => keyring.find(id) !== undefined));
    });
    if (active.length > 0) {
      this.refuseRevoked();
      this.publish();
    }
    if (this.unreported.length > 0) void this.report(this.unreported);
    this.unreported = active;
    if (this.isBehind) await this.review().catch(() => {}); // the key loader reports the state of the database
  }

  /** Logs the keys that are not revoked in the database as well. Only a command with `--here` leaves such keys. */
  private async report(revoked: readonly Revocation[]): Promise<void> {
    await this.followed?.refresh();
    for (const { id, author } of revoked) {
      if (this.services.keyring.refused.has(id))
        this.services.log.error("key-revoked-here", { key: id, author, hint: REVOKED_HINT });
    }
  }

  /** @returns false after a failure; a repeated failure with the same reason is logged only once */
  private attempt(work: () => void): boolean {
    try {
      work();
      this.lastFailure = undefined;
      return true;
    } catch (error) {
      const reason = messageOf(error);
      if (reason !== this.lastFailure) this.services.log.error("revoked-file-failed", { reason });
      this.lastFailure = reason;
      return false;
    }
  }
}
