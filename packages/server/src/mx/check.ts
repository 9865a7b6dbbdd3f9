// check.ts: checks in DNS, within a time budget and with a cache, whether a domain can receive mail, and who receives
// that mail.
//
// Source: RFC 2308 (caching "no"), RFC 9520 (caching failures); docs/email.md. Cost: one Map access for a cached
// domain.
//
// A request waits for at most `budgetMs`. The DNS lookup may continue for up to `lookupMs`, so that the next request for
// the domain finds the result in the cache. Requests for one domain share a lookup. At most `maxUnderWay` lookups hold
// a slot, and at most `maxWaiting` requests wait for one. A lookup that exceeds the budget frees its slot, so that a
// silent domain delays other domains by at most `budgetMs`. The number of slow lookups that continue is limited to the
// number of slots. Further slow lookups are aborted.
//
// Even a key that is the only active one may use at most three quarters of the slots, waiting places and slow lookups
// (fair-shares.ts). The waiting key with the fewest slots gets the next free slot. Without these limits, one key with
// 400 requests for silent domains left 73 of 100 lookups of another key without an answer.

import type { MxOutcome } from "@inkling/contract";
import { ExpiringMap, FAILURE, findMailExchange, type MailExchange, type Resolver } from "@inkling/data/dns";
import { knownHosts, type MxHost } from "@inkling/engine";
import type { KeyId } from "@inkling/store/keys/key";
import { FairShares } from "../sharing/fair-shares.ts";
import type { Counts } from "../telemetry/counts.ts";

export interface MxFinding {
  readonly outcome: MxOutcome;
  /**
   * Rows that cover the most preferred MX hosts. The hosts themselves are not kept, because a domain may have any
   * number of them.
   */
  readonly known: readonly MxHost[];
}

export const MX_LIMITS = {
  budgetMs: 500,
  lookupMs: 3_000,
  maxUnderWay: 64,
  maxWaiting: 4_096,
  maxCached: 10_000,
};

export interface MxLookupsOptions extends Partial<typeof MX_LIMITS> {
  readonly dns: Resolver;
  readonly counts: Counts;
  /** Milliseconds of a monotonic clock. */
  readonly elapsed: () => number;
}

/** Minimum and maximum seconds to cache a finding. Between these limits, the TTL from DNS applies. */
export const CACHE_SECONDS: Readonly<Record<MailExchange["outcome"], readonly [number, number]>> = {
  found: [60, 3_600],
  implicit: [60, 3_600],
  null: [60, 3_600],
  // This is short, because newly registered domains must not remain NXDOMAIN.
  none: [30, 300],
  nxdomain: [30, 300],
  timeout: [5, 5],
  failed: [5, 5],
};
/**
 * RFC 2308 5: a negative answer without an SOA record has no TTL and should not be cached. One second limits repeated
 * queries.
 */
const NO_TTL_SECONDS = 1;

/** The maximum share of each resource for one key, even while no other key uses the resource. */
const ALONE = 0.75;

const TIMED_OUT: MxFinding = { outcome: "timeout", known: [] };
const FAILED: MxFinding = { outcome: "failed", known: [] };
const BUSY: MxFinding = { outcome: "busy", known: [] };

/** A request that waits for a slot. */
interface QueuedRequest {
  readonly host: string;
  readonly key: KeyId;
  /** Ends the wait and passes on the finding. */
  readonly answerWith: (finding: MxFinding | Promise<MxFinding>) => void;
}

export class MxLookups {
  private readonly options: Required<MxLookupsOptions>;
  private readonly cache: ExpiringMap<MxFinding>;
  /** Running lookups by host. */
  private readonly underWay = new Map<string, Promise<MxFinding>>();
  /** Waiting requests by key, each in order of arrival. */
  private readonly queues = new Map<KeyId, Set<QueuedRequest>>();
  private readonly places: FairShares;
  private readonly slots: FairShares;
  /** Running lookups that have freed their slots. */
  private readonly slow: FairShares;
  /** One controller for each running lookup. */
  private readonly aborts = new Set<AbortController>();
  private stopped = false;

