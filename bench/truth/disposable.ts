// disposable.ts: are the right mail domains disposable? Recall on live services, wrong ones among legitimate domains.
//
// in   the mirror and the vectors where they are, the seeds in npm packages, our own lists
// out  a row for each sample; none without its data
// note No list of live services is independent of all feeds, so a list is held out: the policy judges without it, and what
//      it finds of that list's domains is the recall. The mirror's disposable-domains takes entries from either list, so
//      the true recall lies between the two rows; tompec-domains collects from services itself. Live are domains that FakeFilter still saw on their service's page in the 30 days before its copy was made.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { suggestDomain, walkUp } from "@inkling/engine";
import {
  type DomainClaims,
  type DomainSubject,
  type DomainVerdicts,
  FEEDS,
  isDomainFormat,
  judgeDomains,
  parseDomains,
  weightOf,
} from "../lib/compiler.ts";
import { ROOT } from "../lib/data.ts";
import { MIRROR, VECTORS } from "../lib/shared-folders.ts";
import { count, share, type TruthRow } from "./row.ts";

const COMPILER = join(ROOT, "packages/compiler");
const LIVE_SECONDS = 30 * 86_400;
const DOMAIN_FEEDS = FEEDS.filter(({ format, optIn }) => isDomainFormat(format) && optIn === undefined);
/** Both take entries from the other lists; the second is the first without domains that have no mail server. */
const COLLECTIONS = ["disposable-domains", "disposable-domains-mx"];
const POPULAR = ["cloudflare-top-100k", "tranco-10k"] as const;

export async function measureDisposable(): Promise<readonly TruthRow[]> {
  const rows: TruthRow[] = [];
  const copies = { seeds: claimsOf("seeds"), ...(existsSync(MIRROR) && { mirror: claimsOf("mirror") }) };
  for (const [from, claims] of Object.entries(copies)) {
    const target = from === "mirror" ? "at least 76 %" : "at least 69 %";
    rows.push(...recallRows(from, claims, "fakefilter", liveDomains(), "live domains of FakeFilter", target));
    const reviewed = claims.find(({ feed }) => feed === "disposable-email-domains");
    if (reviewed !== undefined)
      rows.push(...recallRows(from, claims, reviewed.feed, namesOf(reviewed), "disposable-email-domains"));
    rows.push(...precisionRows(from, claims));
  }
  return rows;
}

function recallRows(
  from: string,
  claims: readonly DomainClaims[],
  held: string,
  domains: readonly string[],
  name: string,
  target?: string,
): TruthRow[] {
  const sample = `${name}, ${count(domains.length)}`;
  const measure = `disposable found with the ${from}`;
  const without = claims.filter(({ feed }) => feed !== held);
  const independent = without.filter(({ feed }) => !COLLECTIONS.includes(feed));
  const recall = (of: readonly DomainClaims[]) => percent(flagged(judgeDomains(of), domains), domains);
  return [
    { measure, sample, value: recall(claims), seen: "built from" },
    {
      measure: `${measure}, list held out`,
      sample,
      value: recall(without),
      seen: "held out",
      ...(target && { target }),
    },
    ...(independent.length === without.length
      ? []
      : [
          {
            measure: `${measure}, list and its copies held out`,
            sample,
            value: recall(independent),
            seen: "held out" as const,
          },
        ]),
  ];
}

