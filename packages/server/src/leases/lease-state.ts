// lease-state.ts: holds this host's parts of the group's limits, per key. It decides what to request, applies what was
// granted, and refills keys while the host is cut off.
//
// in   the active keys and their cells; the group's answers
// out  a request for the keys in use; balances and shares in the cells
// err  none: without answers, the host uses up its leases. After SILENT_MS, it refills each key at rate / hosts
// cost checking 5,000 unused keys takes 1 ms

import type { EpochMs, Key, KeyId } from "../keys/key.ts";
import { CELL_COUNTS, type CellIndex, countedAt } from "../limits/cells.ts";
import { type LeasedCells, MAX_SHARE } from "../limits/leased-cells.ts";
import { limitsOf } from "../limits/token-bucket.ts";
import { aloneOf, type LeaseGrant, type LeaseWish, type Receipt, SILENT_MS } from "./group.ts";
import {
  type Demand,
  follow,
  isLowOn,
  noDemand,
  quotaReserve,
  rateReserve,
  refillAlone,
  type Wanted,
  wantedOf,
} from "./size.ts";

export interface LeaseRequest {
  readonly confirmed: Receipt | undefined;
  readonly wishes: readonly LeaseWish[];
}

export interface LeaseAnswer {
  /** Time by the database's clock, epoch ms. */
  readonly now: EpochMs;
  /** Number of hosts in the group. */
  readonly hosts: number;
  /** While cut off, this host may use 1/n of each rate. */
  readonly among: number;
  readonly grants: readonly LeaseGrant[];
  /** Keys for which some host ran short of lookups in the last few seconds. */
  readonly short: ReadonlySet<KeyId>;
}

/** The part of one key's limits that this host holds. */
class Holding {
  readonly cell: CellIndex;
  rate = 0;
  burst = 0;
  /** Nanoseconds that it takes to gain one token at this rate. */
  each = 0;
  quota: number | undefined;
  /** Tokens up to which the key refills without the group; undefined before the first answer. */
  alone: number | undefined;
  readonly rateDemand: Demand = noDemand();
  readonly quotaDemand: Demand = noDemand();
  /** Balance and share after the last check, including what was added since then. */
  balance = 0;
  share = 0;
  /** The balance after the last tick. */
  ticked = 0;
  /**
   * Nanoseconds of rate that the host has refilled by itself since the last request. A late answer to that request adds
   * that much less.
   */
  refilled = 0;
  rateRefused = 0;
  quotaRefused = 0;
  /** Lookups used on the quota's day. */
  used = 0;
  day: string | undefined;
  /** True until the key is part of an exchange. */
  isNew = true;
  looks = 0;

  constructor(cell: CellIndex) {
    this.cell = cell;
  }

  /** @returns whether the limits have changed */
  setLimits({ rate, burst }: { rate: number; burst: number }, quota: number | undefined, cells: LeasedCells) {
    const isSame = rate === this.rate && burst === this.burst && quota === this.quota;
    const each = rate > 0 ? Math.ceil(1e9 / rate) : 0;
    if (each !== this.each) {
      // The number of tokens remains the same, but it is expressed in time at the new rate.
      const before = cells.balanceOf(this.cell);
      const tokens = this.each === 0 ? 0 : Math.min(burst, before / this.each);
      this.balance = cells.addBalance(this.cell, tokens * each - before);
    }
    this.rate = rate;
    this.burst = burst;
    this.each = each;
    this.quota = quota;
    return !isSame;
  }
}

const RATE_LIMITED: number[] = [];
const QUOTA_EXCEEDED: number[] = [];
for (let i = 0; i < CELL_COUNTS; i++) {
  if (countedAt(i).counted === "rate_limited") RATE_LIMITED.push(i);
  if (countedAt(i).counted === "quota_exceeded") QUOTA_EXCEEDED.push(i);
}

/** A rarely used key asks again after at most this many checks. */
const LOOKS = 4;

export class LeaseState {
  /** Number of hosts in the group, as of the last answer. */
  hosts: number;
  /** See {@link LeaseAnswer}. */
  private among: number;
  /**
   * Whether there has ever been an answer. Without an answer, this host's share is unknown, and the host takes none.
   */
  isMember: boolean;
  private readonly cells: () => LeasedCells;
  /** Limits for keys that have none in their settings. A change takes effect with the next {@link replaceKeys}. */
  defaults: { readonly rate: number; readonly burst: number };
  private readonly holdings = new Map<KeyId, Holding>();
  private readonly counts = new Uint32Array(CELL_COUNTS);
  private short: ReadonlySet<KeyId> = new Set();
  private confirmed: LeaseRequest["confirmed"];
  /** Milliseconds on a monotonic clock. */
  private answeredAt: number;
  private refilledAt: number;

