// check.ts: can a domain receive mail, and who receives it? Looked up in DNS, cached, within a time budget.
//
// in   a host from toAsciiDomain, the key that asks
// out  a finding; "timeout" or "failed" when DNS gave none in time, "busy" when it was not asked
// err  none thrown
// src  RFC 2308 (caching "no"), RFC 9520 (caching failures); docs/email.md
// cost a cached domain: a Map access
//
// A request waits for BUDGET_MS at most; its lookup continues for LOOKUP_MS, so that the next request for the domain finds
// it cached. Requests for one domain share a lookup. MAX_UNDER_WAY lookups run at once, and MAX_WAITING requests wait for
// a slot. A lookup slower than the budget frees its slot, so that a silent domain delays no other for longer; as many as
// there are slots may continue like that, further ones are aborted.
//
// Of slots, places to wait and slow lookups one key alone gets three quarters, so that there are some for the next one
// (fair-shares.ts); a slot that becomes free goes to the waiting key that has the fewest. Without that, one key with 400
// requests for silent domains left 73 of 100 lookups of another without an answer.

import type { MxOutcome } from "@inkling/contract";
import type { KeyId } from "../keys/key.ts";
import { FairShares } from "../limits/fair-shares.ts";
import type { MxCounts } from "./counts.ts";
import type { Resolver } from "./dns-client.ts";
import { ExpiringMap } from "./expiring-map.ts";
import { FAILURE, type MxFinding, type Resolved, resolveMx } from "./resolve.ts";

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
  // Short: newly registered domains must not remain NXDOMAIN.
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

/** A request that waits for a slot. */
interface QueuedRequest {
  readonly host: string;
  readonly key: KeyId;
  /** Ends its wait with the finding. */
  readonly answerWith: (finding: MxFinding | Promise<MxFinding>) => void;
}

export class MxLookups {
  private readonly options: Required<MxLookupsOptions>;
  private readonly cache: ExpiringMap<MxFinding>;
  /** By host. */
  private readonly underWay = new Map<string, Promise<MxFinding>>();
  /** By key, in the order in which they came. */
  private readonly queues = new Map<KeyId, Set<QueuedRequest>>();
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
    const shared = this.underWay.get(host);
    if (shared === undefined && !this.slots.take(key))
      return this.places.take(key) ? this.waitForSlot(host, key) : BUSY;
    return this.withinBudget(() => TIMED_OUT, shared ?? this.start(host, key)).promise;
  }

  /** Aborts all lookups; waiting requests get "timeout". */
  stop(): void {
    this.stopped = true;
    for (const abort of this.aborts) abort.abort();
    for (const request of [...this.queues.values()].flatMap((queue) => [...queue])) {
      this.unqueue(request);
      request.answerWith(TIMED_OUT);
    }
  }

  /** @param instead called when the budget is over, for what to answer then */
  private withinBudget(instead: () => MxFinding, finding?: Promise<MxFinding>) {
    const { promise, resolve } = Promise.withResolvers<MxFinding>();
    const timer = setTimeout(() => resolve(instead()), this.options.budgetMs);
    const answerWith = async (found: MxFinding | Promise<MxFinding>) => {
      resolve(await found);
      clearTimeout(timer);
    };
    if (finding !== undefined) void answerWith(finding);
    return { promise, answerWith };
  }

  /** @param key has a place */
  private waitForSlot(host: string, key: KeyId): Promise<MxFinding> {
    const { promise, answerWith } = this.withinBudget(() => (this.unqueue(request) ? BUSY : TIMED_OUT));
    const request: QueuedRequest = { host, key, answerWith };
    const queue = this.queues.get(key);
    if (queue === undefined) this.queues.set(key, new Set([request]));
    else queue.add(request);
    return promise;
  }

  /** @returns whether it was queued */
  private unqueue(request: QueuedRequest): boolean {
    const { key } = request;
    const queue = this.queues.get(key);
    if (queue?.delete(request) !== true) return false;
    if (queue.size === 0) this.queues.delete(key);
    this.places.giveBack(key);
    return true;
  }

  /** Answers queued requests while there are slots: first those of the key that has the fewest. */
  private startNext(): void {
    for (let request = this.nextQueued(); request !== undefined; request = this.nextQueued()) {
      const { host, key } = request;
      const known = this.cache.get(host) ?? this.underWay.get(host);
      if (known === undefined && !this.slots.take(key)) return;
      this.unqueue(request);
      request.answerWith(known ?? this.start(host, key));
    }
  }

  private nextQueued(): QueuedRequest | undefined {
    const byTurn = (a: KeyId, b: KeyId) => (this.slots.of(b) < this.slots.of(a) ? b : a);
    const keys = [...this.queues.keys()];
    const [request] = keys.length === 0 ? [] : (this.queues.get(keys.reduce(byTurn)) ?? []);
    return request;
  }

  /** @param key has a slot */
  private start(host: string, key: KeyId): Promise<MxFinding> {
    const finding = this.lookUp(host, key);
    this.underWay.set(host, finding);
    return finding;
  }

  private async lookUp(host: string, key: KeyId): Promise<MxFinding> {
    const { dns, counts, elapsed, budgetMs, lookupMs } = this.options;
    const started = elapsed();
    const abort = new AbortController();
    this.aborts.add(abort);
    let share: FairShares | undefined = this.slots;
    const freeSlot = () => {
      this.slots.giveBack(key);
      share = this.slow.take(key) ? this.slow : undefined;
      if (share === undefined) abort.abort();
      this.startNext();
    };
    const deadline = setTimeout(() => abort.abort(), lookupMs);
    // 1 ms after its requests have timed out, so that requests queued until then are not looked up.
    const slow = setTimeout(freeSlot, budgetMs + 1);
    const resolved = await resolveMx(dns, host, abort.signal).catch(() => FAILURE);
    clearTimeout(deadline);
    clearTimeout(slow);
    this.aborts.delete(abort);
    share?.giveBack(key);
    this.underWay.delete(host);
    counts.countLookup(resolved.finding.outcome, elapsed() - started);
    this.store(host, resolved);
    this.startNext();
    return resolved.finding;
  }

  private store(host: string, { finding, ttlSeconds }: Resolved): void {
    const [least, most] = CACHE_SECONDS[finding.outcome as AskedOutcome];
    const seconds = ttlSeconds === undefined ? NO_TTL_SECONDS : Math.min(Math.max(ttlSeconds, least), most);
    this.cache.set(host, finding, seconds);
  }
}
