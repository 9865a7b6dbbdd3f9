// mail-hosts.ts: looks up the mail hosts of domains that lists of only one origin contain.
//
// The result is the next copy of the feed "mail-hosts". So a build without DNS uses the copy that an earlier build
// kept, or that a mirror has, and comes to the same verdicts. A build looks up at most 10,000 domains: first those
// that it has never looked up, then those whose lookups are the oldest. If a lookup fails, the domain keeps the hosts
// of the earlier lookup.

import { findMailExchange, type Resolver } from "@inkling/data/dns";
import { toAsciiDomain } from "@inkling/engine";
import type { DomainClaims } from "../catalog/claims.ts";
import { FeedError } from "../catalog/feed.ts";
import { OWN_OBSERVATION, weightOf } from "../policy/domain-weights.ts";
import { judgeDomains } from "../policy/email.ts";

export const LIMITS = {
  lookups: 10_000,
  concurrent: 32,
  perSecond: 200,
  /** For all lookups of a build. */
  totalMs: 60_000,
  lookupMs: 3_000,
  /** Of a lookup, until the domain is looked up again. */
  days: 30,
  hosts: 10,
};

interface LookupEffects {
  readonly dns: Resolver;
  readonly now: Date;
  /** Domains that are never looked up, with all names below them. */
  readonly excluded: readonly string[];
  readonly limits?: Partial<typeof LIMITS>;
  readonly progress?: (done: number, total: number) => void;
}

/** No such name exists (RFC 6761 6.4), so a server that returns a mail host for it invents mail hosts. */
const CONTROL = "inkling-control.invalid";

/** Returns the domains whose verdict rests on one origin, and could change with a mail host. */
export function domainsToLookUp(claims: readonly DomainClaims[]): string[] {
  const { disposable, listed } = judgeDomains(claims.filter(({ subject }) => subject !== "mail_host"));
  const lists = claims.filter(({ subject }) => subject === "disposable" || subject === "copied");
  const single = [...disposable.keys()].filter((domain) => {
    const [only, ...others] = lists.filter(({ domains }) => domains.has(domain));
    return only !== undefined && others.length === 0 && weightOf(only.feed, only.weight) <= OWN_OBSERVATION;
  });
  return [...listed, ...single];
}

/**
 * Returns the next copy of the feed.
 * @param known the copy before, as its parser returns it
 * @throws FeedError if no lookup succeeds, or the DNS server invents mail hosts
 */
export async function lookUpMailHosts(
  domains: readonly string[],
  known: ReadonlyMap<string, string>,
  { dns, now, excluded, progress, ...given }: LookupEffects,
): Promise<Uint8Array> {
  const limits = { ...LIMITS, ...given.limits };
  const today = now.toISOString().slice(0, 10);
  const dueBefore = new Date(now.getTime() - limits.days * 86_400_000).toISOString().slice(0, 10);
  const isExcluded = (domain: string) => excluded.some((name) => `.${domain}`.endsWith(`.${name}`));
  const rows = new Map(
    domains.flatMap((domain) => (known.has(domain) ? [[domain, known.get(domain)!]] : [])),
  );
  const dateOf = (domain: string) => rows.get(domain)?.slice(0, 10) ?? "";
  const due = domains
    .filter((domain) => dateOf(domain) < dueBefore && !isExcluded(domain))
    .sort((a, b) => Number(dateOf(a) > dateOf(b)) - Number(dateOf(a) < dateOf(b)))
    .slice(0, limits.lookups);
  const started = performance.now();
  const lookUp = (domain: string) =>
    findMailExchange(dns, domain, AbortSignal.timeout(limits.lookupMs)).catch(() => undefined);
  if ((await lookUp(CONTROL))?.outcome === "found")
    throw new FeedError("is not updated: the DNS server invents mail hosts for names that do not exist");
  let succeeded = 0;
  let begun = 0;
  const work = async () => {
    for (;;) {
      const wait = (1000 * begun) / limits.perSecond - (performance.now() - started);
      const domain = due[begun];
      if (domain === undefined) return;
      begun++;
      if (wait > 0) await Bun.sleep(wait);
      if (performance.now() - started > limits.totalMs) return;
      const found = await lookUp(domain);
      const isAnswer = found !== undefined && found.outcome !== "failed" && found.outcome !== "timeout";
      if (isAnswer) succeeded++;
      const hosts = isAnswer ? hostsText(found.hosts, limits.hosts) : (rows.get(domain)?.slice(11) ?? "");
      rows.set(domain, `${today} ${hosts}`.trim());
      progress?.(begun, due.length);
    }
  };
  await Promise.all(Array.from({ length: limits.concurrent }, work));
  if (due.length > 0 && succeeded === 0) throw new FeedError("is not updated: DNS answered no lookup");
  const lines = [...rows].sort(([a], [b]) => (a < b ? -1 : 1));
  const text = lines.map(([domain, row]) => `${domain},${row.slice(0, 10)},${row.slice(11)}\n`).join("");
  return new TextEncoder().encode(`# domain,date of the lookup,mail hosts\n${text}`);
}

const hostsText = (hosts: readonly string[], max: number) =>
  hosts
    .filter((host) => toAsciiDomain(host) === host)
    .slice(0, max)
    .join(" ");
