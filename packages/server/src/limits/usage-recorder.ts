// usage-recorder.ts: counts lookups and refusals per key and UTC day, and the host's traffic per hour, and brings the counts
// to the store in the background.
//
// in   a key, a lookup or why it was refused, the time
// out  counts in the store; how many lookups the store has of each key with a quota
// err  record never throws or waits; a store that is unreachable is tried again; see `state`
// cost record one Map access and one addition; memory one tally for each key and day not yet stored
//
// While the store is unreachable, counts remain here and add up. A batch that was sent keeps its number and its entries until the
// store has confirmed it, and the store knows the number of the last batch that it counted (UsageTables.add): so it counts
// once. A process that is killed loses what was counted since the last flush, less than a second.

import { recordOf } from "@inkling/contract";
import { backoffMs, messageOf, Poller } from "@inkling/release-store";
import { DAY_MS, dayOf, hourOf } from "../keys/day.ts";
import { COUNTED, type Counted, type EpochMs, type KeyId, SCOPES } from "../keys/key.ts";
import type { UsageBatch, UsageEntry } from "../store/usage.ts";
import { sumTraffic, type TrafficCounts } from "../telemetry/traffic.ts";
import type { StoredUsage, UsageSink } from "./usage-collector.ts";

/** From start to start of a flush: with the flush's own time, less than a second is at risk. */
const FLUSH_MS = 900;
/** Hours of traffic that wait at most while the store is unreachable. */
const MAX_WAITING_HOURS = 48;
/** Longest wait between two tries while the store is unreachable. */
const MAX_BACKOFF_MS = 5_000;

export interface UsageStore {
  add(batch: UsageBatch): Promise<boolean>;
  readQuotas(day: string): Promise<Map<KeyId, number>>;
}

interface UsageRecorderOptions {
  readonly store: UsageStore;
  readonly now?: () => EpochMs;
  /** Names this process in the store; never used before. */
  readonly id?: string;
  /** Names this host in the store: the same after a restart. */
  readonly host?: string;
  readonly flushMs?: number;
  /** Called with each flush, also while the store is unreachable: records what was counted in cells. */
  readonly collect?: (sink: UsageSink) => void;
  /** Called after each flush, with what the store has of today, before `onStored`. */
  readonly onToday?: (now: EpochMs, stored: ReadonlyMap<KeyId, number>) => void;
  /** Called after each flush for each key with a quota. */
  readonly onStored?: (keyId: KeyId, usage: StoredUsage) => void;
  /** Called after each flush, whether it succeeded or not. */
  readonly onFlush?: (state: UsageState) => void;
  /** Milliseconds of a monotonic clock. */
  readonly elapsed?: () => number;
}

/** For metrics, readiness and logs. */
export interface UsageState {
  /** Lookups recorded and not yet confirmed by the store. */
  readonly pending: number;
  /** Since the oldest lookup or refusal was recorded that is not confirmed; 0 without one. */
  readonly oldestMs: number;
  /** Failed flushes since the start. */
  readonly failures: number;
  /** Failed flushes since the last one that succeeded. */
  readonly failuresInRow: number;
  /** When the last flush succeeded. */
  readonly flushedAt: EpochMs | undefined;
  /** Why the last flush failed, without secrets; undefined if it did not. */
  readonly lastError: string | undefined;
}

/** One key on one day. */
class Tally {
  readonly counts = recordOf(COUNTED, () => 0);
  /** Sent, and not yet confirmed. */
  sending = 0;
  /** Confirmed by the store. */
  confirmed = 0;

  /** Lookups. */
  get waiting(): number {
    return SCOPES.reduce((sum, scope) => sum + this.counts[scope], 0);
  }

  get isStored(): boolean {
    return COUNTED.every((counted) => this.counts[counted] === 0);
  }
}

type Tallies = Map<KeyId, Tally>;

export class UsageRecorder {
  private readonly store: UsageStore;
  private readonly now: () => EpochMs;
  private readonly id: string;
  private readonly flushMs: number;
  private readonly elapsed: () => number;
  private readonly options: UsageRecorderOptions;

  /** By UTC day number: today's counts, and counts of earlier days until they are stored. */
  private readonly days = new Map<number, Tallies>();
  private day = Number.NaN;
  private today: Tallies = new Map();

  /** Not sent yet, by hour. */
  private readonly traffic = new Map<string, TrafficCounts>();

  private sequence = 0;
  private batch: UsageBatch | undefined;
  /** When the oldest was recorded that waits, and the oldest of the batch; in ms of `elapsed`. */
  private waitingSince: number | undefined;
  private sendingSince: number | undefined;
  private failures = 0;
  private failuresInRow = 0;
  private flushedAt: EpochMs | undefined;
  private lastError: string | undefined;

  private queue: Promise<boolean> = Promise.resolve(true);
  private readonly flushes: Poller;
  /** How long the last flush took, in ms. */
  private tookMs = 0;

  constructor(options: UsageRecorderOptions) {
    this.options = options;
    this.store = options.store;
    this.now = options.now ?? Date.now;
    this.id = options.id ?? crypto.randomUUID();
    this.flushMs = options.flushMs ?? FLUSH_MS;
    this.elapsed = options.elapsed ?? (() => performance.now());
    this.flushes = new Poller({
      check: async () => {
        const started = performance.now();
        await this.flush();
        this.tookMs = performance.now() - started;
      },
      waitMs: () =>
        this.failuresInRow === 0
          ? Math.max(0, this.flushMs - this.tookMs)
          : backoffMs(this.flushMs, MAX_BACKOFF_MS, this.failuresInRow),
    });
  }

