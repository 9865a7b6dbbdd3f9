// usage-recorder.ts: counts lookups and refusals per key and UTC day, and the host's traffic per hour. It stores the
// counts in the background.
//
// Cost: a count takes one Map access and one addition. Memory: one tally for each key used today, and for each key of a
// day that is not stored yet.
//
// While the store is unreachable, counts add up here. A batch of counts keeps its sequence number and its entries until
// the store has confirmed it. The store remembers the sequence number of the last batch that it counted
// (UsageTables.add), so each batch counts only once. A server that crashes loses the counts since the last successful
// flush, which is less than a second of counts while the store is reachable.

import { type EventLog, recordOf } from "@inkling/contract";
import { backoffMs, messageOf, Poller } from "@inkling/data";
import { StoreError } from "@inkling/store/error";
import { DAY_MS, dayOf, hourOf } from "@inkling/store/keys/day";
import { COUNTED, type Counted, type EpochMs, type KeyId, SCOPES } from "@inkling/store/keys/key";
import { sumTraffic, type TrafficCounts } from "@inkling/store/traffic-counts";
import type { UsageBatch, UsageEntry } from "@inkling/store/usage";
import type { UsageSink } from "./usage-collector.ts";

/**
 * Milliseconds from the start of one flush to the next. Including the flush itself, a crash loses less than a second of
 * counts.
 */
const FLUSH_MS = 900;
/** Maximum hours of traffic that wait while the store is unreachable. */
const MAX_WAITING_HOURS = 48;
/** Maximum milliseconds between two attempts while the store is unreachable. */
const MAX_BACKOFF_MS = 5_000;

export interface UsageStore {
  add(batch: UsageBatch): Promise<boolean>;
  readQuotas(day: string, keyIds?: readonly KeyId[]): Promise<Map<KeyId, number>>;
}

interface UsageCells {
  /** Records the counts. Called at each flush, even while the store is unreachable, and before the state is read. */
  collect(sink: UsageSink, now: EpochMs): void;
  /**
   * Called in a successful flush for each key that was used since the last one, with its lookups of today if it has a
   * quota; at the first flush, for all keys with a quota and lookups today.
   * @param now a time on the day of these lookups
   */
  takeStored(keyId: KeyId, stored: number, now: EpochMs): void;
}

interface UsageRecorderOptions {
  readonly store: UsageStore;
  readonly now?: () => EpochMs;
  /** Identifies this process in the store. It must never be reused. */
  readonly id?: string;
  /** Identifies this host in the store. It remains the same after a restart. */
  readonly host?: string;
  readonly flushMs?: number;
  /** The cells in which threads count. Without them, quotas are not read from the store. */
  readonly cells?: UsageCells;
  /** Learns when usage waits because it cannot be stored, when it is stored again, and what is lost in the end. */
  readonly log?: EventLog;
  /** Milliseconds on a monotonic clock. */
  readonly elapsed?: () => number;
}

/** The recorder's state, for metrics, readiness and logs. */
export interface UsageState {
  /** Lookups recorded, but not yet confirmed by the store. */
  readonly pending: number;
  /** Milliseconds since the oldest unconfirmed lookup or refusal was recorded; 0 if there is none. */
  readonly oldestMs: number;
  /** Failed flushes since startup. */
  readonly failures: number;
  /** Consecutive failed flushes since the last success. */
  readonly failuresInRow: number;
  /** Time of the last successful flush. */
  readonly flushedAt: EpochMs | undefined;
  /** Why the last flush failed, without secrets; undefined if it succeeded. */
  readonly lastError: string | undefined;
  /** Did the last flush fail because the database's disk is full or read-only? */
  readonly isReadOnly: boolean;
}

/** The counts of one key on one day. */
class Tally {
  readonly counts = recordOf(COUNTED, () => 0);
  /** Lookups sent, but not yet confirmed. */
  sending = 0;

  /** Lookups not yet sent. */
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

  /** By UTC day, in days since 1970: today's counts, and counts of earlier days until they are stored. */
  private readonly days = new Map<number, Tallies>();
  private day = Number.NaN;
  private today: Tallies = new Map();

  /** Keys that were used since the day's lookups were last read. */
  private used = new Set<KeyId>();
  private hasRead = false;

  /** Traffic by hour, not yet sent. */
  private readonly traffic = new Map<string, TrafficCounts>();

  private sequence = 0;
  private batch: UsageBatch | undefined;
  /** The times, in `elapsed` ms, when the oldest waiting count and the oldest count in the batch were recorded. */
  private waitingSince: number | undefined;
  private sendingSince: number | undefined;
  private failures = 0;
  private failuresInRow = 0;
  private flushedAt: EpochMs | undefined;
  private lastError: unknown;
  /** Was it logged that usage waits? */
  private isReported = false;

