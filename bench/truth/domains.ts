// domains.ts: measures how many disposable domains the policy finds, and how many ordinary domains it calls disposable,
// with the lists of each build.
//
// No list of live disposable services is independent of all feeds. So the policy judges without the list of the sample,
// and the recall is the share of the sample that the policy still finds. The mirror's disposable-domains copies most
// samples, so the true recall lies between the row without the list and the row without disposable-domains as well.
// "Live" domains are those that FakeFilter still saw on their service's page in the 30 days before the date of
// FakeFilter's copy.
//
// Limits and rules are chosen on one half of each sample, and the other half scores them (`isHeldOut`). The rules until
// 29 November 2026 were chosen on whole samples, so both halves flatter them.

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
import { MIRROR } from "../lib/shared-folders.ts";
import { count, type Mode, share, type TruthRow } from "./rows.ts";
import { isThere, SAMPLE, type Sample } from "./samples.ts";

const COMPILER = join(ROOT, "packages/compiler");
const LIVE_SECONDS = 30 * 86_400;
const DOMAIN_FEEDS = FEEDS.filter(({ format, optIn }) => isDomainFormat(format) && optIn === undefined);
/** Takes entries from the other lists. */
const COLLECTION = "disposable-domains";
const POPULAR = ["cloudflare-top-100k", "tranco-10k"] as const;

/**
 * Returns the rows of two main measures: recall of live services, and ordinary popular domains that are called
 * disposable. `more` has further measures.
 */
export function measureDisposable(): {
  readonly main: readonly TruthRow[];
  readonly more: readonly TruthRow[];
} {
  const modes = existsSync(MIRROR) ? (["mirror", "seeds"] as const) : (["seeds"] as const);
  const each = modes.map((mode) => {
    const claims = claimsOf(mode);
    const reviewed = claims.find(({ feed }) => feed === "disposable-email-domains")!;
    const target = mode === "mirror" ? "at least 85%" : "at least 65%";
    return {
      main: [
        ...ordinaryRows(mode, claims),
        ...recallRows(mode, claims, "fakefilter", liveDomains(), "live domains of FakeFilter", target),
        ...recallRows(mode, claims, reviewed.feed, addedTo(reviewed), SAMPLE.earlier.name, target),
        ...serviceRows(mode, claims, target),
      ],
      more: [
        ...recallRows(mode, claims, reviewed.feed, namesOf(reviewed), "disposable-email-domains"),
        ...precisionRows(mode, claims),
        ...ruleRows(mode, claims),
      ],
    };
  });
  return { main: each.flatMap(({ main }) => main), more: each.flatMap(({ more }) => more) };
}

/** Splits by a hash of the name, so that a sample that grows keeps its halves. */
const isHeldOut = (name: string) =>
  /[13579bdf]$/.test(new Bun.SHA256().update(name).digest("hex").slice(0, 2));
const heldOut = (names: readonly string[]) => names.filter(isHeldOut);
const tuning = (names: readonly string[]) => names.filter((name) => !isHeldOut(name));

const ORDINARY = "popular and disposable, excluding services";

/**
 * Counts wrong verdicts on lists that the build does not use. The mirror uses Cloudflare's list as a guard, so the
 * sample from that list is judged without the guard.
 */
function ordinaryRows(mode: Mode, claims: readonly DomainClaims[]): TruthRow[] {
  const lists = claims.filter(({ subject }) => subject === "disposable");
  const wrong = (of: readonly DomainClaims[], domains: readonly string[]) =>
    flagged(judgeDomains(of), domains).filter((domain) => !isServices(domain, lists)).length;
  const measured = { measure: ORDINARY, mode, target: "at most 5", seen: "held out" } as const;
  const missing = (sample: Sample): TruthRow => ({ ...measured, ...notMeasured(sample) });
  const rows: TruthRow[] = [];
  if (isThere(SAMPLE.embedded)) {
    const domains = heldOut(embeddedDomains());
    const sample = `${SAMPLE.embedded.name}, ${count(domains.length)}`;
    rows.push({ ...measured, sample, value: count(wrong(claims, domains)) });
  } else rows.push(missing(SAMPLE.embedded));
  if (isThere(SAMPLE.popular)) {
    const domains = heldOut(misp(SAMPLE.popular.path));
    const without = claims.filter(({ subject }) => subject !== "popular");
    const sample = `${SAMPLE.popular.name}, ${count(domains.length)}, none used as a guard`;
    rows.push({ ...measured, sample, value: count(wrong(without, domains)) });
  } else rows.push(missing(SAMPLE.popular));
  for (const [sample, read] of [
    [SAMPLE.organisations, organisations],
    [SAMPLE.authors, () => registrable(lines(SAMPLE.authors.path))],
  ] as const) {
    const ofPeople = {
      ...measured,
      measure: "disposable, excluding services",
      target: "at most 1 in 10,000",
    };
    if (!isThere(sample)) rows.push({ ...ofPeople, ...notMeasured(sample) });
    else {
      const domains = heldOut(read());
      const found = wrong(claims, domains);
      const value = `${((10_000 * found) / domains.length).toFixed(1)} in 10,000 (${found})`;
      rows.push({ ...ofPeople, sample: `${sample.name}, ${count(domains.length)}`, value });
    }
  }
  return rows;
}

