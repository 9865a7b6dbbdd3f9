// check.ts: can a domain receive mail, and who receives it? Looked up in DNS, cached, within a time budget.
//
// in   a host from toAsciiDomain, the key that asks
// out  a finding; "timeout" or "failed" when DNS gave none in time, "busy" when it was not asked
// err  none thrown
// src  RFC 2308 (caching "no"), RFC 9520 (caching failures); docs/email.md
// cost a cached domain: a Map access
//
// A request waits for BUDGET_MS, queueing included; its lookup goes on for LOOKUP_MS, so that the next request for the
// domain finds it cached. Requests for one domain share a lookup. MAX_UNDER_WAY lookups run at once and MAX_WAITING
// more wait; one without requests is never started. A lookup slower than the budget frees its slot, so that a silent
// domain delays no other for longer; as many as there are slots may go on like that, further ones are aborted.
//
// Of slots, places to wait and slow lookups one key alone gets three quarters, so that there are some for the next one
// (fair-shares.ts); a slot that becomes free goes to the waiting key that has the fewest. Without that, one key with 400
// requests for silent domains left 73 of 100 lookups of another without an answer.

import type { KeyId } from "../keys/key.ts";
import { FairShares } from "../limits/fair-shares.ts";
import type { MxCounts } from "./counts.ts";
import type { Resolver } from "./dns-client.ts";
import { ExpiringMap } from "./expiring-map.ts";
import type { MxFinding, MxOutcome } from "./outcome.ts";
import { FAILURE, type Resolved, resolveMx } from "./resolve.ts";

export interface MxLookupsOptions {
  readonly dns: Resolver;
  readonly counts: MxCounts;
  /** Milliseconds of a monotonic clock. */
  readonly elapsed: () => number;
  readonly maxUnderWay?: number;
  readonly maxWaiting?: number;
  readonly maxCached?: number;
  readonly budgetMs?: number;
  readonly lookupMs?: number;
}

export const BUDGET_MS = 500;
export const LOOKUP_MS = 3_000;
export const MAX_UNDER_WAY = 64;
export const MAX_WAITING = 4_096;
export const MAX_CACHED = 10_000;

/** DNS was asked. */
type AskedOutcome = Exclude<MxOutcome, "skipped" | "busy">;

/** Least and most seconds that a finding is cached; between them, as long as DNS allows. */
export const CACHE_SECONDS: Readonly<Record<AskedOutcome, readonly [number, number]>> = {
  found: [60, 3_600],
  implicit: [60, 3_600],
  null: [60, 3_600],
  // Short: newly registered domains must not stay NXDOMAIN.
  none: [30, 300],
  nxdomain: [30, 300],
  timeout: [5, 5],
  failed: [5, 5],
};
/** RFC 2308 5: a "no" without an SOA record has no TTL, and should not be cached; this bounds repeated questions. */
const NO_TTL_SECONDS = 1;

/** How much of anything one key may have while no other has any. */
const ALONE = 0.75;

const TIMED_OUT: MxFinding = { outcome: "timeout", known: [] };
const BUSY: MxFinding = { outcome: "busy", known: [] };

/** A lookup, queued or under way, and how many requests wait for it. */
interface Lookup {
  readonly host: string;
  /** Whose share it takes. */
  key: KeyId;
  isQueued: boolean;
  readonly promise: Promise<MxFinding>;
  readonly settle: (finding: MxFinding) => void;
  waiters: number;
}

export class MxLookups {
  private readonly options: Required<MxLookupsOptions>;
  private readonly cache: ExpiringMap<MxFinding>;
  /** Queued and under way, by host. */
  private readonly lookups = new Map<string, Lookup>();
  /** In the order in which they came. */
  private readonly queues = new Map<KeyId, Set<Lookup>>();
  private readonly places: FairShares;
  private readonly slots: FairShares;
  /** Lookups under way that have freed their slot. */
  private readonly slow: FairShares;
  /** One for each lookup under way. */
  private readonly aborts = new Set<AbortController>();
  private stopped = false;

  constructor(options: MxLookupsOptions) {
    this.options = {
      maxUnderWay: MAX_UNDER_WAY,
      maxWaiting: MAX_WAITING,
      maxCached: MAX_CACHED,
      budgetMs: BUDGET_MS,
      lookupMs: LOOKUP_MS,
      ...options,
    };
    this.cache = new ExpiringMap(options.elapsed, this.options.maxCached);
    const shared = (count: number) => new FairShares(count, Math.ceil(ALONE * count));
    this.slots = shared(this.options.maxUnderWay);
    this.slow = shared(this.options.maxUnderWay);
    this.places = shared(this.options.maxWaiting);
    options.counts.readStateFrom(() => ({
      underWay: this.slots.taken + this.slow.taken,
      waiting: this.places.taken,
      cached: this.cache.size,
    }));
  }