  /**
   * @param hosts last known number of hosts; undefined if it was never known
   * @param elapsed milliseconds on a monotonic clock
   */
  constructor(
    cells: () => LeasedCells,
    defaults: { readonly rate: number; readonly burst: number },
    hosts: number | undefined,
    elapsed: number,
  ) {
    this.cells = cells;
    this.defaults = defaults;
    this.hosts = hosts ?? 1;
    this.among = this.hosts;
    this.isMember = hosts !== undefined;
    this.answeredAt = elapsed;
    this.refilledAt = elapsed;
  }

  /** Milliseconds since the last answer. */
  silentMs(elapsed: number): number {
    return elapsed - this.answeredAt;
  }

  /** Number of keys for which this host holds a share. */
  get leases(): number {
    let count = 0;
    for (const { balance, share } of this.holdings.values()) if (balance > 0 || share > 0) count++;
    return count;
  }

  /** Takes over new keys or limits. @returns whether any key is new or has other limits, so that it needs a lease */
  replaceKeys(keys: Iterable<Key>, cellOf: ReadonlyMap<KeyId, CellIndex>): boolean {
    const cells = this.cells();
    const gone = new Set(this.holdings.keys());
    let isChanged = false;
    for (const key of keys) {
      const cell = cellOf.get(key.id);
      if (cell === undefined) continue;
      gone.delete(key.id);
      let holding = this.holdings.get(key.id);
      if (holding === undefined || holding.cell !== cell) {
        holding = new Holding(cell);
        this.holdings.set(key.id, holding);
      }
      if (holding.setLimits(limitsOf(key, this.defaults), key.quota, cells)) isChanged = true;
    }
    for (const keyId of gone) this.holdings.delete(keyId);
    return isChanged;
  }

  /**
   * Returns what the keys in use request, or an empty request if no key needs an exchange now. The request counts as
   * sent, so pass its answer to `accept`, if there is one.
   */
  request(): LeaseRequest {
    const cells = this.cells();
    const wanted: [KeyId, Holding, rate: number, quota: number][] = [];
    let isDue = false;
    for (const [keyId, holding] of this.holdings) {
      const { wantRate, wantQuota, needs } = this.lookAt(keyId, holding, cells);
      isDue ||= needs === "now";
      if (needs !== "nothing") wanted.push([keyId, holding, wantRate, wantQuota]);
    }
    // Keys whose request could wait are included, because a second round trip costs more than a row.
    const wishes = isDue ? wanted.map((one) => this.askFor(...one, cells)) : [];
    return { confirmed: this.confirmed, wishes };
  }

  /** Takes everything out of the cells, and creates the request that returns it to the group. */
  giveBack(): LeaseRequest {
    const cells = this.cells();
    const wishes: LeaseWish[] = [];
    for (const [keyId, holding] of this.holdings) {
      if (holding.isNew) continue;
      this.look(holding, cells);
      if (holding.balance === 0 && holding.share === 0 && holding.used === 0) continue;
      holding.balance = cells.addBalance(holding.cell, -Number.MAX_SAFE_INTEGER);
      holding.share = cells.addShare(holding.cell, -MAX_SHARE);
      wishes.push(this.wish(keyId, holding, 0, 0));
    }
    return { confirmed: this.confirmed, wishes };
  }

  /** Adds the grants of an answer to the cells. */
  accept({ now, hosts, among, grants, short }: LeaseAnswer, elapsed: number): void {
    const cells = this.cells();
    this.confirmed = { at: now, among };
    this.hosts = hosts;
    this.among = among;
    this.isMember = true;
    this.short = short;
    this.answeredAt = elapsed;
    for (const { keyId, rate, quota } of grants) {
      const holding = this.holdings.get(keyId);
      if (holding === undefined) continue;
      holding.isNew = false;
      if (rate !== undefined) {
        holding.alone = rate.alone;
        const more = Math.max(0, rate.grant * holding.each - holding.refilled);
        cells.addBalance(holding.cell, more);
        holding.balance += more;
      }
      if (quota === undefined) continue;
      if (holding.day !== quota.day) {
        if (holding.day !== undefined) cells.turnDay(holding.cell);
        holding.day = quota.day;
        holding.used = quota.used;
      }
      if (quota.grant > 0) {
        cells.addShare(holding.cell, quota.grant);
        holding.share += quota.grant;
      }
      cells.putElsewhere(holding.cell, quota.left);
    }
  }