const notMeasured = (sample: Sample) =>
  ({ sample: sample.name, value: undefined, seen: `not measured: lacks ${sample.from}` }) as const;

/** Returns the registrable domains of hosts. */
const registrable = (hosts: readonly string[]) => [
  ...new Set(hosts.flatMap((host) => walkUp(host).at(-1) ?? [])),
];

const embeddedDomains = () =>
  registrable(
    readFileSync(SAMPLE.embedded.path, "utf8")
      .split("\n")
      .map((line) => line.split(",", 1)[0]!),
  );

/** Returns the domains of the official websites in Wikidata. */
function organisations(): string[] {
  const { wikidata }: { wikidata: Record<string, { officialWebsites?: string[] }> } = JSON.parse(
    readFileSync(SAMPLE.organisations.path, "utf8"),
  );
  const urls = Object.values(wikidata).flatMap(({ officialWebsites = [] }) => officialWebsites);
  return registrable(urls.flatMap((url) => (URL.canParse(url) ? new URL(url).hostname : [])));
}

function recallRows(
  mode: Mode,
  claims: readonly DomainClaims[],
  held: string,
  all: readonly string[],
  name: string,
  target?: string,
): TruthRow[] {
  const domains = heldOut(all);
  const sample = `${name}, ${count(domains.length)}`;
  const without = claims.filter(({ feed }) => feed !== held);
  const independent = without.filter(({ feed }) => feed !== COLLECTION);
  const recall = (of: readonly DomainClaims[]) => percent(flagged(judgeDomains(of), domains), domains);
  const row = (measure: string, of: readonly DomainClaims[], seen: TruthRow["seen"]) => ({
    measure: `disposable found${measure}`,
    sample,
    mode,
    value: recall(of),
    seen,
  });
  return [
    row("", claims, "built from"),
    { ...row(", list held out", without, "held out"), ...(target && { target }) },
    row(", list and its copies held out", independent, "held out"),
  ];
}

/**
 * Measures the recall for domains that another publisher observed. Only Castle's list is a feed, which is left out here.
 */
function serviceRows(mode: Mode, all: readonly DomainClaims[], target: string): TruthRow[] {
  const claims = all.filter(({ feed }) => feed !== "castle-domains");
  const measures = [
    ["disposable found", judgeDomains(claims), { target }],
    ["disposable found, without disposable-domains", judgeDomains(claims.filter(isNotCollection)), {}],
  ] as const;
  return [SAMPLE.castle, SAMPLE.emailondeck, SAMPLE.kukulu, SAMPLE.mailinator].flatMap((sample) =>
    measures.map(([measure, verdicts, more]): TruthRow => {
      const row = { measure, mode, ...more };
      if (!isThere(sample)) return { ...row, ...notMeasured(sample) };
      const domains = heldOut(readFileSync(sample.path, "utf8").split("\n").filter(Boolean));
      const found = sample === SAMPLE.mailinator ? hashed(verdicts, domains) : flagged(verdicts, domains);
      const name = `${sample.name}, ${count(domains.length)}`;
      return { ...row, sample: name, value: percent(found, domains), seen: "held out" };
    }),
  );
}

const isNotCollection = ({ feed }: DomainClaims) => feed !== COLLECTION;

/** Returns the hashes of disposable domains. The publisher of the sample shows only SHA-1 hashes. */
function hashed({ disposable }: DomainVerdicts, hashes: readonly string[]): string[] {
  const found = new Set([...disposable.keys()].map((name) => new Bun.SHA1().update(name).digest("hex")));
  return hashes.filter((hash) => found.has(hash));
}

