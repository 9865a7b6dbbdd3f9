// group-counts.ts: lets the hosts of a group keep one rate per key together. Each host counts on its own, and charges
// its bucket with what the others took.
//
// A request that was not answered is sent again, unchanged, and the group counts it once. Cost: one ledger for each key
// that this host has used since it started.
//
// A host learns what the others took only at its next exchange. Until then, each host may use the whole limit, so the
// group exceeds a key's limit by at most what it takes between two exchanges. What was too much is then owed: a bucket
// may lack more than its size. A debt ends only if the key's limits change or the clock is set, and what was taken while
// this host was cut off is not charged.
//
// A bucket that was full has let tokens overflow. A single bucket for the whole group would have used these tokens for
// what the others took in that time. They are therefore deducted from the charge, each of them once. Otherwise the
// group would refuse requests below the limit.

import type { EpochMs, KeyId } from "@inkling/store/keys/key";
import type { CellIndex, LimitCells } from "./cells.ts";

/** Milliseconds between two exchanges of a host with keys in use. */
export const EXCHANGE_MS = 500;
/**
 * Counts that are older than this many milliseconds when they arrive are late, and the rows record it. Others may have
 * been taken this much earlier than they are read.
 */
export const LATE_MS = 700;
/**
 * A host that waits longer than this many milliseconds for an answer is cut off, and its counts no longer concern the
 * group. Otherwise a key that was used on several hosts during an outage would be refused for as long as the outage
 * took.
 */
export const CUT_OFF_MS = 10_000;
/** The first use of a key after this many milliseconds needs an exchange immediately. */
const PAUSE_MS = 5_000;
/** A larger difference between both clocks, in milliseconds, means that the clock was set. */
const JUMP_MS = 1_000;
const NS = 1e6;
/** Maximum keys in one request. The others are in the next. */
const MAX_KEYS = 5_000;
/** Maximum periods of overflow for one key. The two oldest become one. */
const MAX_OVERFLOWS = 32;

/** What a key's bucket needs. `each` and `whole` are nanoseconds of rate, see cells.ts. */
interface KeyLimit {
  readonly cell: CellIndex;
  readonly each: number;
  readonly whole: number;
}

export interface GroupRequest {
  /** Increases by one with each request. A repeated request has the same number and the same counts. */
  readonly sequence: number;
  /** A time by the database's clock before the oldest of these counts. */
  readonly since: EpochMs;
  /** The tokens that this host took since its previous request, by key. The keys are sorted. */
  readonly taken: readonly (readonly [KeyId, number])[];
}

export interface GroupTotals {
  /** The database's clock. */
  readonly now: EpochMs;
  /** The tokens that all hosts of the group have ever taken, for each key of the request that has a row. */
  readonly totals: ReadonlyMap<KeyId, number>;
  /**
   * The age in milliseconds of the oldest counts that arrived late since the previous exchange; 0 if there are none.
   */
  readonly lateMs: number;
}

/** Nanoseconds in which a bucket was full, between two times of the monotonic clock. */
interface Overflow {
  readonly from: number;
  readonly until: number;
  ns: number;
}

/** What this host knows about one key. */
class Ledger {
  readonly limit: KeyLimit;
  /** The cell's count of tokens when it was last read, and at the last request. */
  private taken = 0;
  private reported = 0;
  /** Tokens that the group has confirmed, and tokens of the other hosts as of the last answer. */
  own = 0;
  others: number | undefined;
  /** Nanoseconds of rate that were taken from the bucket, and charged to it. */
  private busy = 0;
  private charged = 0;
  private full: number | undefined;
  /** Was the bucket full, and unused, until now? */
  private isNew: boolean;
  private overflows: Overflow[] = [];
  /** Monotonic times of the last request with this key, and of the last one that was answered. */
  cutAt: number;
  readAt: number;
  private measuredAt: number;
  /** Does the next request report only what the bucket still lacks? */
  isBack = false;

