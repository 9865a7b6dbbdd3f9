// truth.ts: `npm run bench -- truth`: how right the answers are, by samples; writes bench/TRUTH.md.
//
// in   the mirror and the never-flag lists where they are; a release that is built from them and the npm packages
// out  bench/TRUTH.md; a sample that is not on this machine has no row
// note Of places and flags the data tests have the figures (evidence, guards, accuracy). No list of live disposable services
//      is independent of all feeds, so a list is held out: the policy judges without it, and what it finds of that list's
//      domains is the recall. The mirror's disposable-domains takes entries from either list, so the true recall lies between
//      the two rows. Live are domains that FakeFilter still saw on their service's page in the 30 days before its copy.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import {
  Answerer,
  bodyOf,
  formatIp,
  INCLUDE,
  type LoadedRelease,
  Overrides,
  type Prefix,
  parsePrefix,
  suggestDomain,
  walkUp,
} from "@inkling/engine";
import { openServable } from "@inkling/release-store";
import {
  type DomainClaims,
  type DomainSubject,
  type DomainVerdicts,
  FEEDS,
  isDomainFormat,
  judgeDomains,
  parseDomains,
  weightOf,
} from "./lib/compiler.ts";
import { ROOT, releaseFolder, sourcesLine, updateRelease } from "./lib/data.ts";
import { BENCH } from "./lib/peers.ts";
import { MIRROR, VECTORS } from "./lib/shared-folders.ts";

interface TruthRow {
  readonly measure: string;
  /** What was looked up, with its size. */
  readonly sample: string;
  /** As text: "99.1 %", "0 of 5,312". */
  readonly value: string;
  readonly target?: string | undefined;
  /**
   * built from: the build has read the sample itself. operator: a rule names its owner, the build has not its list.
   * held out: neither.
   */
  readonly seen: "built from" | "operator" | "held out";
}

/** The value as the report shows it. A target says what is wanted of the first number: "0", "at least 69 %", "60 to 74 %"; others are not judged. */
function judged({ value, target = "" }: Pick<TruthRow, "value" | "target">): string {
  const number = Number.parseFloat(value.replaceAll(",", ""));
  const least = /^(?:at least|>=) ([\d.]+) %$/.exec(target)?.[1];
  const [, low, high] = /^([\d.]+) to ([\d.]+) %$/.exec(target) ?? [];
  const isOutside = low !== undefined && (number < Number(low) || number > Number(high));
  const isMissed = target === "0" ? number > 0 : isOutside || (least !== undefined && number < Number(least));
  return isMissed ? `${value} (missed)` : value;
}

const count = (value: number): string => value.toLocaleString("en");

const share = (some: number, all: number): string =>
  all === 0 ? "none" : `${((100 * some) / all).toFixed(1)} %`;

const HEAD = `# How right the answers are

Written by \`npm run bench -- truth\`, which builds a release and looks up samples in it. **Built from**: the build has read
the sample itself, so that the figure shows that nothing is lost on the way, not that the list is right. **Operator**: a
rule names the owner, the build has not read the list. **Held out**: the build has seen neither.
`;

/** @returns the file */
export async function writeTruth(commit: string): Promise<string> {
  const checkout = { root: ROOT, suffix: "" };
  await updateRelease(checkout);
  const dataDir = releaseFolder(checkout);
  const release = openServable(dataDir);
  const parts: Readonly<Record<string, readonly TruthRow[]>> = {
    "Whose network": measureNetworks(release),
    "Disposable domains": await measureDisposable(),
  };
  const about = `Measured at ${commit} on ${new Date().toISOString().slice(0, 10)}. ${sourcesLine(release.manifest)}\n`;
  const sections = Object.entries(parts).map(([title, rows]) =>
    rows.length === 0
      ? `## ${title}\n\nNot measured: the samples are not on this machine.\n`
      : `## ${title}\n\n${table(rows)}`,
  );
  const file = join(BENCH, "TRUTH.md");
  writeFileSync(file, [HEAD, about, ...sections].join("\n"));
  return file;
}

function table(rows: readonly TruthRow[]): string {
  const lines = rows.map(
    ({ measure, sample, value, target = "", seen }) =>
      `| ${sample} | ${measure} | ${judged({ value, target })} | ${target} | ${seen} |\n`,
  );
  return `| sample | measure | value | target | data |\n|---|---|---|---|---|\n${lines.join("")}`;
}

interface Network {
  readonly kind: string;
  readonly shared: boolean;
  readonly services: readonly string[];
}

interface Facts {
  readonly network: Network | null;
  readonly is_proxy: boolean;
  readonly evidence: readonly { readonly feed: string; readonly effect: string }[];
}

interface Sample {
  readonly name: string;
  readonly file: string;
  readonly seen: TruthRow["seen"];
  readonly target?: string;
  /** What an answer about it has to say; undefined: only that no list of VPN systems names it. */
  readonly want?: readonly [what: string, is: (network: Network) => boolean];
}

const isKind =
  (...kinds: readonly string[]) =>
  ({ kind }: Network) =>
    kinds.includes(kind);
const serves = (service: string) => (network: Network) => network.services.includes(service);