/** Scores any list of disposable domains on the held-out halves. @returns sample, measure and value of each row */
export function scoreDomainList(list: ReadonlySet<string>): [string, string, string][] {
  const lists = claimsOf(existsSync(MIRROR) ? "mirror" : "seeds").filter(
    ({ subject }) => subject === "disposable",
  );
  const reviewed = lists.find(({ feed }) => feed === "disposable-email-domains")!;
  const listed = (domains: readonly string[]) =>
    domains.filter((domain) => walkUp(domain).some((name) => list.has(name)));
  const services: [string, Sample | undefined, () => readonly string[]][] = [
    ["live domains of FakeFilter", undefined, liveDomains],
    [SAMPLE.earlier.name, SAMPLE.earlier, () => addedTo(reviewed)],
    [SAMPLE.emailondeck.name, SAMPLE.emailondeck, () => lines(SAMPLE.emailondeck.path)],
    [SAMPLE.kukulu.name, SAMPLE.kukulu, () => lines(SAMPLE.kukulu.path)],
  ];
  const ordinary: [Sample, () => readonly string[]][] = [
    [SAMPLE.embedded, embeddedDomains],
    [SAMPLE.popular, () => misp(SAMPLE.popular.path)],
    [SAMPLE.organisations, organisations],
    [SAMPLE.authors, () => registrable(lines(SAMPLE.authors.path))],
    [SAMPLE.universities, () => misp(SAMPLE.universities.path)],
  ];
  return [
    ...services.flatMap(([name, sample, read]): [string, string, string][] => {
      if (sample !== undefined && !isThere(sample)) return [];
      const domains = heldOut(read());
      return [[`${name}, ${count(domains.length)}`, "found", percent(listed(domains), domains)]];
    }),
    ...ordinary.flatMap(([sample, read]): [string, string, string][] => {
      if (!isThere(sample)) return [];
      const domains = heldOut(read());
      const wrong = listed(domains).filter((domain) => !isServices(domain, lists));
      return [
        [`${sample.name}, ${count(domains.length)}`, "listed, excluding services", count(wrong.length)],
      ];
    }),
  ];
}

/** Returns the domains that a list has and version 1.20.0 of its seed lacks. */
function addedTo(list: DomainClaims): string[] {
  const earlier = parseDomains("domain-json", readFileSync(SAMPLE.earlier.path)).domains;
  return namesOf(list).filter((domain) => !earlier.has(domain));
}

/** Compares the rule about copies with others, on the half for tuning: what it finds, and what it flags wrongly. */
function ruleRows(mode: Mode, claims: readonly DomainClaims[]): TruthRow[] {
  const ordinary = claims.filter(({ subject }) => subject !== "popular");
  const rules: readonly (readonly [string, readonly DomainClaims[]])[] = [
    [
      "every list decides",
      ordinary.flatMap((one) => (one.subject === "copied" ? [] : { ...one, weight: 4 })),
    ],
    ["old collections confirm each other (chosen)", ordinary],
    [
      "old collections count once",
      ordinary.map((one) => (one.subject === "copied" ? { ...one, lineage: ["ivolo-domains"] } : one)),
    ],
    ["without lists that copy", ordinary.filter(({ lineage = [] }) => lineage.length === 0)],
  ];
  const lists = claims.filter(({ subject }) => subject === "disposable");
  const live = tuning(liveDomains());
  return rules.flatMap(([rule, of]) => {
    const verdicts = judgeDomains(of);
    const withoutLive = judgeDomains(of.filter(({ feed }) => feed !== "fakefilter"));
    const row = { mode, seen: "held out", sample: `rule: ${rule}` } as const;
    const wrong = (domains: readonly string[]) =>
      count(flagged(verdicts, domains).filter((domain) => !isServices(domain, lists)).length);
    return [
      { ...row, measure: "disposable domains", value: count(verdicts.disposable.size) },
      {
        ...row,
        measure: "live found, FakeFilter held out",
        value: percent(flagged(withoutLive, live), live),
      },
      ...(isThere(SAMPLE.emailondeck)
        ? [SAMPLE.emailondeck].map(({ path }) => {
            const domains = tuning(lines(path));
            return {
              ...row,
              measure: "emailondeck.com's found",
              value: percent(flagged(verdicts, domains), domains),
            };
          })
        : []),
      ...(isThere(SAMPLE.popular)
        ? [
            {
              ...row,
              measure: "popular and disposable, no guard",
              value: wrong(tuning(misp(SAMPLE.popular.path))),
            },
          ]
        : []),
      ...(isThere(SAMPLE.embedded)
        ? [{ ...row, measure: "embedded and disposable", value: wrong(tuning(embeddedDomains())) }]
        : []),
    ];
  });
}