  constructor(limit: KeyLimit, before: Ledger | undefined, elapsed: number) {
    this.limit = limit;
    this.cutAt = before?.cutAt ?? elapsed;
    this.measuredAt = elapsed - LATE_MS;
    this.readAt = before?.readAt ?? elapsed;
    this.isNew = before === undefined;
    if (before === undefined) return;
    this.taken = before.taken;
    this.reported = before.reported;
    this.own = before.own;
    this.others = before.others;
  }

  /** Records how long the bucket was full since the last call. */
  measure(cells: LimitCells, now: EpochMs, elapsed: number): void {
    const { cell, each } = this.limit;
    const taken = cells.takenFrom(cell);
    this.busy += ((taken - this.taken) >>> 0) * each;
    this.taken = taken;
    // Time passes, tokens are taken and charges are added: what else moved the time at which the bucket is full was
    // overflow. It never decreases, except if a token was taken but not counted yet.
    const full = cells.fullAt(cell, now) - this.busy - this.charged;
    this.full ??= full - (this.isNew ? LATE_MS * NS : 0);
    this.isNew = false;
    const ns = full - this.full;
    if (ns > 0) this.addOverflow({ from: this.measuredAt, until: elapsed, ns });
    this.full = Math.max(full, this.full);
    this.measuredAt = elapsed;
  }

  /** Returns the tokens that were taken since the last call. */
  cut(cells: LimitCells, now: EpochMs, elapsed: number): number {
    this.measure(cells, now, elapsed);
    const used = (this.taken - this.reported) >>> 0;
    this.reported = this.taken;
    this.cutAt = elapsed;
    if (!this.isBack) return used;
    this.isBack = false;
    return Math.min(used, Math.floor(cells.lackOf(this.limit.cell, now) / this.limit.each));
  }

  private addOverflow(overflow: Overflow): void {
    const { overflows } = this;
    overflows.push(overflow);
    if (overflows.length <= MAX_OVERFLOWS) return;
    const [oldest, next] = overflows.splice(0, 2) as [Overflow, Overflow];
    overflows.unshift({ from: oldest.from, until: next.until, ns: oldest.ns + next.ns });
  }

  /** Takes over the total of the group. @returns the nanoseconds of rate to charge */
  read(total: number, since: number): number {
    const before = this.others;
    this.others = total - this.own;
    if (before === undefined) return 0;
    let owed = Math.max(0, this.others - before) * this.limit.each;
    for (const overflow of this.overflows) {
      const used = Math.min(
        owed,
        overflow.ns,
        Math.max(0, overflow.until - Math.max(since, overflow.from)) * NS,
      );
      overflow.ns -= used;
      owed -= used;
    }
    owed = Math.ceil(owed);
    this.charged += owed;
    return owed;
  }

  /** Forgets how long the bucket was full, because the clock was set. */
  restart(): void {
    this.full = undefined;
    this.overflows = [];
  }
}

interface Sent {
  readonly request: GroupRequest;
  /** Monotonic time. */
  readonly at: number;
}

export class GroupCounts {
  private readonly cells: LimitCells;
  private readonly limitOf: (keyId: KeyId) => KeyLimit | undefined;
  private readonly ledgers = new Map<KeyId, Ledger>();
  private readonly pending = new Set<KeyId>();
  private oldestAt: number | undefined;
  private sent: Sent | undefined;
  private sequence = 0;
  /** The database's clock, and the monotonic time when it was received. */
  private database: { readonly now: EpochMs; readonly elapsed: number } | undefined;
  private last: { readonly now: EpochMs; readonly elapsed: number } | undefined;

  /** @param limitOf returns undefined if the key is not active or has no rate */
  constructor(cells: LimitCells, limitOf: (keyId: KeyId) => KeyLimit | undefined) {
    this.cells = cells;
    this.limitOf = limitOf;
  }

  /** Are there keys that were used since the last request, or a request without an answer? */
  get isDue(): boolean {
    return this.pending.size > 0 || this.sent !== undefined;
  }

  /** Milliseconds that the last request has waited for its answer; 0 if it was answered. */
  waitingMs(elapsed: number): number {
    return this.sent === undefined ? 0 : elapsed - this.sent.at;
  }