function precisionRows(from: string, claims: readonly DomainClaims[]): TruthRow[] {
  const verdicts = judgeDomains(claims);
  const lists = claims.filter(({ subject }) => subject === "disposable");
  const rows: TruthRow[] = [];
  const add = (
    name: string,
    domains: readonly string[],
    seen: TruthRow["seen"],
    of = verdicts,
    target = "0",
  ) => {
    const wrong = flagged(of, domains).filter((domain) => !isServices(domain, lists));
    const measure = `legitimate, disposable with the ${from}`;
    rows.push({
      measure,
      sample: `${name}, ${count(domains.length)}`,
      value: count(wrong.length),
      target,
      seen,
    });
  };
  for (const { subject, feed, domains } of claims)
    if (subject === "free" || subject === "relay") add(feed, [...domains.keys()], "built from");
  if (existsSync(VECTORS)) {
    const guards = join(VECTORS, "guards");
    add("universities", misp(join(guards, "university_domains.json")), "held out");
    add("allow-list of a checker", lines(join(guards, "whitelist.txt")), "held out");
  }
  if (existsSync(MIRROR)) {
    const [half, other] = split(misp(join(MIRROR, `${POPULAR[0]}.json`)));
    const tranco = misp(join(MIRROR, `${POPULAR[1]}.json`));
    const ordinary = claims.filter(({ subject }) => subject !== "popular");
    const guarded = judgeDomains([...ordinary, claim(POPULAR[0], "popular", half)]);
    add("popular domains, the half that guards", half, "built from", guarded);
    add("popular domains, the other half", other, "held out", guarded, "as few as can be");
    const popular = [claim(POPULAR[0], "popular", [...half, ...other]), claim(POPULAR[1], "popular", tranco)];
    add(
      "popular domains, all as guards",
      [...half, ...other, ...tranco],
      "built from",
      judgeDomains([...ordinary, ...popular]),
    );
  }
  const below = claims
    .filter(({ subject }) => subject === "shared")
    .flatMap(({ domains }) => [...domains.keys()].map((name) => `a-name-on-no-list.${name}`));
  add("names below shared domains", below, "built from");
  const typos = [...verdicts.disposable.keys()].filter((domain) => suggestDomain(domain) !== undefined);
  const measure = `mistyped and disposable at once with the ${from}`;
  rows.push({
    measure,
    sample: `disposable domains, ${count(verdicts.disposable.size)}`,
    value: count(typos.length),
    seen: "built from",
  });
  return rows;
}

/** A service by its own page or by two lists that do not copy each other: popular, and disposable all the same. */
function isServices(domain: string, lists: readonly DomainClaims[]): boolean {
  const naming = lists.filter(({ domains }) => walkUp(domain).some((name) => domains.has(name)));
  const known = naming.filter(({ feed }) => weightOf(feed) > 1);
  return known.length > 1 || known.some(({ feed }) => weightOf(feed) > 2);
}

const flagged = ({ disposable }: DomainVerdicts, domains: readonly string[]) =>
  domains.filter((domain) => walkUp(domain).some((name) => disposable.has(name)));

const percent = (some: readonly string[], all: readonly string[]) => share(some.length, all.length);

/** Every other domain in the order of names, which tells nothing about a domain. */
function split(domains: readonly string[]): readonly [string[], string[]] {
  const sorted = domains.toSorted();
  return [sorted.filter((_, i) => i % 2 === 0), sorted.filter((_, i) => i % 2 === 1)];
}

function claimsOf(from: "mirror" | "seeds"): DomainClaims[] {
  return DOMAIN_FEEDS.flatMap((feed): DomainClaims | [] => {
    const seed =
      feed.seed && ([packageFile(feed.seed.package, feed.seed.files[0]!), feed.seed.format] as const);
    const own = feed.own && ([join(COMPILER, feed.own), feed.format] as const);
    const copy = (from === "mirror" && mirrored(feed)) || own || seed; // in a build's order
    if (copy === undefined) return [];
    const { domains } = parseDomains(copy[1], readFileSync(copy[0]));
    return { feed: feed.id, subject: feed.sets as DomainSubject, domains, lineage: feed.lineage ?? [] };
  });
}

function mirrored({ id, format }: (typeof DOMAIN_FEEDS)[number]) {
  const path = ["txt", "json"].map((ending) => join(MIRROR, `${id}.${ending}`)).find(existsSync);
  return path === undefined ? undefined : ([path, format] as const);
}

/** FakeFilter's package has when it first and last saw each domain, in seconds since 1970. */
function liveDomains(): string[] {
  const file: { t: number; domains: Record<string, { hosts: Record<string, { lastseen: number }> }> } =
    JSON.parse(readFileSync(packageFile("fakefilter", "json/data_version2.json"), "utf8"));
  const hosts = Object.values(file.domains).flatMap((domain) => Object.entries(domain.hosts));
  return hosts.flatMap(([host, { lastseen }]) => (file.t - lastseen <= LIVE_SECONDS ? host : []));
}

const packageFile = (name: string, file: string) =>
  join(dirname(createRequire(join(COMPILER, "package.json")).resolve(`${name}/package.json`)), file);

const claim = (feed: string, subject: DomainSubject, domains: readonly string[]): DomainClaims => ({
  feed,
  subject,
  domains: new Map(domains.map((domain) => [domain, ""])),
});
const namesOf = ({ domains }: DomainClaims) => [...domains.keys()];
const misp = (path: string) => [...parseDomains("misp-domains", readFileSync(path)).domains.keys()];
const lines = (path: string) => [...parseDomains("domain-lines", readFileSync(path)).domains.keys()];