  /** @returns a promise only when the host is not cached; it settles within the budget */
  find(host: string, key: KeyId): MxFinding | Promise<MxFinding> {
    const cached = this.cache.get(host);
    if (cached !== undefined) {
      this.options.counts.countCacheHit();
      return cached;
    }
    if (this.stopped) return FAILURE.finding;
    const known = this.lookups.get(host);
    if (known?.isQueued === true) this.adopt(known, key);
    const lookup = known ?? this.add(host, key);
    return lookup === undefined ? BUSY : this.wait(lookup);
  }

  /** Aborts all lookups; waiting requests get "timeout". */
  stop(): void {
    this.stopped = true;
    for (const abort of this.aborts) abort.abort();
    for (const lookup of [...this.queues.values()].flatMap((queue) => [...queue])) {
      this.unqueue(lookup);
      lookup.settle(TIMED_OUT);
    }
  }

  /** Starts or queues a lookup; undefined when the key has its share of both. */
  private add(host: string, key: KeyId): Lookup | undefined {
    const hasSlot = this.slots.take(key);
    if (!hasSlot && !this.places.take(key)) return undefined;
    const { promise, resolve } = Promise.withResolvers<MxFinding>();
    const lookup: Lookup = { host, key, isQueued: !hasSlot, promise, settle: resolve, waiters: 0 };
    this.lookups.set(host, lookup);
    if (hasSlot) void this.run(lookup);
    else this.enqueue(lookup);
    return lookup;
  }

  /** A domain behind many others of one key does not wait there for a key with fewer. */
  private adopt(lookup: Lookup, key: KeyId): void {
    if (this.places.of(key) >= this.places.of(lookup.key) - 1 || !this.places.take(key)) return;
    this.unqueue(lookup);
    lookup.key = key;
    lookup.isQueued = true;
    this.enqueue(lookup);
    this.runNext();
  }

  private enqueue(lookup: Lookup): void {
    const queue = this.queues.get(lookup.key);
    if (queue === undefined) this.queues.set(lookup.key, new Set([lookup]));
    else queue.add(lookup);
  }

  private unqueue(lookup: Lookup): void {
    const { key } = lookup;
    const queue = this.queues.get(key);
    queue?.delete(lookup);
    if (queue?.size === 0) this.queues.delete(key);
    this.places.giveBack(key);
    lookup.isQueued = false;
  }

  private wait(lookup: Lookup): Promise<MxFinding> {
    lookup.waiters++;
    const { promise, resolve } = Promise.withResolvers<MxFinding>();
    const timer = setTimeout(() => {
      lookup.waiters--;
      resolve(lookup.isQueued ? BUSY : TIMED_OUT);
      if (lookup.waiters > 0 || !lookup.isQueued) return;
      this.unqueue(lookup);
      this.lookups.delete(lookup.host);
    }, this.options.budgetMs);
    void lookup.promise.then((finding) => {
      clearTimeout(timer);
      resolve(finding);
    });
    return promise;
  }

  /** @param lookup has a slot */
  private async run(lookup: Lookup): Promise<void> {
    const { dns, counts, elapsed, budgetMs, lookupMs } = this.options;
    const { key } = lookup;
    const started = elapsed();
    const abort = new AbortController();
    this.aborts.add(abort);
    let share: FairShares | undefined = this.slots;
    const freeSlot = () => {
      this.slots.giveBack(key);
      share = this.slow.take(key) ? this.slow : undefined;
      if (share === undefined) abort.abort();
      this.runNext();
    };
    const deadline = setTimeout(() => abort.abort(), lookupMs);
    // 1 ms after its requests have timed out, so that lookups queued for them alone are not started.
    const slow = setTimeout(freeSlot, budgetMs + 1);
    const resolved = await resolveMx(dns, lookup.host, abort.signal).catch(() => FAILURE);
    clearTimeout(deadline);
    clearTimeout(slow);
    this.aborts.delete(abort);
    (share as FairShares | undefined)?.giveBack(key); // the timer may have changed it
    this.lookups.delete(lookup.host);
    counts.countLookup(resolved.finding.outcome, elapsed() - started);
    this.store(lookup.host, resolved);
    lookup.settle(resolved.finding);
    this.runNext();
  }

  /** Starts what there are slots for: first the lookups of the key that has the fewest. */
  private runNext(): void {
    for (;;) {
      let next: KeyId | undefined;
      for (const key of this.queues.keys()) {
        if (next === undefined || this.slots.of(key) < this.slots.of(next)) next = key;
      }
      const [lookup] = (next === undefined ? undefined : this.queues.get(next)) ?? [];
      if (lookup === undefined || !this.slots.take(lookup.key)) return;
      this.unqueue(lookup);
      void this.run(lookup);
    }
  }

  private store(host: string, { finding, ttlSeconds }: Resolved): void {
    const [least, most] = CACHE_SECONDS[finding.outcome as AskedOutcome];
    const seconds = ttlSeconds === undefined ? NO_TTL_SECONDS : Math.min(Math.max(ttlSeconds, least), most);
    this.cache.set(host, finding, seconds);
  }
}
