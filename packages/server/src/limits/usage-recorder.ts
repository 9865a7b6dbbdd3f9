// usage-recorder.ts: counts look-ups and refusals per key and UTC day, and brings the counts to the store in the background.
//
// in   a key, a look-up or why it was refused, the time
// out  counts in the store; how many look-ups a key made today, and how many more its quota allows
// err  record, countToday and takeQuota never throw or wait; a store that is away is tried again, and `state` says so
// cost record one Map look-up and one addition; memory one tally for each key and day not yet stored
//
// Nothing is lost while the store is away: counts stay here and grow in place. Nothing counts twice: a batch that
// was sent keeps its number and its entries until the store has confirmed it, and the store knows the number of
// the last batch that it counted (Store.addUsage). A process that is killed loses what it counted since the last
// flush: less than a second.

import { randomUUID } from "node:crypto";
import { COUNTED, type Counted, isScope, type Key } from "../keys/key.ts";
import type { UsageBatch, UsageEntry } from "../store/store.ts";
import { DAY_MS } from "./cells.ts";

/** From start to start of a flush: with the flush's own time, less than a second is at risk. */
const FLUSH_MS = 900;
/** Longest wait between two tries while the store is away. */
const MAX_BACKOFF_MS = 5_000;

/** What a recorder needs of the store. */
export interface UsageSink {
  addUsage(batch: UsageBatch): Promise<boolean>;
  quotaUsage(day: string): Promise<Map<string, number>>;
}

export interface UsageRecorderOptions {
  readonly store: UsageSink;
  /** Epoch ms. */
  readonly now?: () => number;
  /** Names this process in the store; never used before. */
  readonly id?: string;
  readonly flushMs?: number;
  /** Called before each flush: the time to record what was counted elsewhere in this machine. */
  readonly collect?: (recorder: UsageRecorder) => void;
  /** Told after each flush what a key with a quota used today: `stored` in all, `foreign` by other recorders. */
  readonly onUsed?: (keyId: string, used: { now: number; stored: number; foreign: number }) => void;
}

/** How the recorder is doing, for metrics and logs. */
export interface UsageState {
  /** Look-ups counted here and not yet confirmed by the store. */
  readonly pending: number;
  /** Failed flushes since the start. */
  readonly failures: number;
  /** Failed flushes since the last one that succeeded. */
  readonly failuresInRow: number;
  /** Epoch ms of the last flush that succeeded. */
  readonly flushedAt: number | undefined;
  /** Why the last flush failed, without secrets; undefined when it did not. */
  readonly lastError: string | undefined;
}

/** One key on one day. */
class Tally {
  geolocate = 0;
  reputation = 0;
  email = 0;
  not_allowed = 0;
  rate_limited = 0;
  quota_exceeded = 0;
  /** Sent, and not yet confirmed. */
  sending = 0;
  /** In the store, by this and all other processes, as last read. */
  stored = 0;
  /** Confirmed by the store: this recorder's part of `stored`. */
  confirmed = 0;
  /** Taken from the quota, and not yet recorded or given back. */
  taken = 0;

  /** Look-ups. */
  get waiting(): number {
    return this.geolocate + this.reputation + this.email;
  }

  get isStored(): boolean {
    return COUNTED.every((counted) => this[counted] === 0);
  }
}

type Tallies = Map<string, Tally>;

export class UsageRecorder {
  private readonly store: UsageSink;
  private readonly now: () => number;
  private readonly id: string;
  private readonly flushMs: number;
  private readonly options: UsageRecorderOptions;

  /** By UTC day number; today's, and those of earlier days until they are stored. */
  private readonly days = new Map<number, Tallies>();
  private day = Number.NaN;
  private today: Tallies = new Map();

  private sequence = 0;
  private batch: UsageBatch | undefined;
  private failures = 0;
  private failuresInRow = 0;
  private flushedAt: number | undefined;
  private lastError: string | undefined;

  private queue: Promise<boolean> = Promise.resolve(true);
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isStopped = false;

  constructor(options: UsageRecorderOptions) {
    this.options = options;
    this.store = options.store;
    this.now = options.now ?? Date.now;
    this.id = options.id ?? randomUUID();
    this.flushMs = options.flushMs ?? FLUSH_MS;
  }

  /** Reads today's counts, and goes on flushing. Resolves after the first try, whether it succeeded or not. */
  async start(): Promise<void> {
    await this.flush();
    this.schedule(this.flushMs);
  }

  /**
   * Counts look-ups, or what was refused.
   * @param now epoch ms
   */
  record(keyId: string, counted: Counted, now: number, count = 1): void {
    const tally = this.tally(keyId, now);
    tally[counted] += count;
    if (tally.taken > 0 && isScope(counted)) tally.taken = Math.max(0, tally.taken - count);
  }