  private queue: Promise<boolean> = Promise.resolve(true);
  private readonly flushes: Poller;
  /** Duration of the last flush in milliseconds. */
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

  /** Reads today's counts, and then flushes regularly. Resolves after the first attempt, successful or not. */
  async start(): Promise<void> {
    await this.flushes.now();
    this.flushes.schedule();
  }

  /** Counts lookups or refusals. */
  record(keyId: KeyId, counted: Counted, now: EpochMs, count = 1): void {
    this.waitingSince ??= this.elapsed();
    this.used.add(keyId);
    this.tally(keyId, now).counts[counted] += count;
  }

  /** Reads a key's lookups at the next flush, because its quota has changed. */
  readAgain(keyId: KeyId): void {
    this.used.add(keyId);
  }

  /** Adds traffic to the hour of `at`. It does not affect `oldestMs`, because nobody needs these counts immediately. */
  recordTraffic(counts: TrafficCounts, at: EpochMs): void {
    const hour = hourOf(at);
    const before = this.traffic.get(hour);
    this.traffic.set(hour, sumTraffic(before === undefined ? [counts] : [before, counts]));
    const [oldest] = this.traffic.keys();
    if (oldest !== undefined && this.traffic.size > MAX_WAITING_HOURS) this.traffic.delete(oldest);
  }

  /**
   * Stores everything that has been recorded so far.
   * @returns whether it is stored; never rejects
   */
  flush(): Promise<boolean> {
    this.queue = this.queue
      .then(() => this.cycle())
      .then((isStored) => {
        this.logChange();
        return isStored;
      });
    return this.queue;
  }

  /** Flushes one last time. @returns the number of lookups that could not be stored and are lost with this process */
  async stop(): Promise<{ lost: number }> {
    await this.flushes.stop();
    await this.flush();
    const { pending: lost, lastError: why } = this.state;
    if (lost > 0) this.options.log?.error("usage-lost", { lookups: lost, why });
    return { lost };
  }

  private logChange(): void {
    const { log } = this.options;
    if (log === undefined) return;
    const { failuresInRow, pending, lastError: reason } = this.state;
    if (failuresInRow > 0 && pending > 0 && !this.isReported) {
      log.error("usage-not-stored", { reason, lookups: pending });
      this.isReported = true;
    } else if (failuresInRow === 0 && this.isReported) {
      log.info("usage-stored-again");
      this.isReported = false;
    }
  }

  /** The current state, including what the cells have counted so far. */
  get state(): UsageState {
    this.options.cells?.collect(this, this.now());
    let pending = 0;
    for (const tallies of this.days.values()) {
      for (const tally of tallies.values()) pending += tally.sending + tally.waiting;
    }
    const { failures, failuresInRow, flushedAt } = this;
    const lastError = this.lastError === undefined ? undefined : messageOf(this.lastError);
    const isReadOnly = this.lastError instanceof StoreError && this.lastError.isReadOnly;
    const oldest = this.sendingSince ?? this.waitingSince;
    const oldestMs = oldest === undefined ? 0 : this.elapsed() - oldest;
    return { pending, oldestMs, failures, failuresInRow, flushedAt, lastError, isReadOnly };
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
      this.options.cells?.collect(this, this.now());
      await this.send(); // a batch that failed before is sent first, unchanged
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
      this.lastError = error;
      return false;
    }
  }

  /** Moves all waiting counts into a batch. */
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
      for (const tally of tallies.values()) tally.sending = 0;
    }
  }

  /** Forgets other days whose counts are stored. */
  private forget(): void {
    for (const [day, tallies] of this.days) {
      if (day !== this.day && isStored(tallies)) this.days.delete(day);
    }
  }

  /** Reads what all hosts have counted today for the keys in use, or at first for all keys. */
  private async readToday(): Promise<void> {
    const { cells } = this.options;
    const { used, hasRead } = this;
    if (cells === undefined || (hasRead && used.size === 0)) return;
    const day = Math.floor(this.now() / DAY_MS);
    this.used = new Set();
    let totals: ReadonlyMap<KeyId, number>;
    try {
      totals = await this.store.readQuotas(dayOf(day * DAY_MS), hasRead ? [...used] : undefined);
    } catch (error) {
      for (const keyId of used) this.used.add(keyId);
      throw error;
    }
    this.hasRead = true;
    for (const [keyId, stored] of totals) cells.takeStored(keyId, stored, day * DAY_MS);
  }
}

/** Moves the waiting counts of a tally into entries. */
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
