// live.ts: a value that changes while a process runs, as keys and overrides do.
//
// in   a source: its version again and again, and its value when the version is another one; a notice (`refresh`) in between
// out  `current`, handed to `apply`; `state` for metrics, readiness and logs; a snapshot file, for a start while the source
//      fails
// err  none: a source that fails leaves the active value, and is asked less often; a value that `apply` throws for is not
//      active, and is loaded again with the next check

import { aborted } from "./aborted.ts";
import { backoffMs } from "./backoff.ts";
import type { Loaded } from "./loaded.ts";
import { Poller } from "./poller.ts";
import type { SnapshotFile } from "./snapshot-file.ts";

export interface LiveSource<T> {
  /**
   * Changes whenever the value does; without one, the check loads.
   * @param known what is active or, before the first load, what the snapshot has
   */
  readonly version?: (known: () => Loaded<T> | undefined) => string | undefined | Promise<string>;
  readonly load: (known: () => Loaded<T> | undefined) => Loaded<T> | Promise<Loaded<T>>;
}

/** How a value came to be active. */
interface Applied<T> {
  /** What was active. */
  readonly before: T;
  readonly from: "source" | "snapshot";
  /** Does the value come from elsewhere than the one before, or is it the first? */
  readonly isOtherOrigin: boolean;
  /** Milliseconds since the source had it. */
  readonly ageMs: number;
}

export interface LiveOptions<T> {
  /** Until something is loaded. */
  readonly initial: T;
  readonly source: LiveSource<T>;
  /** Applies a value; called with one value after the other. */
  readonly apply?: (value: T, how: Applied<T>) => void | Promise<void>;
  /** Called when a value was loaded and is active, with `current` and `state` up to date. */
  readonly onApplied?: (value: T, how: Applied<T>) => void;
  /**
   * Called after each check.
   * @param error of this check, if it failed
   * @param before of the check before
   */
  readonly onChecked?: (error: Error | undefined, before: Error | undefined) => void;
  /** Milliseconds between two checks; without it, there are those that are asked for with `refresh`, only. */
  readonly pollMs?: number;
  /** Longest wait between two checks while the source fails; `pollMs` when that is longer. */
  readonly longestWaitMs?: number;
  /** The value is loaded again after this long, although the version is the same: for rows changed by hand. */
  readonly reloadMs?: number;
  readonly snapshot?: SnapshotFile<T>;
  /** The value is stale once the source was not reached for so long; never by default. */
  readonly maxStaleMs?: number | undefined;
  readonly onStale?: (isStale: boolean) => void;
  /** Epoch ms. */
  readonly now?: () => number;
}

export interface LiveState {
  /** Undefined while nothing was loaded. */
  readonly version: string | undefined;
  readonly from: Applied<unknown>["from"] | undefined;
  /** Epoch ms of the last check that succeeded. */
  readonly checkedAt: number | undefined;
  /** Checks that failed since then. */
  readonly failures: number;
  /** Of the last check, if it failed. */
  readonly error: Error | undefined;
}

/** Longest wait between two checks of a source that fails. */
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
  /** What the source has: a snapshot's is not believed to be the source's. */
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

  /** Checks now and continues checking. Resolves after the first check, whether it succeeded or not. */
  async start(): Promise<void> {
    await this.refresh();
    if (this.from === undefined) await this.useSnapshot();
    if (this.options.pollMs !== undefined) this.checks.schedule();
  }

  /** Checks now, after a check that is under way, which may have missed a change. Never rejects. */
  refresh(): Promise<void> {
    return this.checks.now();
  }

  /** Hands what is active to `apply` again, because something else that it depends on has changed. */
  async applyAgain(): Promise<void> {
    await this.inTurn(async () => {
      if (this.inForce !== undefined) await this.putInForce(this.inForce, this.from!, 0);
    });
  }

  /** As {@link start}, until `signal` is aborted. */
  async runUntil(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await this.start();
    await aborted(signal);
    await this.stop();
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
      if (!isFresh || version === undefined || version !== this.sourceVersion) await this.load();
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

  private async load(): Promise<void> {
    const loaded = await this.options.source.load(this.known);
    const how = await this.apply(loaded, "source", 0);
    this.sourceVersion = loaded.version;
    this.loadedAt = this.now();
    this.error = undefined; // who is told of the value may ask for the state
    this.options.onApplied?.(loaded.value, how);
  }

  private readonly known = () => this.inForce ?? this.options.snapshot?.read();

  /** After a first check that failed. */
  private async useSnapshot(): Promise<void> {
    const saved = this.options.snapshot?.read();
    if (saved === undefined) return;
    const how = await this.apply(saved, "snapshot", saved.ageMs);
    this.confirm(saved.ageMs);
    this.options.onApplied?.(saved.value, how);
  }

  private apply(loaded: Loaded<T>, from: Applied<T>["from"], ageMs: number): Promise<Applied<T>> {
    return this.inTurn(() => this.putInForce(loaded, from, ageMs));
  }

  /** One after the other: what `apply` left out meanwhile must not come back. */
  private inTurn<R>(act: () => Promise<R>): Promise<R> {
    const done = this.applying.then(act);
    this.applying = done.then(
      () => {},
      () => {}, // the caller gets the error
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

  /** What is active was what the source had so long ago. */
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

/** After a failure chance adds up to a fifth: it keeps many hosts from asking at the same time. */
const spread = (ms: number, failures: number) => (failures === 0 ? ms : ms * (1 + Math.random() / 5));