  constructor(options: MxLookupsOptions) {
    this.options = { ...MX_LIMITS, ...options };
    this.cache = new ExpiringMap(options.elapsed, this.options.maxCached);
    const shared = (count: number) => new FairShares(count, Math.ceil(ALONE * count));
    this.slots = shared(this.options.maxUnderWay);
    this.slow = shared(this.options.maxUnderWay);
    this.places = shared(this.options.maxWaiting);
    this.shareState();
  }

  /** @returns a promise only if the host is not cached; the promise settles within the budget */
  find(host: string, key: KeyId): MxFinding | Promise<MxFinding> {
    const cached = this.cache.get(host);
    if (cached !== undefined) {
      this.options.counts.countMxHit();
      return cached;
    }
    if (this.stopped) return FAILED;
    const shared = this.underWay.get(host);
    if (shared === undefined && !this.slots.take(key))
      return this.places.take(key) ? this.waitForSlot(host, key) : BUSY;
    return this.withinBudget(() => TIMED_OUT, shared ?? this.start(host, key)).promise;
  }

  /** Aborts all lookups. Waiting requests get "timeout". */
  stop(): void {
    this.stopped = true;
    for (const abort of this.aborts) abort.abort();
    for (const request of [...this.queues.values()].flatMap((queue) => [...queue])) {
      this.unqueue(request);
      request.answerWith(TIMED_OUT);
    }
  }

  /** @param instead returns the finding to use when the budget is spent */
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

  /** @param key must already hold a waiting place */
  private waitForSlot(host: string, key: KeyId): Promise<MxFinding> {
    const { promise, answerWith } = this.withinBudget(() => (this.unqueue(request) ? BUSY : TIMED_OUT));
    const request: QueuedRequest = { host, key, answerWith };
    const queue = this.queues.get(key);
    if (queue === undefined) this.queues.set(key, new Set([request]));
    else queue.add(request);
    this.shareState();
    return promise;
  }

  /** @returns whether the request was in the queue */
  private unqueue(request: QueuedRequest): boolean {
    const { key } = request;
    const queue = this.queues.get(key);
    if (queue?.delete(request) !== true) return false;
    if (queue.size === 0) this.queues.delete(key);
    this.places.giveBack(key);
    this.shareState();
    return true;
  }

  /** Writes the state into the counts, which other threads read. */
  private shareState(): void {
    this.options.counts.setMxState({
      underWay: this.slots.taken + this.slow.taken,
      waiting: this.places.taken,
      cached: this.cache.size,
    });
  }

  /** Answers queued requests while slots are free, beginning with the key that has the fewest slots. */
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

  /** @param key must already hold a slot */
  private start(host: string, key: KeyId): Promise<MxFinding> {
    const finding = this.lookUp(host, key);
    this.underWay.set(host, finding);
    this.shareState();
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
      this.shareState();
      this.startNext();
    };
    const deadline = setTimeout(() => abort.abort(), lookupMs);
    // The slot becomes free 1 ms after the requests time out, so that requests queued until then do not start a lookup.
    const slow = setTimeout(freeSlot, budgetMs + 1);
    const found = await findMailExchange(dns, host, abort.signal).catch(() => FAILURE);
    clearTimeout(deadline);
    clearTimeout(slow);
    this.aborts.delete(abort);
    share?.giveBack(key);
    this.underWay.delete(host);
    counts.countMxLookup(found.outcome, elapsed() - started);
    const finding = { outcome: found.outcome, known: knownHosts(found.hosts) };
    this.store(host, finding, found);
    this.shareState();
    this.startNext();
    return finding;
  }

  private store(host: string, finding: MxFinding, { outcome, ttlSeconds }: MailExchange): void {
    const [least, most] = CACHE_SECONDS[outcome];
    const seconds = ttlSeconds === undefined ? NO_TTL_SECONDS : Math.min(Math.max(ttlSeconds, least), most);
    this.cache.set(host, finding, seconds);
  }
}
