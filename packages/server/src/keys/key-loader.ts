// key-loader.ts: keeps a keyring in step with the store.
//
// in   the store: a stamp each second, all keys when it has changed
// out  snapshots in the keyring; a copy in the data folder, with which a start goes on while the store is unreachable
// err  none: a store that is unreachable, or empty in the place of one that was not, leaves the keyring as it is, and is
//      checked less often; see the keyring's `state`

import { backoffMs } from "../retry/backoff.ts";
import { RepeatedCheck } from "../retry/repeated-check.ts";
import type { EpochMs } from "./key.ts";
import type { Keyring, KeySnapshot } from "./keyring.ts";
import { holdsMadeKeys } from "./snapshot.ts";
import { EmptyDatabaseError, isEmptyStamp, type SavedCopy, type SnapshotFile } from "./snapshot-file.ts";

export interface KeySource {
  /** Changes whenever any key or token does. */
  readKeyStamp(): Promise<string>;
  /** All keys that are not revoked, with the hashes of their tokens. */
  loadKeys(): Promise<KeySnapshot>;
}

export interface KeyLoaderOptions {
  readonly store: KeySource;
  readonly keyring: Pick<Keyring, "replace" | "recordCheck" | "recordFailure" | "state" | "stale">;
  readonly now?: () => EpochMs;
  /** Milliseconds between two checks. */
  readonly refreshMs?: number;
  /**
   * Runs before the first load, again until it succeeds, and after the store was empty: adopts a key of the operator's
   * choosing. Not in a store that is empty in the place of another: it would no longer be seen to be empty.
   */
  readonly beforeFirstLoad?: () => Promise<void>;
  /** Keys are refused once the store was not reached for so long; never by default. */
  readonly maxStaleMs?: number | undefined;
  /** Keys are refused from now on, or no longer. */
  readonly onStale?: (isStale: boolean) => void;
  /** The copy in the data folder. */
  readonly copy?: SnapshotFile<KeySnapshot>;
  /** The copy is in force, because the store is unreachable or empty. */
  readonly onCopy?: (keys: number, ageMs: number) => void;
  /** Called with each snapshot before it is in force, and waited for; what it throws is a failed check. */
  readonly onSnapshot?: (snapshot: KeySnapshot) => void | Promise<void>;
  /** Runs before what the store holds now is put in force: has it gone back to an earlier state? */
  readonly review?: () => Promise<void>;
  /** A snapshot without the keys that are revoked on this host, whatever the store or the copy holds. */
  readonly withoutRevoked?: (snapshot: KeySnapshot) => KeySnapshot;
  /** The store became unreachable, was found empty (EmptyDatabaseError), or came back (undefined). */
  readonly onStoreChange?: (error: Error | undefined) => void;
}

const REFRESH_MS = 1_000;
/** Longest wait between two checks while the store is unreachable. */
const MAX_BACKOFF_MS = 5_000;
/** Everything is read again after this long, so that rows changed by hand take effect too. */
const FULL_RELOAD_MS = 60_000;

export class KeyLoader {
  private readonly options: KeyLoaderOptions;
  private readonly now: () => EpochMs;
  private snapshot: KeySnapshot | undefined;
  /** From the store or the copy, with keys that are revoked on this host. */
  private inForce: KeySnapshot | undefined;
  private putting: Promise<void> = Promise.resolve();
  private loadedAt: EpochMs = 0;
  private isPrepared = false;
  private isEmpty = false;
  /** Read when it is needed. */
  private copied: SavedCopy<KeySnapshot> | "unread" | undefined = "unread";
  private readonly checks: RepeatedCheck;
  private staleTimer: ReturnType<typeof setTimeout> | undefined;
  private isStopped = false;

  constructor(options: KeyLoaderOptions) {
    this.options = options;
    this.now = options.now ?? Date.now;
    const { refreshMs = REFRESH_MS, keyring } = options;
    this.checks = new RepeatedCheck({
      check: () => this.check(),
      waitMs: () => backoffMs(refreshMs, Math.max(refreshMs, MAX_BACKOFF_MS), keyring.state.failures),
    });
  }

  /** Checks now and goes on checking. Resolves after the first check, whether it succeeded or not. */
  async start(): Promise<void> {
    await this.refresh();
    if (this.snapshot === undefined) await this.useCopy();
    this.checks.schedule();
  }

  /** Checks now, after a check that is under way, which may have missed a change. Never rejects. */
  refresh(): Promise<void> {
    return this.checks.now();
  }

  /** Other keys are revoked on this host: ends them without waiting for the store. */
  async applyRevocations(): Promise<void> {
    if (this.inForce !== undefined) await this.putInForce(this.inForce);
  }