  /** Reads today's counts, and continues flushing. Resolves after the first try, whether it succeeded or not. */
  async start(): Promise<void> {
    await this.flushes.now();
    this.flushes.schedule();
  }

  /** Counts lookups, or refusals. */
  record(keyId: KeyId, counted: Counted, now: EpochMs, count = 1): void {
    this.waitingSince ??= this.elapsed();
    this.tally(keyId, now).counts[counted] += count;
  }

  /** Adds traffic to the hour of `at`. Its readers wait for it, so no one is told when it is late. */
  recordTraffic(counts: TrafficCounts, at: EpochMs): void {
    const hour = hourOf(at);
    const before = this.traffic.get(hour);
    this.traffic.set(hour, sumTraffic(before === undefined ? [counts] : [before, counts]));
    const [oldest] = this.traffic.keys();
    if (oldest !== undefined && this.traffic.size > MAX_WAITING_HOURS) this.traffic.delete(oldest);
  }

  /**
   * Brings everything recorded until now to the store.
   * @returns whether it is there; never rejects
   */
  flush(): Promise<boolean> {
    this.queue = this.queue
      .then(() => this.cycle())
      .then((isStored) => {
        this.options.onFlush?.(this.state);
        return isStored;
      });
    return this.queue;
  }

  /** Flushes for the last time. @returns lookups that could not be stored and are lost with this process */
  async stop(): Promise<{ lost: number }> {
    await this.flushes.stop();
    await this.flush();
    return { lost: this.state.pending };
  }

  /** What was counted in cells until now included. */
  get state(): UsageState {
    this.options.collect?.(this);
    let pending = 0;
    for (const tallies of this.days.values()) {
      for (const tally of tallies.values()) pending += tally.sending + tally.waiting;
    }
    const { failures, failuresInRow, flushedAt, lastError } = this;
    const oldest = this.sendingSince ?? this.waitingSince;
    const oldestMs = oldest === undefined ? 0 : this.elapsed() - oldest;
    return { pending, oldestMs, failures, failuresInRow, flushedAt, lastError };
  }

  private tally(keyId: KeyId, now: EpochMs): Tally {
    const day = Math.floor(now / DAY_MS);
    if (day !== this.day) this.turnTo(day);
    let tally = this.today.get(keyId);
    if (tally === undefined) {
      tally = new Tally();
      this.today.set(keyId, tally);
    }
    return tally;
  }

  private turnTo(day: number): void {
    this.day = day;
    this.today = this.days.get(day) ?? new Map();
    this.days.set(day, this.today);
  }

  private async cycle(): Promise<boolean> {
    try {
      this.options.collect?.(this);
      await this.send(); // a batch that failed before goes first, as it was
      this.makeBatch();
      await this.send();
      await this.readToday();
      this.forget();
      this.failuresInRow = 0;
      this.flushedAt = this.now();
      this.lastError = undefined;
      return true;
    } catch (error) {
      this.failures++;
      this.failuresInRow++;
      this.lastError = messageOf(error);
      return false;
    }
  }

  /** Moves what waits into a batch. */
  private makeBatch(): void {
    const entries: UsageEntry[] = [];
    for (const [day, tallies] of this.days) {
      for (const [keyId, tally] of tallies) {
        if (!tally.isStored) drain(tally, keyId, dayOf(day * DAY_MS), entries);
      }
    }
    const host = this.options.host ?? this.id;
    const traffic = Array.from(this.traffic, ([hour, counts]) => ({ host, hour, counts }));
    this.traffic.clear();
    if (entries.length === 0 && traffic.length === 0) return;
    this.batch = { recorder: this.id, sequence: ++this.sequence, entries, traffic };
    this.sendingSince = this.waitingSince;
    this.waitingSince = undefined;
  }

  private async send(): Promise<void> {
    if (this.batch === undefined) return;
    await this.store.add(this.batch);
    this.batch = undefined;
    this.sendingSince = undefined;
    for (const tallies of this.days.values()) {
      for (const tally of tallies.values()) {
        tally.confirmed += tally.sending;
        tally.sending = 0;
      }
    }
  }

  /** Forgets earlier days that are in the store. */
  private forget(): void {
    for (const [day, tallies] of this.days) {
      if (day !== this.day && isStored(tallies)) this.days.delete(day);
    }
  }

  /** Reads what all processes counted. Nothing is being sent meanwhile: what is not confirmed is of other recorders. */
  private async readToday(): Promise<void> {
    const { onStored, onToday } = this.options;
    if (onStored === undefined) return;
    const day = Math.floor(this.now() / DAY_MS);
    const totals = await this.store.readQuotas(dayOf(day * DAY_MS));
    if (day !== this.day) this.turnTo(day);
    onToday?.(this.now(), totals);
    for (const [keyId, stored] of totals) {
      const confirmed = this.today.get(keyId)?.confirmed ?? 0;
      onStored(keyId, { now: day * DAY_MS, stored, foreign: stored - confirmed });
    }
  }
}

/** Moves what a tally waits with into entries. */
function drain(tally: Tally, keyId: KeyId, day: string, entries: UsageEntry[]): void {
  tally.sending = tally.waiting;
  for (const lookup of COUNTED) {
    const count = tally.counts[lookup];
    if (count === 0) continue;
    entries.push({ keyId, day, lookup, count });
    tally.counts[lookup] = 0;
  }
}

function isStored(tallies: Tallies): boolean {
  for (const tally of tallies.values()) if (!tally.isStored) return false;
  return true;
}