  /** Refills each key's tokens at this host's share of the rate while the host is cut off. Call it at least once a second. */
  tick(elapsed: number): void {
    const from = Math.max(this.refilledAt, this.answeredAt + SILENT_MS);
    this.refilledAt = elapsed;
    if (elapsed <= from || !this.isMember) return;
    const cells = this.cells();
    for (const holding of this.holdings.values()) {
      const { cell, each, rate, burst } = holding;
      if (each === 0) continue;
      const most = holding.alone ?? aloneOf({ rate, burst }, this.among);
      const before = Math.max(holding.balance, holding.ticked, cells.balanceOf(cell)) / each;
      const more = refillAlone(before, elapsed - from, rate / this.among, most) * each;
      holding.refilled += more;
      holding.ticked = more > 0 ? cells.addBalance(cell, more) : cells.balanceOf(cell);
      holding.balance = holding.ticked;
    }
  }

  /** Determines what to request for a key, and whether the request can wait. */
  private lookAt(keyId: KeyId, holding: Holding, cells: LeasedCells) {
    const { burst, each, quota, rateDemand, quotaDemand } = holding;
    holding.looks++;
    holding.refilled = 0;
    const isUsed = this.look(holding, cells);
    const isShort = this.short.has(keyId);
    const { hosts } = this;
    const rate: Wanted = {
      held: each === 0 ? 0 : holding.balance / each,
      demand: rateDemand,
      most: burst,
      reserve: Math.min(rateReserve(burst, hosts), burst),
      isShort,
    };
    const wantRate = each === 0 ? 0 : wantedOf(rate);
    const share: Wanted = {
      held: holding.share,
      demand: quotaDemand,
      most: Math.min(quota ?? 0, MAX_SHARE),
      reserve: Math.min(quotaReserve(quota ?? 0, hosts), quota ?? 0),
      isShort,
    };
    const wantQuota = quota === undefined ? 0 : wantedOf(share);
    const isWanted = wantRate !== 0 || wantQuota !== 0;
    const isLow = (wantRate > 0 && isLowOn(rate)) || (wantQuota > 0 && isLowOn(share));
    const isLate = holding.looks >= LOOKS && (isUsed || isWanted);
    const isNow = holding.isNew || (isWanted && isShort) || (isUsed && isLow) || isLate;
    return { wantRate, wantQuota, needs: isNow ? "now" : isWanted && isUsed ? "some" : "nothing" } as const;
  }

  private askFor(
    keyId: KeyId,
    holding: Holding,
    wantRate: number,
    wantQuota: number,
    cells: LeasedCells,
  ): LeaseWish {
    holding.looks = 0;
    // Returned lookups leave this host before the group has them. If the answer is lost, they are lost as well.
    if (wantRate < 0) holding.balance = cells.addBalance(holding.cell, wantRate * holding.each);
    if (wantQuota < 0) holding.share = cells.addShare(holding.cell, wantQuota);
    return this.wish(keyId, holding, Math.max(0, wantRate), Math.max(0, wantQuota));
  }

  private wish(keyId: KeyId, holding: Holding, wantRate: number, wantQuota: number): LeaseWish {
    const { rate, burst, each, quota, balance, share, used, day, alone } = holding;
    return {
      keyId,
      isInUse: holding.rateDemand.perLook > 0 || holding.quotaDemand.perLook > 0,
      ...(each > 0 && { rate: { rate, burst, held: balance / each, alone: alone ?? 0, want: wantRate } }),
      ...(quota !== undefined && { quota: { quota, day, used, held: share, want: wantQuota } }),
    };
  }

  /** Reads what was used since the last check. @returns whether any lookup was used or refused */
  private look(holding: Holding, cells: LeasedCells): boolean {
    const { cell, each } = holding;
    cells.readCounts(cell, this.counts);
    const refusedNow = (slots: readonly number[]) => slots.reduce((sum, slot) => sum + this.counts[slot]!, 0);
    const balance = cells.balanceOf(cell);
    const share = cells.shareOf(cell);
    const rateUsed = each === 0 ? 0 : Math.max(0, (holding.balance - balance) / each);
    const quotaUsed = holding.share - share; // negative if lookups were given back
    const rateRefused = refusedNow(RATE_LIMITED) - holding.rateRefused;
    const quotaRefused = refusedNow(QUOTA_EXCEEDED) - holding.quotaRefused;
    holding.rateRefused += rateRefused;
    holding.quotaRefused += quotaRefused;
    holding.balance = balance;
    holding.share = share;
    holding.used += quotaUsed;
    follow(holding.rateDemand, rateUsed, rateRefused);
    follow(holding.quotaDemand, Math.max(0, quotaUsed), quotaRefused);
    return rateUsed + rateRefused + quotaRefused > 0 || quotaUsed !== 0;
  }
}
