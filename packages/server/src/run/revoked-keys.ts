// revoked-keys.ts: keeps a running server and the data folder's list of revocations in step. The server refuses the
// keys in the list, and adds keys that were revoked in the database.
//
// Failures after startup are logged. A revocation in the database then applies without its line in the list, until a
// retry writes the line.

import { messageOf, Poller } from "@inkling/data";
import type { KeyId } from "@inkling/store/keys/key";
import type { Keyring } from "@inkling/store/keys/keyring";
import type { LiveKeys } from "@inkling/store/keys/live-keys";
import type { Revocation, RevokedFile } from "@inkling/store/keys/revoked-file";
import type { Store } from "@inkling/store/store";
import { StartError } from "../http/start-error.ts";
import type { Log } from "../telemetry/log.ts";

const CHECK_MS = 1_000;

export const REVOKED_HINT =
  "`inkling keys revoke ID` also revokes a key in the database; to accept it again, remove its line and restart";

interface RevokedKeysOptions {
  readonly file: RevokedFile;
  readonly store: Pick<Store, "readRevocations">;
  readonly keyring: Pick<Keyring, "find" | "table" | "refused">;
  readonly log: Pick<Log, "error">;
  readonly serving: { publish(change: "keys"): void };
  readonly checkMs: number | undefined;
}

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

export class RevokedKeys {
  private readonly options: RevokedKeysOptions;
  private readonly checks: Poller;
  private followed: Pick<LiveKeys, "refresh"> | undefined;
  private last: number | undefined;
  private isBehind = false;
  /** What the previous check found: a command adds a line to the file just before its change of the database. */
  private unreported: readonly Revocation[] = [];
  private lastFailure: string | undefined;

  constructor(options: RevokedKeysOptions) {
    this.options = options;
    const { checkMs = CHECK_MS } = options;
    this.checks = new Poller({ check: () => this.check(), waitMs: () => checkMs });
  }

  /** Starts checking the file. Call this once keys are loaded. */
  follow(keyLoader: Pick<LiveKeys, "refresh">): void {
    this.followed = keyLoader;
    this.checks.schedule();
  }

  stop(): Promise<void> {
    return this.checks.stop();
  }

  /** Adds to the file what the database has revoked since the last call. @throws StoreError */
  readonly review = async (): Promise<void> => {
    const { last, revocations } = await this.options.store.readRevocations(this.last);
    this.isBehind = !this.attempt(() => this.options.file.add(revocations));
    if (!this.isBehind) this.last = last;
  };

  /** Makes the keyring refuse the keys that the file lists. Call this after each update of the keyring. */
  apply(): void {
    const { keyring } = this.options;
    keyring.refused = this.options.file.keysOf((keyId) => keyring.table.has(keyId));
  }

  /**
   * Logs that an update has keys that this host refuses. A key may have been revoked in the database after the update
   * was read, so the keys are loaded once more first.
   */
  async logAdded(before: ReadonlySet<KeyId>): Promise<void> {
    const { keyring, log } = this.options;
    const added = [...keyring.refused].filter((keyId) => !before.has(keyId));
    if (added.length === 0) return;
    await this.followed?.refresh();
    if (added.some((keyId) => keyring.refused.has(keyId)))
      log.error("keys-revoked-here", { keys: keyring.refused.size, hint: REVOKED_HINT });
  }

  private async check(): Promise<void> {
    const { file, keyring, log, serving } = this.options;
    const active: Revocation[] = [];
    this.attempt(() => {
      const { added, invalid } = file.read();
      for (const line of invalid) log.error("revoked-line-invalid", { line: line.slice(0, 100) });
      active.push(...added.filter(({ id }) => keyring.find(id) !== undefined));
    });
    if (active.length > 0) {
      this.apply();
      serving.publish("keys");
    }
    if (this.unreported.length > 0) void this.report(this.unreported);
    this.unreported = active;
    if (this.isBehind) await this.review().catch(() => {}); // the key loader reports the state of the database
  }

  /** Logs the keys that are not revoked in the database as well. Only a command with `--here` leaves such keys. */
  private async report(revoked: readonly Revocation[]): Promise<void> {
    await this.followed?.refresh();
    for (const { id, author } of revoked) {
      if (this.options.keyring.refused.has(id))
        this.options.log.error("key-revoked-here", { key: id, author, hint: REVOKED_HINT });
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
      if (reason !== this.lastFailure) this.options.log.error("revoked-file-failed", { reason });
      this.lastFailure = reason;
      return false;
    }
  }
}
