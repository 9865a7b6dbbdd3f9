// live.ts: a value that changes while a process runs, such as keys and overrides.
//
// Its version is polled, and its value is loaded if the version has changed. `refresh` polls immediately. If the source
// fails, the active value remains and polls become less frequent. If `apply` throws, the new value does not become
// active, and the next check loads it again.

import { backoffMs, Poller } from "./poller.ts";
import type { Loaded, SnapshotFile } from "./snapshot-file.ts";

export interface LiveSource<T> {
  /**
   * Returns a version that changes whenever the value does. If this method is missing or returns undefined, every check
   * loads the value.
   * @param known returns the active value or, before the first load, the snapshot's value
   */
  readonly version?: (known: () => Loaded<T> | undefined) => string | undefined | Promise<string>;
  readonly load: (
    known: () => Loaded<T> | undefined,
    /** The active value, if it was loaded from the source. */
    active: Loaded<T> | undefined,
    /** Must everything be read, because the active value was last read as a whole `reloadMs` ago? */
    isWhole: boolean,
  ) => Loaded<T> | Promise<Loaded<T>>;
}

/** How a value became active. */
interface Applied<T> {
  /** The previously active value. */
  readonly before: T;
  readonly from: "source" | "snapshot";
  /** Is this the first value, or does it have a different origin than the previous value? */
  readonly isOtherOrigin: boolean;
  /** Milliseconds since the source was last known to have this value. */
  readonly ageMs: number;
}

export interface LiveOptions<T> {
  /** The value to use until one is loaded. */
  readonly initial: T;
  readonly source: LiveSource<T>;
  /** Applies a value. Calls never overlap. */
  readonly apply?: (value: T, how: Applied<T>) => void | Promise<void>;
  /** Called after a value was loaded and became active. `current` and `state` are then up to date. */
  readonly onApplied?: (value: T, how: Applied<T>) => void;
  /**
   * Called after each check.
   * @param error the error of this check, if it failed
   * @param before the error of the previous check, if that failed
   */
  readonly onChecked?: (error: Error | undefined, before: Error | undefined) => void;
  /** Milliseconds between two checks. If undefined, checks happen only through `refresh`. */
  readonly pollMs?: number;
  /** Longest wait in milliseconds between two checks while the source fails. It is never less than `pollMs`. */
  readonly longestWaitMs?: number;
  /**
   * Milliseconds after which the value is loaded again even if the version has not changed, for rows edited by hand.
   */
  readonly reloadMs?: number;
  readonly snapshot?: SnapshotFile<T>;
  /** Milliseconds without contact with the source after which the value is stale; by default never. */
  readonly maxStaleMs?: number | undefined;
  readonly onStale?: (isStale: boolean) => void;
  /** Epoch ms. */
  readonly now?: () => number;
}

export interface LiveState {
  /** The version of the active value; undefined until one is loaded. */
  readonly version: string | undefined;
  readonly from: Applied<unknown>["from"] | undefined;
  /** Epoch ms of the last check that succeeded. */
  readonly checkedAt: number | undefined;
  /** Number of failed checks since the last success. */
  readonly failures: number;
  /** The error of the last check, if it failed. */
  readonly error: Error | undefined;
}

/** Default for the longest wait between two checks while the source fails. */
const LONGEST_WAIT_MS = 5_000;
const RELOAD_MS = 60_000;

export class Live<T> {
  /** The active value. Read it once for each request. */
  current: T;
  private readonly options: LiveOptions<T>;
  private readonly now: () => number;
  private readonly checks: Poller;
  private inForce: Loaded<T> | undefined;
  private from: LiveState["from"];
  /** The last version loaded from the source. The version of a snapshot does not count. */
  private sourceVersion: string | undefined;
  private loadedAt = 0;
  private checkedAt: number | undefined;
  private failures = 0;
  private error: Error | undefined;
  private isStale = false;
  private staleTimer: ReturnType<typeof setTimeout> | undefined;
  private isStopped = false;
  private applying: Promise<void> = Promise.resolve();