  /** How many keys are in force that the store, which is empty, does not hold. */
  get keysOnlyHere(): number {
    return this.isEmpty ? countKeys(this.inForce) : 0;
  }

  /** Stops checking; the keyring stays as it is. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.staleTimer);
    await this.checks.stop();
  }

  private async check(): Promise<void> {
    const { store, keyring, beforeFirstLoad, onStoreChange } = this.options;
    const wasAway = keyring.state.failures > 0;
    try {
      const stamp = await store.readKeyStamp();
      this.isPrepared &&= !isEmptyStamp(stamp);
      this.refuseEmpty(stamp);
      if (!this.isPrepared) {
        await beforeFirstLoad?.();
        this.isPrepared = true;
      }
      await this.loadIfChanged(stamp);
      keyring.recordCheck(this.now());
      this.confirm(0);
      this.saveCopy();
      this.isEmpty = false;
      if (wasAway) onStoreChange?.(undefined);
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error(String(cause));
      const wasEmpty = this.isEmpty;
      this.isEmpty = error instanceof EmptyDatabaseError;
      if (this.isEmpty) this.options.copy?.keep();
      keyring.recordFailure(error.message);
      if (!wasAway || this.isEmpty !== wasEmpty) onStoreChange?.(error);
    }
  }

  /** @throws EmptyDatabaseError where keys are known that the store never had, and that only it can have */
  private refuseEmpty(stamp: string): void {
    if (!isEmptyStamp(stamp)) return;
    const { snapshot } = this;
    const isKnown = snapshot !== undefined && !isEmptyStamp(snapshot.stamp);
    const known = isKnown ? snapshot : this.readCopy()?.value;
    if (known !== undefined && holdsMadeKeys(known)) throw new EmptyDatabaseError(countKeys(known), "a key");
  }

  private readCopy(): SavedCopy<KeySnapshot> | undefined {
    if (this.copied === "unread") this.copied = this.options.copy?.read();
    return this.copied;
  }

  /** After a first check that failed, or found a database without any key. */
  private async useCopy(): Promise<void> {
    const { onCopy } = this.options;
    const copy = this.readCopy();
    const keys = countKeys(copy?.value);
    if (copy === undefined || keys === 0) return;
    await this.putInForce(copy.value);
    this.confirm(copy.ageMs);
    onCopy?.(keys, copy.ageMs);
  }

  /** What is in force was what the store held so long ago. */
  private confirm(ageMs: number): void {
    const { maxStaleMs } = this.options;
    if (maxStaleMs === undefined || this.isStopped) return;
    clearTimeout(this.staleTimer);
    this.setStale(ageMs >= maxStaleMs);
    if (ageMs < maxStaleMs) this.staleTimer = setTimeout(() => this.setStale(true), maxStaleMs - ageMs);
  }

  private setStale(isStale: boolean): void {
    const { keyring, onStale } = this.options;
    if (isStale === (keyring.state.stale ?? false)) return;
    keyring.stale = isStale;
    onStale?.(isStale);
  }

  private saveCopy(): void {
    const { snapshot } = this;
    if (snapshot === undefined || isEmptyStamp(snapshot.stamp)) return;
    this.copied = undefined; // it is older than this
    this.options.copy?.save(snapshot);
  }

  /** @param stamp of the store */
  private async loadIfChanged(stamp: string): Promise<void> {
    const { store, review } = this.options;
    const age = this.now() - this.loadedAt;
    const isFresh = age >= 0 && age < FULL_RELOAD_MS; // the clock may have been set back
    if (isFresh && stamp === this.snapshot?.stamp) return;
    const snapshot = await store.loadKeys();
    this.refuseEmpty(snapshot.stamp); // it may be another one by now
    await review?.();
    await this.putInForce(snapshot);
    this.snapshot = snapshot;
    this.loadedAt = this.now();
  }

  /** One after the other: what was revoked meanwhile must not come back. */
  private putInForce(snapshot: KeySnapshot): Promise<void> {
    const { keyring, onSnapshot, withoutRevoked } = this.options;
    const put = this.putting.then(async () => {
      this.inForce = snapshot;
      const allowed = withoutRevoked?.(snapshot) ?? snapshot;
      await onSnapshot?.(allowed);
      keyring.replace(allowed);
    });
    this.putting = put.catch(() => {}); // the caller gets the error
    return put;
  }
}

const countKeys = (snapshot: KeySnapshot | undefined) =>
  new Set(snapshot?.tokens.map(({ key }) => key.id)).size;