  /**
   * Includes a key in the next request, because it was used.
   * @param since monotonic time of the earliest use that was not reported yet
   * @returns whether the key was not used for a while, so that this host does not know what the group took
   */
  use(keyId: KeyId, since: number): boolean {
    this.pending.add(keyId);
    this.oldestAt = Math.min(this.oldestAt ?? since, since);
    return !((this.ledgers.get(keyId)?.cutAt ?? Number.NEGATIVE_INFINITY) > since - PAUSE_MS);
  }

  /** Forgets a removed key, so that its cell can be reused. */
  drop(keyId: KeyId): void {
    this.ledgers.delete(keyId);
    this.pending.delete(keyId);
  }

  /**
   * Returns the next request, or again the one that was not answered. The first request has no counts, because this
   * host has to learn the time by the database's clock.
   */
  request(now: EpochMs, elapsed: number): GroupRequest {
    this.noticeJump(now, elapsed);
    if (this.sent !== undefined) return this.sent.request;
    const { cells } = this;
    const { database, oldestAt = elapsed } = this;
    const taken: [KeyId, number][] = [];
    for (const keyId of this.pending) {
      if (database === undefined || taken.length === MAX_KEYS) break;
      this.pending.delete(keyId);
      const ledger = this.ledgerOf(keyId, elapsed);
      if (ledger !== undefined) taken.push([keyId, ledger.cut(cells, now, elapsed)]);
    }
    taken.sort(([a], [b]) => (a < b ? -1 : 1));
    const since = database === undefined ? 0 : database.now - (database.elapsed - oldestAt);
    const request = { sequence: ++this.sequence, since, taken };
    this.sent = { request, at: elapsed };
    if (this.pending.size === 0) this.oldestAt = undefined;
    return request;
  }

  /** Charges the buckets after the answer to the last request. */
  accept({ now: databaseNow, totals, lateMs }: GroupTotals, now: EpochMs, elapsed: number): void {
    const { sent } = this;
    if (sent === undefined) return;
    this.sent = undefined;
    this.database = { now: databaseNow, elapsed };
    const { cells } = this;
    const isBack = elapsed - sent.at > CUT_OFF_MS;
    for (const [keyId, taken] of sent.request.taken) {
      const ledger = this.ledgers.get(keyId);
      if (ledger === undefined) continue;
      ledger.measure(cells, now, elapsed);
      ledger.own += taken;
      const since = Math.min(ledger.readAt - LATE_MS, sent.at - lateMs);
      ledger.readAt = sent.at;
      const owed = ledger.read(totals.get(keyId) ?? 0, since);
      if (owed > 0 && !isBack) cells.charge(ledger.limit.cell, now, owed);
    }
    if (!isBack) return;
    for (const ledger of this.ledgers.values()) {
      ledger.others = undefined;
      ledger.isBack = true;
    }
  }

  private ledgerOf(keyId: KeyId, elapsed: number): Ledger | undefined {
    const limit = this.limitOf(keyId);
    const known = this.ledgers.get(keyId);
    if (limit === undefined) return undefined;
    const { cell, each, whole } = limit;
    if (known?.limit.cell === cell && known.limit.each === each && known.limit.whole === whole) return known;
    // A key whose limits were changed keeps its counts, but not its debt.
    const isSameCell = known?.limit.cell === cell;
    if (isSameCell) this.cells.forgiveDebt(cell);
    const ledger = new Ledger(limit, isSameCell ? known : undefined, elapsed);
    this.ledgers.set(keyId, ledger);
    return ledger;
  }

  /** If the clock was set, neither times nor debts of the buckets mean anything. */
  private noticeJump(now: EpochMs, elapsed: number): void {
    const { last } = this;
    this.last = { now, elapsed };
    if (last === undefined || Math.abs(now - last.now - (elapsed - last.elapsed)) <= JUMP_MS) return;
    for (const ledger of this.ledgers.values()) {
      this.cells.forgiveDebt(ledger.limit.cell);
      ledger.restart();
    }
  }
}