const HOSTING = ["hosting", isKind("hosting")] as const;
const SAMPLES: readonly Sample[] = [
  { name: "Amazon", file: "mirror/aws-geofeed.csv", seen: "operator", want: HOSTING },
  { name: "Google Cloud", file: "mirror/google-cloud-geofeed.csv", seen: "operator", want: HOSTING },
  { name: "Microsoft", file: "mirror/microsoft-geofeed.csv", seen: "operator", want: HOSTING },
  {
    name: "Starlink",
    file: "mirror/starlink-geofeed.csv",
    seen: "operator",
    want: ["isp or mobile", isKind("isp", "mobile")],
  },
  {
    name: "iCloud Private Relay",
    file: "mirror/icloud-private-relay.csv",
    seen: "built from",
    target: ">= 99 %",
    want: ["shared, with the service relay", (network) => network.shared && serves("relay")(network)],
  },
  { name: "Akamai", file: "vectors/guards/akamai.json", seen: "operator", want: ["cdn", serves("cdn")] },
  { name: "Gmail's senders", file: "vectors/guards/gmail-sending-ips.json", seen: "held out" },
  { name: "mail senders", file: "vectors/guards/smtp-sending-ips.json", seen: "held out" },
  { name: "public resolvers", file: "vectors/guards/public-dns-v4.json", seen: "held out" },
];

const sampleFile = (file: string) => file.replace(/^mirror/, MIRROR).replace(/^vectors/, VECTORS);

/** The list whose mistakes are counted. */
const VPN_LIST = "vpn-systems";

/** Samples that are not there have no row. */
function measureNetworks(release: LoadedRelease): TruthRow[] {
  const lookUp = lookupOf(release);
  const rows: TruthRow[] = [];
  for (const { name, file, seen, target, want } of SAMPLES) {
    const path = sampleFile(file);
    if (!existsSync(path)) continue;
    const networks = prefixesOf(readFileSync(path, "utf8"));
    let [addresses, right, rightNetworks, wrongKinds, flagged] = [0, 0, 0, 0, 0];
    for (const prefix of networks) {
      const facts = lookUp(prefix);
      if (facts === undefined) continue;
      if (facts.is_proxy && facts.evidence.some(({ feed, effect }) => feed === VPN_LIST && effect === "sets"))
        flagged++;
      const weight = 2 ** ((prefix.address.family === 4 ? 32 : 64) - Math.min(prefix.bits, 64));
      addresses += weight;
      if (facts.network === null || want === undefined) continue;
      if (want[1](facts.network)) {
        right += weight;
        rightNetworks++;
      } else if (facts.network.kind !== "unknown") wrongKinds++;
    }
    const sample = `${name}: ${count(networks.length)} networks`;
    if (want !== undefined) {
      const [what] = want;
      const measured = { sample, seen, ...(target !== undefined && { target }) };
      rows.push(
        { ...measured, measure: `${what}, by network`, value: share(rightNetworks, networks.length) },
        { ...measured, measure: `${what}, by address`, value: share(right, addresses) },
      );
      if (want[0] === "hosting" || want[0].startsWith("isp"))
        rows.push({
          measure: `another kind than ${what}`,
          sample,
          seen,
          value: share(wrongKinds, networks.length),
        });
    }
    rows.push({
      measure: `flagged by ${VPN_LIST}`,
      sample,
      seen: "held out",
      target: "0",
      value: `${count(flagged)} of ${count(networks.length)}`,
    });
  }
  return rows;
}

/** What the release says about the first address of a network that is no special use. */
function lookupOf(release: LoadedRelease): (prefix: Prefix) => Facts | undefined {
  const answerer = new Answerer();
  const source = { release, overrides: Overrides.NONE, now: 0, mode: "up" } as const;
  const decoder = new TextDecoder();
  return ({ address }) => {
    if (answerer.readAddress(formatIp(address)) !== undefined) return undefined;
    const include = INCLUDE.evidence | INCLUDE.network;
    const outcome = answerer.answerAddress("reputation", answerer.address, source, include);
    return "reason" in outcome ? undefined : JSON.parse(decoder.decode(bodyOf(outcome)));
  };
}

/** Networks in a geofeed, or in a warning list of MISP. */
function prefixesOf(text: string): Prefix[] {
  const entries = text.startsWith("{")
    ? (JSON.parse(text) as { readonly list: readonly string[] }).list
    : text.split("\n").map((line) => line.split(",", 1)[0]!.trim());
  return entries.flatMap((entry) => parsePrefix(entry) ?? []);
}

const COMPILER = join(ROOT, "packages/compiler");
const LIVE_SECONDS = 30 * 86_400;
const DOMAIN_FEEDS = FEEDS.filter(({ format, optIn }) => isDomainFormat(format) && optIn === undefined);
/** Both take entries from the other lists; the second is the first without domains that have no mail server. */
const COLLECTIONS = ["disposable-domains", "disposable-domains-mx"];
const POPULAR = ["cloudflare-top-100k", "tranco-10k"] as const;

async function measureDisposable(): Promise<readonly TruthRow[]> {
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
