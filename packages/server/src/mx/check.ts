// check.ts: can a domain receive mail, and who receives it? Looked up in DNS, cached, within a time budget.
//
// in   a host from toAsciiDomain
// out  a finding; "timeout" or "failed" when DNS gave none in time
// err  none thrown
// src  RFC 2308 (caching "no"), RFC 9520 (caching failures); docs/email.md
// cost a cached domain: a Map access
//
// A request waits for BUDGET_MS, queueing included; its lookup goes on for LOOKUP_MS, so that the next request for the
// domain finds it cached. Requests for one domain share a lookup. MAX_UNDER_WAY lookups run at once and MAX_WAITING
// more wait; one without requests is never started. A lookup slower than the budget frees its slot, so that a silent
// domain delays no other for longer; as many as there are slots may go on like that, further ones are aborted.

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

/** Least and most seconds that a finding is cached; between them, as long as DNS allows. */
export const CACHE_SECONDS: Readonly<Record<Exclude<MxOutcome, "skipped">, readonly [number, number]>> = {
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

const TIMED_OUT: MxFinding = { outcome: "timeout", known: [] };

/** A lookup, queued or under way, and how many requests wait for it. */
interface Lookup {
  readonly host: string;
  readonly promise: Promise<MxFinding>;
  readonly settle: (finding: MxFinding) => void;
  waiters: number;
}

export class MxLookups {
  private readonly options: Required<MxLookupsOptions>;
  private readonly cache: ExpiringMap<MxFinding>;
  /** Queued and under way, by host. */
  private readonly lookups = new Map<string, Lookup>();
  private readonly queue = new Set<Lookup>();
  private slotsTaken = 0;
  /** Lookups under way that have freed their slot. */
  private overBudget = 0;
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
    options.counts.readStateFrom(() => ({
      underWay: this.slotsTaken + this.overBudget,
      waiting: this.queue.size,
      cached: this.cache.size,
    }));
  }

  /** @returns a promise only when the host is not cached; it settles within the budget */
  find(host: string): MxFinding | Promise<MxFinding> {
    const cached = this.cache.get(host);
    if (cached !== undefined) {
      this.options.counts.countCacheHit();
      return cached;
    }
    const lookup = this.lookups.get(host) ?? this.add(host);
    return lookup === undefined ? FAILURE.finding : this.wait(lookup);
  }

  /** Aborts all lookups; waiting requests get "timeout". */
  stop(): void {
    this.stopped = true;
    for (const abort of this.aborts) abort.abort();
    for (const lookup of this.queue) lookup.settle(TIMED_OUT);
    this.queue.clear();
  }

  /** Starts or queues a lookup; undefined when the queue is full or this is stopped. */
  private add(host: string): Lookup | undefined {
    const { maxUnderWay, maxWaiting } = this.options;
    const hasSlot = this.slotsTaken < maxUnderWay;
    if (this.stopped || (!hasSlot && this.queue.size >= maxWaiting)) return undefined;
    const { promise, resolve } = Promise.withResolvers<MxFinding>();
    const lookup: Lookup = { host, promise, settle: resolve, waiters: 0 };
    this.lookups.set(host, lookup);
    if (hasSlot) void this.run(lookup);
    else this.queue.add(lookup);
    return lookup;
  }

  private wait(lookup: Lookup): Promise<MxFinding> {
    lookup.waiters++;
    const { promise, resolve } = Promise.withResolvers<MxFinding>();
    const timer = setTimeout(() => {
      lookup.waiters--;
      if (lookup.waiters === 0 && this.queue.delete(lookup)) this.lookups.delete(lookup.host);
      resolve(TIMED_OUT);
    }, this.options.budgetMs);
    void lookup.promise.then((finding) => {
      clearTimeout(timer);
      resolve(finding);
    });
    return promise;
  }

  private async run(lookup: Lookup): Promise<void> {
    const { dns, counts, elapsed, budgetMs, lookupMs, maxUnderWay } = this.options;
    this.slotsTaken++;
    const started = elapsed();
    const abort = new AbortController();
    this.aborts.add(abort);
    let hasSlot = true;
    const freeSlot = () => {
      hasSlot = false;
      this.slotsTaken--;
      if (this.overBudget++ >= maxUnderWay) abort.abort();
      this.runNext();
    };
    const deadline = setTimeout(() => abort.abort(), lookupMs);
    // 1 ms after its requests have timed out, so that lookups queued for them alone are not started.
    const slow = setTimeout(freeSlot, budgetMs + 1);
    const resolved = await resolveMx(dns, lookup.host, abort.signal).catch(() => FAILURE);
    clearTimeout(deadline);
    clearTimeout(slow);
    this.aborts.delete(abort);
    if (hasSlot) this.slotsTaken--;
    else this.overBudget--;
    this.lookups.delete(lookup.host);
    counts.countLookup(resolved.finding.outcome, elapsed() - started);
    this.store(lookup.host, resolved);
    lookup.settle(resolved.finding);
    if (hasSlot) this.runNext();
  }

  private runNext(): void {
    const [next] = this.queue;
    if (next === undefined) return;
    this.queue.delete(next);
    void this.run(next);
  }

  private store(host: string, { finding, ttlSeconds }: Resolved): void {
    const [least, most] = CACHE_SECONDS[finding.outcome as keyof typeof CACHE_SECONDS]; // "skipped" queries no DNS
    const seconds = ttlSeconds === undefined ? NO_TTL_SECONDS : Math.min(Math.max(ttlSeconds, least), most);
    this.cache.set(host, finding, seconds);
  }
}