  /**
   * Takes look-ups from the key's quota for this UTC day: so many may be recorded, or given back.
   * @param now epoch ms
   * @returns how many, `most` at most; `most` when the key has no quota
   */
  takeQuota({ id, quota }: Pick<Key, "id" | "quota">, now: number, most: number): number {
    if (quota === undefined) return most;
    const taken = Math.min(most, Math.max(0, quota - this.countToday(id, now)));
    this.tally(id, now).taken += taken;
    return taken;
  }

  /** Gives back what was taken from the quota and is not recorded. */
  giveQuotaBack({ id, quota }: Pick<Key, "id" | "quota">, now: number, count: number): void {
    if (quota === undefined) return;
    const tally = this.tally(id, now);
    tally.taken = Math.max(0, tally.taken - count);
  }

  /**
   * Look-ups that a key with a quota made on this UTC day, in all processes; those of other processes as of the
   * last flush, about a second ago. While the store was never reached: those of this process.
   * @param now epoch ms
   */
  countToday(keyId: string, now: number): number {
    const tally = this.tally(keyId, now);
    return tally.stored + tally.sending + tally.waiting + tally.taken;
  }

  /**
   * Brings everything recorded until now to the store.
   * @returns whether it is there; never rejects
   */
  flush(): Promise<boolean> {
    this.queue = this.queue.then(() => this.cycle());
    return this.queue;
  }

  /** Flushes for the last time. @returns look-ups that could not be stored and are lost with this process */
  async stop(): Promise<{ lost: number }> {
    this.isStopped = true;
    clearTimeout(this.timer);
    await this.flush();
    return { lost: this.state.pending };
  }

  get state(): UsageState {
    let pending = 0;
    for (const tallies of this.days.values()) {
      for (const tally of tallies.values()) pending += tally.sending + tally.waiting;
    }
    const { failures, failuresInRow, flushedAt, lastError } = this;
    return { pending, failures, failuresInRow, flushedAt, lastError };
  }

  private tally(keyId: string, now: number): Tally {
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

  private schedule(wait: number): void {
    if (this.isStopped) return;
    this.timer = setTimeout(() => {
      const started = performance.now();
      void this.flush().then((isStored) => {
        const backOff = Math.min(this.flushMs * 2 ** this.failuresInRow, MAX_BACKOFF_MS);
        this.schedule(isStored ? Math.max(0, this.flushMs - (performance.now() - started)) : backOff);
      });
    }, wait);
  }

  private async cycle(): Promise<boolean> {
    try {
      await this.send(); // a batch that failed before goes first, as it was
      this.options.collect?.(this);
      this.collect();
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
      this.lastError = error instanceof Error ? error.message : String(error);
      return false;
    }
  }

  /** Moves what waits into a batch. */
  private collect(): void {
    const entries: UsageEntry[] = [];
    for (const [day, tallies] of this.days) {
      for (const [keyId, tally] of tallies) {
        if (!tally.isStored) drain(tally, keyId, dayText(day), entries);
      }
    }
    if (entries.length > 0) this.batch = { recorder: this.id, sequence: ++this.sequence, entries };
  }

  private async send(): Promise<void> {
    if (this.batch === undefined) return;
    await this.store.addUsage(this.batch);
    this.batch = undefined;
    for (const tallies of this.days.values()) {
      for (const tally of tallies.values()) {
        tally.stored += tally.sending;
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

  /** What other processes counted comes in here. Nothing is being sent: so `stored` can be replaced. */
  private async readToday(): Promise<void> {
    const day = Math.floor(this.now() / DAY_MS);
    const totals = await this.store.quotaUsage(dayText(day));
    if (day !== this.day) this.turnTo(day);
    for (const [keyId, stored] of totals) {
      const tally = this.tally(keyId, day * DAY_MS);
      tally.stored = stored;
      this.options.onUsed?.(keyId, { now: day * DAY_MS, stored, foreign: stored - tally.confirmed });
    }
  }
}

/** Moves what a tally waits with into entries. */
function drain(tally: Tally, keyId: string, day: string, entries: UsageEntry[]): void {
  tally.sending = tally.waiting;
  for (const lookup of COUNTED) {
    if (tally[lookup] === 0) continue;
    entries.push({ keyId, day, lookup, count: tally[lookup] });
    tally[lookup] = 0;
  }
}

function isStored(tallies: Tallies): boolean {
  for (const tally of tallies.values()) if (!tally.isStored) return false;
  return true;
}

/** "2026-06-01" of a UTC day number. */
function dayText(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}