  constructor(options: LiveOptions<T>) {
    this.options = options;
    this.current = options.initial;
    this.now = options.now ?? Date.now;
    const { pollMs = 0, longestWaitMs = LONGEST_WAIT_MS } = options;
    this.checks = new Poller({
      check: () => this.check(),
      waitMs: () => spread(backoffMs(pollMs, Math.max(pollMs, longestWaitMs), this.failures), this.failures),
    });
  }

  /** Checks now, and keeps checking. Resolves after the first check, whether or not it succeeded. */
  async start(): Promise<void> {
    await this.refresh();
    if (this.from === undefined) await this.useSnapshot();
    if (this.options.pollMs !== undefined) this.checks.schedule();
  }

  /** Checks now. Waits for a running check first, because that check may have missed a change. Never rejects. */
  refresh(): Promise<void> {
    return this.checks.now();
  }

  /** Stops checking; the value remains active. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.staleTimer);
    await this.checks.stop();
  }

  get state(): LiveState {
    const { inForce, from, checkedAt, failures, error } = this;
    return { version: inForce?.version, from, checkedAt, failures, error };
  }

  private async check(): Promise<void> {
    const { source, snapshot, onChecked, reloadMs = RELOAD_MS } = this.options;
    const before = this.error;
    try {
      const version = await source.version?.(this.known);
      const age = this.now() - this.loadedAt;
      const isFresh = age >= 0 && age < reloadMs; // the clock may have been set back
      if (!isFresh || version === undefined || version !== this.sourceVersion) await this.load(isFresh);
    } catch (cause) {
      this.error = cause instanceof Error ? cause : new Error(String(cause));
      this.failures++;
      onChecked?.(this.error, before);
      return;
    }
    this.error = undefined;
    this.failures = 0;
    this.checkedAt = this.now();
    onChecked?.(undefined, before);
    this.confirm(0);
    snapshot?.save(this.inForce!);
  }

  private async load(isFresh: boolean): Promise<void> {
    const active = this.from === "source" ? this.inForce : undefined;
    const loaded = await this.options.source.load(this.known, active, !isFresh);
    const how = await this.apply(loaded, "source", 0);
    this.sourceVersion = loaded.version;
    if (!isFresh || active === undefined) this.loadedAt = this.now();
    this.error = undefined; // a listener that receives the value may read the state
    this.options.onApplied?.(loaded.value, how);
  }

  private readonly known = () => this.inForce ?? this.options.snapshot?.read();

  /** Loads the snapshot after the first check has failed. */
  private async useSnapshot(): Promise<void> {
    const saved = this.options.snapshot?.read();
    if (saved === undefined) return;
    const how = await this.apply(saved, "snapshot", saved.ageMs);
    this.confirm(saved.ageMs);
    this.options.onApplied?.(saved.value, how);
  }

  /** Applies a value after the previous one, so that an older value cannot replace a newer one. */
  private apply(loaded: Loaded<T>, from: Applied<T>["from"], ageMs: number): Promise<Applied<T>> {
    const done = this.applying.then(() => this.putInForce(loaded, from, ageMs));
    this.applying = done.then(
      () => {},
      () => {}, // the caller receives the error
    );
    return done;
  }

  private async putInForce(loaded: Loaded<T>, from: Applied<T>["from"], ageMs: number): Promise<Applied<T>> {
    const how = { before: this.current, from, ageMs, isOtherOrigin: from !== this.from };
    await this.options.apply?.(loaded.value, how);
    this.inForce = loaded;
    this.current = loaded.value;
    this.from = from;
    return how;
  }

  /** Records that the source was known to have the active value this many milliseconds ago. */
  private confirm(ageMs: number): void {
    const { maxStaleMs } = this.options;
    if (maxStaleMs === undefined || this.isStopped) return;
    clearTimeout(this.staleTimer);
    this.setStale(ageMs >= maxStaleMs);
    if (ageMs < maxStaleMs) this.staleTimer = setTimeout(() => this.setStale(true), maxStaleMs - ageMs);
  }

  private setStale(isStale: boolean): void {
    if (isStale === this.isStale) return;
    this.isStale = isStale;
    this.options.onStale?.(isStale);
  }
}

/** After a failure, adds up to a fifth of the wait at random, so that many hosts do not retry at the same time. */
const spread = (ms: number, failures: number) => (failures === 0 ? ms : ms * (1 + Math.random() / 5));
