// usage-recorder.ts: counts lookups and refusals per key and UTC day, and the host's traffic per hour. It stores the
// counts in the background.
//
// While the store is unreachable, counts add up here. A batch of counts keeps its sequence number and its entries until
// the store has confirmed it. The store remembers the sequence number of the last batch that it counted
// (UsageTables.add), so each batch counts only once. A server that crashes loses the counts since the last successful
// flush, which is less than a second of counts while the store is reachable.

import type { EventLog } from "@inkling/contract";
import { messageOf } from "@inkling/data";
import { StoreError } from "@inkling/store/error";
import { DAY_MS, dayOf, hourOf } from "@inkling/store/keys/day";
import { COUNTED, type Counted, type EpochMs, type KeyId, SCOPES } from "@inkling/store/keys/key";
import { sumTraffic, type TrafficCounts } from "@inkling/store/traffic-counts";
import type { UsageBatch, UsageEntry, UsageTables } from "@inkling/store/usage";
import type { AssignedCells } from "./assigned-cells.ts";
import { BackgroundStore } from "./background-store.ts";

const DEFAULTS = {
  now: Date.now as () => EpochMs,
  /**
   * Milliseconds from the start of one flush to the next. Including the flush itself, a crash loses less than a second
   * of counts.
   */
  flushMs: 900,
  /** Milliseconds on a monotonic clock. */
  elapsed: () => performance.now(),
};
/** Maximum hours of traffic that wait while the store is unreachable. */
const MAX_WAITING_HOURS = 48;

export type UsageStore = Pick<UsageTables, "add" | "readQuotas">;

interface UsageRecorderOptions extends Partial<typeof DEFAULTS> {
  readonly store: UsageStore;
  /** Identifies this process in the store. It must never be reused. */
  readonly id?: string;
  /** Identifies this host in the store. It remains the same after a restart. */
  readonly host?: string;
  /** The cells in which threads count. Without them, quotas are not read from the store. */
  readonly cells?: Pick<AssignedCells, "collect" | "takeStored">;
  /** Learns when usage waits because it cannot be stored, when it is stored again, and what is lost in the end. */
  readonly log?: EventLog;
}

/** The counts that wait, by day (in days since 1970) and key. */
type Waiting = Map<number, Map<KeyId, Partial<Record<Counted, number>>>>;

export class UsageRecorder extends BackgroundStore {
  private readonly options: UsageRecorderOptions & typeof DEFAULTS & { readonly id: string };

  /** What is not in a batch yet. */
  private waiting: Waiting = new Map();
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
  /** Was it logged that usage waits? */
  private isReported = false;

  constructor(options: UsageRecorderOptions) {
    super(options.flushMs ?? DEFAULTS.flushMs);
    this.options = { ...DEFAULTS, id: crypto.randomUUID(), ...options };
  }

  /** Reads today's counts, and then flushes regularly. Resolves after the first attempt, successful or not. */
  async start(): Promise<void> {
    await this.flushes.now();
    this.flushes.schedule();
  }

  /** Counts lookups or refusals. */
  record(keyId: KeyId, counted: Counted, now: EpochMs, count = 1): void {
    this.waitingSince ??= this.options.elapsed();
    this.used.add(keyId);
    const day = Math.floor(now / DAY_MS);
    const keys = this.waiting.get(day) ?? new Map();
    const counts = keys.get(keyId) ?? {};
    counts[counted] = (counts[counted] ?? 0) + count;
    this.waiting.set(day, keys.set(keyId, counts));
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

  /** Flushes one last time. @returns the number of lookups that could not be stored and are lost with this process */
  async stop(): Promise<{ lost: number }> {
    await this.flushes.stop();
    await this.flush();
    const { pending: lost, lastError: why } = this.state;
    if (lost > 0) this.options.log?.error("usage-lost", { lookups: lost, why });
    return { lost };
  }

  protected logChange(): void {
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

  /**
   * The current state, including what the cells have counted so far: the lookups that the store has not confirmed, the
   * age of the oldest unconfirmed lookup or refusal (0 if there is none), failed flushes, and whether the last flush
   * failed because the database's disk is full or read-only.
   */
  get state() {
    this.options.cells?.collect(this, this.options.now());
    let pending = 0;
    for (const { lookup, count } of this.batch?.entries ?? []) if (LOOKUPS.has(lookup)) pending += count;
    for (const keys of this.waiting.values())
      for (const counts of keys.values()) for (const scope of SCOPES) pending += counts[scope] ?? 0;
    const { failures, failuresInRow } = this;
    const lastError = this.lastError === undefined ? undefined : messageOf(this.lastError);
    const isReadOnly = this.lastError instanceof StoreError && this.lastError.isReadOnly;
    const oldest = this.sendingSince ?? this.waitingSince;
    const oldestMs = oldest === undefined ? 0 : this.options.elapsed() - oldest;
    return { pending, oldestMs, failures, failuresInRow, lastError, isReadOnly };
  }

  protected async sendAll(): Promise<void> {
    try {
      this.options.cells?.collect(this, this.options.now());
      await this.send(); // a batch that failed before is sent first, unchanged
      this.makeBatch();
      await this.send();
      await this.readToday();
    } catch (error) {
      this.failures++;
      throw error;
    }
  }

  /** Moves all waiting counts into a batch. */
  private makeBatch(): void {
    const entries = entriesOf(this.waiting);
    this.waiting = new Map();
    const host = this.options.host ?? this.options.id;
    const traffic = Array.from(this.traffic, ([hour, counts]) => ({ host, hour, counts }));
    this.traffic.clear();
    if (entries.length === 0 && traffic.length === 0) return;
    this.batch = { recorder: this.options.id, sequence: ++this.sequence, entries, traffic };
    this.sendingSince = this.waitingSince;
    this.waitingSince = undefined;
  }

  private async send(): Promise<void> {
    if (this.batch === undefined) return;
    await this.options.store.add(this.batch);
    this.batch = undefined;
    this.sendingSince = undefined;
  }

  /** Reads what all hosts have counted today for the keys in use, or at first for all keys. */
  private async readToday(): Promise<void> {
    const { cells } = this.options;
    const { used, hasRead } = this;
    if (cells === undefined || (hasRead && used.size === 0)) return;
    const day = Math.floor(this.options.now() / DAY_MS);
    this.used = new Set();
    let totals: ReadonlyMap<KeyId, number>;
    try {
      totals = await this.options.store.readQuotas(dayOf(day * DAY_MS), hasRead ? [...used] : undefined);
    } catch (error) {
      for (const keyId of used) this.used.add(keyId);
      throw error;
    }
    this.hasRead = true;
    for (const [keyId, stored] of totals) cells.takeStored(keyId, stored, day * DAY_MS);
  }
}

function entriesOf(waiting: Waiting): UsageEntry[] {
  return Array.from(waiting).flatMap(([number, keys]) => {
    const day = dayOf(number * DAY_MS);
    return Array.from(keys).flatMap(([keyId, counts]) =>
      COUNTED.flatMap((lookup) => {
        const count = counts[lookup];
        return count === undefined ? [] : [{ keyId, day, lookup, count }];
      }),
    );
  });
}

const LOOKUPS: ReadonlySet<Counted> = new Set(SCOPES);
