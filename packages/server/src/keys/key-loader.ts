// key-loader.ts: keeps a keyring in step with the store.
//
// in   the store: a stamp each second, all keys when it has changed
// out  snapshots in the keyring; a copy in the data folder, with which a start goes on while the store is unreachable
// err  none: a store that is unreachable leaves the keyring as it is, and is checked less often; see the keyring's `state`

import { backoffMs } from "./backoff.ts";
import type { EpochMs } from "./key.ts";
import type { Keyring, KeySnapshot } from "./keyring.ts";
import { keySnapshotText, readKeySnapshot } from "./snapshot.ts";
import type { SnapshotFile } from "./snapshot-file.ts";

export interface KeySource {
  /** Changes whenever any key or token does. */
  readKeyStamp(): Promise<string>;
  /** All keys that are not revoked, with the hashes of their tokens. */
  loadKeys(): Promise<KeySnapshot>;
}

export interface KeyLoaderOptions {
  readonly store: KeySource;
  readonly keyring: Pick<Keyring, "replace" | "recordCheck" | "recordFailure" | "state">;
  readonly now?: () => EpochMs;
  /** Milliseconds between two checks. */
  readonly refreshMs?: number;
  /** Runs before the first load, again until it succeeds: adopts a key of the operator's choosing. */
  readonly beforeFirstLoad?: () => Promise<void>;
  /** The copy in the data folder. */
  readonly copy?: SnapshotFile;
  /** The copy is in force, because the store is unreachable. */
  readonly onCopy?: (keys: number, ageMs: number) => void;
  /** No key was ever made in the store, and the copy has some: it is another database. The copy is kept. */
  readonly onEmpty?: (keys: number) => void;
  /** Called with each snapshot before it is in force; what it throws is a failed check. */
  readonly onSnapshot?: (snapshot: KeySnapshot) => void;
  /** The store became unreachable (first failure) or came back (undefined). */
  readonly onStoreChange?: (error: Error | undefined) => void;
}

const REFRESH_MS = 1_000;
/** Longest wait between two checks while the store is unreachable. */
const MAX_BACKOFF_MS = 5_000;
/** Everything is read again after this long, so that rows changed by hand take effect too. */
const FULL_RELOAD_MS = 60_000;
/** The stamp of a database in which no key was ever made. */
const NO_KEYS_STAMP = "new";

export class KeyLoader {
  private readonly options: KeyLoaderOptions;
  private readonly now: () => EpochMs;
  private snapshot: KeySnapshot | undefined;
  private loadedAt: EpochMs = 0;
  private isPrepared = false;
  private running: Promise<void> | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isStopped = false;

  constructor(options: KeyLoaderOptions) {
    this.options = options;
    this.now = options.now ?? Date.now;
  }

  /** Checks now and goes on checking. Resolves after the first check, whether it succeeded or not. */
  async start(): Promise<void> {
    await this.refresh();
    const { copy } = this.options;
    const hasKeys = this.snapshot !== undefined && this.snapshot.stamp !== NO_KEYS_STAMP;
    if (copy !== undefined && !hasKeys) this.useCopy(copy);
    this.schedule();
  }

  /** Checks now; joins a check that is under way. Never rejects. */
  refresh(): Promise<void> {
    this.running ??= this.check().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  /** Stops checking; the keyring stays as it is. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    await this.running;
  }

  private schedule(): void {
    if (this.isStopped) return;
    const { refreshMs = REFRESH_MS, keyring } = this.options;
    const wait = backoffMs(refreshMs, Math.max(refreshMs, MAX_BACKOFF_MS), keyring.state.failures);
    this.timer = setTimeout(() => {
      void this.refresh().then(() => this.schedule());
    }, wait);
  }

  private async check(): Promise<void> {
    const { keyring, beforeFirstLoad, onStoreChange } = this.options;
    const wasAway = keyring.state.failures > 0;
    try {
      if (!this.isPrepared) {
        await beforeFirstLoad?.();
        this.isPrepared = true;
      }
      await this.loadIfChanged();
      keyring.recordCheck(this.now());
      this.saveCopy();
      if (wasAway) onStoreChange?.(undefined);
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error(String(cause));
      keyring.recordFailure(error.message);
      if (!wasAway) onStoreChange?.(error);
    }
  }

  /** After a first check that failed, or found a database without any key. */
  private useCopy(file: SnapshotFile): void {
    const { keyring, onSnapshot, onCopy, onEmpty } = this.options;
    const copy = file.read(readKeySnapshot);
    const keys = new Set(copy?.value.tokens.map(({ key }) => key.id)).size;
    if (copy === undefined || keys === 0) return;
    if (this.snapshot !== undefined) {
      onEmpty?.(keys);
      return;
    }
    onSnapshot?.(copy.value);
    keyring.replace(copy.value);
    onCopy?.(keys, copy.ageMs);
  }

  private saveCopy(): void {
    const { snapshot } = this;
    if (snapshot === undefined || snapshot.stamp === NO_KEYS_STAMP) return;
    this.options.copy?.save(snapshot.stamp, () => keySnapshotText(snapshot));
  }

  private async loadIfChanged(): Promise<void> {
    const { store, keyring, onSnapshot } = this.options;
    const age = this.now() - this.loadedAt;
    const isFresh = age >= 0 && age < FULL_RELOAD_MS; // the clock may have been set back
    if (this.snapshot !== undefined && isFresh && (await store.readKeyStamp()) === this.snapshot.stamp)
      return;
    const snapshot = await store.loadKeys();
    onSnapshot?.(snapshot);
    keyring.replace(snapshot);
    this.snapshot = snapshot;
    this.loadedAt = this.now();
  }
}
