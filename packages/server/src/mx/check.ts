// check.ts: can a domain receive mail, and who receives it? Asked of DNS, within a budget.
//
// in   a host from toAsciiDomain
// out  what DNS says of it; "timeout" or "failed" when that could not be learned in time
// err  none thrown
// src  RFC 5321 5.1 (no MX: the address is the mail host), RFC 7505 (null MX), RFC 2308 (keeping "no"),
//      RFC 9520 (keeping failures); docs/email.md
// cost a domain that is kept: a look into a map. Others: one question; two or three without an MX record; dns-client.ts
//      asks one more about NXDOMAIN
//
// A request waits for BUDGET_MS, queueing included; the look-up behind it goes on for LOOKUP_MS, so that the next
// request for the same domain has an answer. Requests for one domain share one look-up. At most MAX_UNDER_WAY
// look-ups ask at once, MAX_WAITING more wait; one that nobody waits for any more is not begun. A look-up that is
// slower than the budget gives its place to the next, so that a silent domain holds nobody up for longer; as many as
// have places may go on like that, further ones are given up.

import type { MxCounts } from "./counts.ts";
import type { DnsOutcome } from "./dns-client.ts";
import type { MxRecord, RecordType } from "./dns-message.ts";
import { knownHosts } from "./hosts.ts";
import { BELIEF_SECONDS } from "./nxdomain-cache.ts";
import type { MxFinding, MxOutcome } from "./outcome.ts";

/** What the look-ups need of DNS. */
export interface Asker {
  ask(host: string, type: RecordType, signal: AbortSignal): Promise<DnsOutcome>;
}

export interface MxLookupsOptions {
  readonly dns: Asker;
  readonly counts: MxCounts;
  /** Milliseconds of a clock that only goes on. */
  readonly elapsed: () => number;
  readonly maxUnderWay?: number;
  readonly maxWaiting?: number;
  readonly maxKept?: number;
  readonly budgetMs?: number;
  readonly lookupMs?: number;
}

export const BUDGET_MS = 500;
export const LOOKUP_MS = 3_000;
export const MAX_UNDER_WAY = 64;
export const MAX_WAITING = 4_096;
export const MAX_KEPT = 10_000;

/** How long an answer is kept, in seconds: what DNS says, but within these bounds. */
export const KEPT_SECONDS: Readonly<Record<Exclude<MxOutcome, "skipped">, readonly [number, number]>> = {
  found: [60, 3_600],
  implicit: [60, 3_600],
  null: [60, 3_600],
  // A person who has just registered a domain waits for this one.
  none: [30, 300],
  nxdomain: [30, 300],
  timeout: [5, 5],
  failed: [5, 5],
};

/** RFC 2308 5: a "no" without an SOA record does not say how long it holds, and is not to be kept for long. */
export const UNSAID_SECONDS = BELIEF_SECONDS;

const TIMED_OUT: MxFinding = { outcome: "timeout", known: [] };
const FAILED: MxFinding = { outcome: "failed", known: [] };

interface Learned {
  readonly finding: MxFinding;
  /** Undefined where DNS does not say. */
  readonly ttlSeconds: number | undefined;
}

interface Kept {
  readonly finding: MxFinding;
  readonly until: number;
}

/** One look-up, and how many requests wait for it. */
interface Flight {
  readonly host: string;
  readonly promise: Promise<MxFinding>;
  readonly settle: (finding: MxFinding) => void;
  waiters: number;
}

export class MxLookups {
  private readonly options: Required<MxLookupsOptions>;
  /** Oldest first, so that the first is the one to go. */
  private readonly kept = new Map<string, Kept>();
  /** Queued and under way, by host. */
  private readonly flights = new Map<string, Flight>();
  private readonly queue = new Set<Flight>();
  /** Look-ups that have a place. */
  private underWay = 0;
  /** Look-ups that have given theirs up. */
  private lingering = 0;
  /** Each ends one look-up under way. */
  private readonly enders = new Set<AbortController>();
  private stopped = false;

  constructor(options: MxLookupsOptions) {
    this.options = {
      maxUnderWay: MAX_UNDER_WAY,
      maxWaiting: MAX_WAITING,
      maxKept: MAX_KEPT,
      budgetMs: BUDGET_MS,
      lookupMs: LOOKUP_MS,
      ...options,
    };
    options.counts.readStateFrom(() => ({
      underWay: this.underWay + this.lingering,
      waiting: this.queue.size,
      kept: this.kept.size,
    }));
  }

  /**
   * What DNS says of mail for a host.
   * @returns a promise only where DNS has to be asked; it is kept within the budget
   */
  find(host: string): MxFinding | Promise<MxFinding> {
    const { counts } = this.options;
    const kept = this.keptFor(host);
    if (kept !== undefined) {
      counts.countCacheHit();
      return kept;
    }
    const flight = this.flights.get(host) ?? this.begin(host);
    return flight === undefined ? FAILED : this.wait(flight);
  }

  /** Ends all look-ups; those who wait are told "timeout". */
  stop(): void {
    this.stopped = true;
    for (const ender of this.enders) ender.abort();
    for (const flight of this.queue) flight.settle(TIMED_OUT);
    this.queue.clear();
  }

  private keptFor(host: string): MxFinding | undefined {
    const kept = this.kept.get(host);
    if (kept === undefined) return undefined;
    if (kept.until > this.options.elapsed()) return kept.finding;
    this.kept.delete(host);
    return undefined;
  }

