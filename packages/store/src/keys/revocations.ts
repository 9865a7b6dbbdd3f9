// revocations.ts: revokes keys on this host while the database cannot be written to, and stores the revocations later.
//
// in   requests to the admin API; once a second, entries that commands wrote to the file (revocation-file.ts)
// out  the keys that all processes of this host refuse; a database row and an audit entry, as soon as they can be
//      written
// err  none: if the file cannot be written, a revocation is kept only in memory, and an event reports this. Each check
//      retries the database.

import { messageOf, Poller } from "@inkling/release-store";
import type { Actor } from "./actor.ts";
import type { EpochMs, KeyId } from "./key.ts";
import type { FiledRevocation, Revocation, RevocationFile } from "./revocation-file.ts";

export type RevocationEvent =
  /** The revocation is active on this host. `survives_restart` is false if the file could not be written. */
  | { readonly type: "applied"; readonly key: KeyId; readonly survives_restart: boolean }
  /** The database has the revocation. */
  | { readonly type: "stored"; readonly key: KeyId }
  /** The file could not be created, read or written. */
  | { readonly type: "file-failed"; readonly reason: string };

interface RevocationsOptions {
  readonly file: RevocationFile;
  /** Revokes a key in the database. @throws Error if this must be tried again */
  readonly store: (revocation: Revocation) => Promise<unknown>;
  /** Called when the set of revoked keys has changed. */
  readonly onChange: () => Promise<void>;
  readonly onEvent: (event: RevocationEvent) => void;
  readonly now?: () => EpochMs;
  readonly checkMs?: number;
}

interface Pending extends Revocation {
  /** The entry's slot in the file; undefined if the entry is only in memory. */
  readonly slot: number | undefined;
}

const CHECK_MS = 1_000;

export class Revocations {
  private readonly options: RevocationsOptions;
  private readonly checks: Poller;
  private readonly byKey = new Map<KeyId, Pending>();
  private lastFailure: string | undefined;

  constructor(options: RevocationsOptions) {
    this.options = options;
    const { checkMs = CHECK_MS } = options;
    this.checks = new Poller({ check: () => this.check(), waitMs: () => checkMs });
  }

  /** Takes over the revocations that an earlier process could not store. Call {@link follow} once keys are loaded. */
  open(): void {
    this.attempt(() => this.options.file.create());
    for (const entry of this.readFile()) this.byKey.set(entry.id, entry);
  }

  /** Runs a first check, and then checks regularly. */
  async follow(): Promise<void> {
    await this.checks.now();
    this.checks.schedule();
  }

  stop(): Promise<void> {
    return this.checks.stop();
  }

  /** Revocations that are active on this host but not in the database yet. */
  get pending(): readonly Revocation[] {
    return [...this.byKey.values()].map(({ id, at, by }) => ({ id, at, by }));
  }

  has(keyId: KeyId): boolean {
    return this.byKey.has(keyId);
  }

  /** Revokes a key on this host while the database cannot be written to. */
  async revoke(id: KeyId, by: Actor): Promise<Revocation> {
    const known = this.byKey.get(id);
    if (known !== undefined) return known;
    const revocation = { id, at: (this.options.now ?? Date.now)(), by };
    const slot = this.attempt(() => this.options.file.add(revocation, "applied"));
    await this.apply([{ ...revocation, slot }]);
    return revocation;
  }

  private async check(): Promise<void> {
    const found = this.readFile();
    await this.apply(found.filter(({ id }) => !this.byKey.has(id)));
    for (const entry of found) {
      const pending = this.byKey.get(entry.id);
      if (pending?.slot === undefined) this.byKey.set(entry.id, entry);
      else if (pending.slot !== entry.slot) this.attempt(() => this.options.file.clear(entry.slot)); // requested twice
      if (entry.state === "requested") this.attempt(() => this.options.file.markApplied(entry));
    }
    for (const pending of [...this.byKey.values()]) if (!(await this.storeOne(pending))) break;
  }

  private async apply(revocations: readonly Pending[]): Promise<void> {
    if (revocations.length === 0) return;
    for (const one of revocations) this.byKey.set(one.id, one);
    await this.options.onChange();
    for (const { id, slot } of revocations) {
      this.options.onEvent({ type: "applied", key: id, survives_restart: slot !== undefined });
    }
  }

  /** Stores a revocation in the database. @returns false if this is not possible now */
  private async storeOne(pending: Pending): Promise<boolean> {
    const { store, file, onEvent } = this.options;
    try {
      await store(pending);
    } catch {
      return false; // the key loader and usage report the state of the database
    }
    if (pending.slot !== undefined) {
      const { slot } = pending;
      this.attempt(() => file.clear(slot));
    }
    this.byKey.delete(pending.id);
    onEvent({ type: "stored", key: pending.id });
    return true;
  }

  private readFile(): FiledRevocation[] {
    return this.attempt(() => this.options.file.read()) ?? [];
  }

  /** Runs `work`. @returns undefined after a failure; a repeated failure with the same reason is reported only once */
  private attempt<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      const reason = messageOf(error);
      if (reason !== this.lastFailure) this.options.onEvent({ type: "file-failed", reason });
      this.lastFailure = reason;
      return undefined;
    }
  }
}