function precisionRows(mode: Mode, claims: readonly DomainClaims[]): TruthRow[] {
  const verdicts = judgeDomains(claims);
  const lists = claims.filter(({ subject }) => subject === "disposable");
  const rows: TruthRow[] = [];
  const add = (
    name: string,
    domains: readonly string[],
    seen: TruthRow["seen"],
    of = verdicts,
    target = "0",
  ) =>
    rows.push({
      measure: "legitimate and disposable",
      sample: `${name}, ${count(domains.length)}`,
      mode,
      value: count(flagged(of, domains).filter((domain) => !isServices(domain, lists)).length),
      target,
      seen,
    });
  for (const { subject, feed, domains } of claims)
    if (subject === "free" || subject === "relay") add(feed, [...domains.keys()], "built from");
  for (const sample of [SAMPLE.universities, SAMPLE.allowed, SAMPLE.mailProviders]) {
    const read = sample === SAMPLE.universities ? misp : lines;
    if (isThere(sample)) add(sample.name, read(sample.path), "held out");
    else rows.push({ measure: "legitimate and disposable", mode, ...notMeasured(sample) });
  }
  if (isThere(SAMPLE.popular) && isThere(SAMPLE.ranked)) {
    const [half, other] = split(misp(SAMPLE.popular.path));
    const ordinary = claims.filter(({ subject }) => subject !== "popular");
    const guarded = judgeDomains([...ordinary, claim(POPULAR[0], "popular", half)]);
    add("popular domains, the half that guards", half, "built from", guarded);
    add("popular domains, the other half", other, "held out", guarded, "as few as can be");
    const ranked = misp(SAMPLE.ranked.path);
    const popular = [claim(POPULAR[0], "popular", [...half, ...other]), claim(POPULAR[1], "popular", ranked)];
    const all = judgeDomains([...ordinary, ...popular]);
    add("popular domains, all as guards", [...half, ...other, ...ranked], "built from", all);
  }
  const below = claims
    .filter(({ subject }) => subject === "shared")
    .flatMap(({ domains }) => [...domains.keys()].map((name) => `a-name-on-no-list.${name}`));
  add("names below shared domains", below, "built from");
  const typos = [...verdicts.disposable.keys()].filter((domain) => suggestDomain(domain) !== undefined);
  rows.push({
    measure: "mistyped and disposable at once",
    sample: "disposable domains",
    mode,
    value: `${count(typos.length)} of ${count(verdicts.disposable.size)}`,
    seen: "built from",
  });
  return rows;
}

/**
 * Is the domain a service according to its own page, or according to two lists that do not copy each other? A service
 * may be both popular and disposable.
 */
function isServices(domain: string, lists: readonly DomainClaims[]): boolean {
  const naming = lists.filter(({ domains }) => walkUp(domain).some((name) => domains.has(name)));
  const known = naming.filter(({ feed, lineage = [] }) => weightOf(feed) > 1 && lineage.length === 0);
  return known.length > 1 || known.some(({ feed }) => weightOf(feed) > 2);
}

const flagged = ({ disposable }: DomainVerdicts, domains: readonly string[]) =>
  domains.filter((domain) => walkUp(domain).some((name) => disposable.has(name)));

const percent = (some: readonly string[], all: readonly string[]) => share(some.length, all.length);

/** Splits domains alternately in alphabetical order, because that order is unrelated to the domains' kinds. */
function split(domains: readonly string[]): readonly [string[], string[]] {
  const sorted = domains.toSorted();
  return [sorted.filter((_, i) => i % 2 === 0), sorted.filter((_, i) => i % 2 === 1)];
}

function claimsOf(from: "mirror" | "seeds"): DomainClaims[] {
  return DOMAIN_FEEDS.flatMap((feed): DomainClaims | [] => {
    const seed =
      feed.seed && ([packageFile(feed.seed.package, feed.seed.files[0]!), feed.seed.format] as const);
    const own = feed.own && ([join(COMPILER, feed.own), feed.format] as const);
    const copy = (from === "mirror" && mirrored(feed)) || own || seed; // in the order that a build uses
    if (copy === undefined) return [];
    const { domains } = parseDomains(copy[1], readFileSync(copy[0]));
    return { feed: feed.id, subject: feed.sets as DomainSubject, domains, lineage: feed.lineage ?? [] };
  });
}

function mirrored({ id, format }: (typeof DOMAIN_FEEDS)[number]) {
  const path = ["txt", "json"].map((ending) => join(MIRROR, `${id}.${ending}`)).find(existsSync);
  return path === undefined ? undefined : ([path, format] as const);
}

/** FakeFilter's package records when it first and last saw each domain, in seconds since 1970. */
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