  private keep(host: string, { finding, ttlSeconds }: Learned): void {
    const [least, most] = KEPT_SECONDS[finding.outcome as keyof typeof KEPT_SECONDS];
    const seconds = ttlSeconds === undefined ? UNSAID_SECONDS : Math.min(Math.max(ttlSeconds, least), most);
    if (this.kept.size >= this.options.maxKept) this.kept.delete(this.kept.keys().next().value!);
    this.kept.set(host, { finding, until: this.options.elapsed() + seconds * 1000 });
  }

  /** A new look-up; undefined when too many wait already, or none may begin any more. */
  private begin(host: string): Flight | undefined {
    const { maxUnderWay, maxWaiting } = this.options;
    if (this.stopped) return undefined;
    if (this.underWay >= maxUnderWay && this.queue.size >= maxWaiting) return undefined;
    const { promise, resolve } = Promise.withResolvers<MxFinding>();
    const flight: Flight = { host, promise, settle: resolve, waiters: 0 };
    this.flights.set(host, flight);
    if (this.underWay < maxUnderWay) void this.fly(flight);
    else this.queue.add(flight);
    return flight;
  }

  private wait(flight: Flight): Promise<MxFinding> {
    flight.waiters++;
    const { promise, resolve } = Promise.withResolvers<MxFinding>();
    const timer = setTimeout(() => {
      flight.waiters--;
      if (flight.waiters === 0 && this.queue.delete(flight)) this.flights.delete(flight.host);
      resolve(TIMED_OUT);
    }, this.options.budgetMs);
    void flight.promise.then((finding) => {
      clearTimeout(timer);
      resolve(finding);
    });
    return promise;
  }

  private async fly(flight: Flight): Promise<void> {
    const { dns, counts, elapsed } = this.options;
    this.underWay++;
    const started = elapsed();
    const ender = new AbortController();
    this.enders.add(ender);
    const end = setTimeout(() => ender.abort(), this.options.lookupMs);
    let hasPlace = true;
    const givePlaceUp = () => {
      hasPlace = false;
      this.underWay--;
      if (this.lingering++ >= this.options.maxUnderWay) ender.abort();
      this.flyNext();
    };
    // A little later than the requests that came with it, so that what they queued is not begun for nobody.
    const slow = setTimeout(givePlaceUp, this.options.budgetMs + 1);
    const learned = await learn(dns, flight.host, ender.signal).catch((): Learned => FAILURE);
    clearTimeout(end);
    clearTimeout(slow);
    this.enders.delete(ender);
    if (hasPlace) this.underWay--;
    else this.lingering--;
    this.flights.delete(flight.host);
    counts.countLookup(learned.finding.outcome, elapsed() - started);
    this.keep(flight.host, learned);
    flight.settle(learned.finding);
    if (hasPlace) this.flyNext();
  }

  private flyNext(): void {
    const [next] = this.queue;
    if (next === undefined) return;
    this.queue.delete(next);
    void this.fly(next);
  }
}

const FAILURE: Learned = { finding: FAILED, ttlSeconds: 0 };
const TIMEOUT: Learned = { finding: TIMED_OUT, ttlSeconds: 0 };

/** RFC 5321 5.1: the MX records, and without any the host's own addresses. */
async function learn(dns: Asker, host: string, signal: AbortSignal): Promise<Learned> {
  const reply = await dns.ask(host, "mx", signal);
  if (reply.kind === "timeout") return TIMEOUT;
  if (reply.kind === "failed") return FAILURE;
  if (reply.kind === "nxdomain") return plain("nxdomain", reply.ttlSeconds);
  if (reply.kind === "records") return fromRecords(reply.mx, reply.ttlSeconds);
  return learnAddress(dns, host, reply.ttlSeconds, signal);
}

/** A null MX stands alone (RFC 7505 3); beside other records the root is a slip, and is passed over. */
function fromRecords(records: readonly MxRecord[], ttlSeconds: number): Learned {
  const hosts = records.filter(({ host }) => host !== "");
  if (hosts.length === 0) return plain("null", ttlSeconds);
  const best = Math.min(...hosts.map(({ preference }) => preference));
  const first = hosts.filter(({ preference }) => preference === best).map(({ host }) => host);
  return { finding: { outcome: "found", known: knownHosts(first) }, ttlSeconds };
}

async function learnAddress(
  dns: Asker,
  host: string,
  noMxSeconds: number | undefined,
  signal: AbortSignal,
): Promise<Learned> {
  const replies: DnsOutcome[] = [];
  for (const type of ["a", "aaaa"] as const) {
    const reply = await dns.ask(host, type, signal);
    if (reply.kind === "records") {
      const seconds = noMxSeconds === undefined ? undefined : Math.min(noMxSeconds, reply.ttlSeconds);
      return plain("implicit", seconds);
    }
    replies.push(reply);
  }
  if (replies.some(({ kind }) => kind === "timeout")) return TIMEOUT;
  if (replies.some(({ kind }) => kind === "failed")) return FAILURE;
  // Some servers say NXDOMAIN for a type that they do not know; the reply about MX said that the name exists.
  return plain("none", noMxSeconds);
}

function plain(outcome: Exclude<MxOutcome, "found" | "skipped">, ttlSeconds: number | undefined): Learned {
  return { finding: { outcome, known: [] }, ttlSeconds };
}
