// kinds.ts: decides what kind of network an autonomous system is, by the rules in data/network-kinds.csv and by feeds.
//
// An `asn` row decides about one system, whose kind the row's source states. If the kind in such a row is `unknown`,
// the name of the organization is not considered. A `word` row contains one or more consecutive words of a name, in
// lower case and without accents. A "*" at either end stands for the rest of the word. A mobile operator is also an
// ISP, so `mobile` wins over `isp`. Rows that begin with "*" yield to rows that do not: a "Grand Hotel" is a business,
// and a "Cartel", for which a row has `unknown`, is no ISP.

import { NETWORK_KINDS } from "@inkling/contract";
import type { KindClaims, NetworkKind } from "../catalog/claims.ts";
import type { NetworkWalk } from "../geo/place-source.ts";
import type { AsnNetworks } from "../parse/asn.ts";
import { dataTable, once } from "../parse/csv.ts";

interface KindRule {
  readonly kind: NetworkKind;
  /** The rule as in the table: `asn 16509`, `word universit*`. */
  readonly rule: string;
}

interface Rules {
  readonly byAsn: ReadonlyMap<number, KindRule>;
  /** Rules by the first word of their rows. Rules that begin with "*" are under "*". */
  readonly byWord: ReadonlyMap<string, readonly WordRule[]>;
  /** Rules whose first word ends in "*", by its first three letters. */
  readonly byStart: ReadonlyMap<string, readonly WordRule[]>;
}

interface WordRule extends KindRule {
  readonly words: readonly string[];
}

const START = 3;

/** Reads the rows of the table, which a test checks. */
export function readRules(rows: readonly (readonly string[])[]): Rules {
  const byAsn = new Map<number, KindRule>();
  const byWord = new Map<string, WordRule[]>();
  const byStart = new Map<string, WordRule[]>();
  for (const [type, match = "", kind] of rows) {
    const found = { kind: kind as NetworkKind, rule: `${type} ${match}` };
    const words = match.split(" ");
    const [first = ""] = words;
    if (type === "asn") byAsn.set(Number(match), found);
    else if (first.startsWith("*")) add(byWord, "*", { ...found, words });
    else if (first.endsWith("*")) add(byStart, first.slice(0, START), { ...found, words });
    else add(byWord, first, { ...found, words });
  }
  return { byAsn, byWord, byStart };
}

function add(map: Map<string, WordRule[]>, key: string, row: WordRule): void {
  map.set(key, [...(map.get(key) ?? []), row]);
}

const rulesOfFile = once(() => readRules(dataTable("network-kinds.csv")));

export function kindOf(asn: number, organization = "", rules: Rules = rulesOfFile()): KindRule | undefined {
  const listed = rules.byAsn.get(asn);
  if (listed !== undefined) return listed.kind === "unknown" ? undefined : listed;
  const words = wordsOf(organization);
  const found = new Map<NetworkKind, KindRule>();
  const collect = (rows: readonly WordRule[] | undefined, at: number) => {
    for (const row of rows ?? [])
      if (isFirmer(row, found.get(row.kind)) && fits(row.words, words, at)) found.set(row.kind, row);
  };
  for (let at = 0; at < words.length; at++) {
    collect(rules.byWord.get(words[at]!), at);
    collect(rules.byStart.get(words[at]!.slice(0, START)), at);
    collect(rules.byWord.get("*"), at);
  }
  if (found.has("mobile")) found.delete("isp");
  const open = [...found.values()].filter(isOpen);
  if (open.length < found.size) for (const { kind } of open) found.delete(kind);
  if (found.size !== 1) return undefined;
  const { kind, rule } = found.values().next().value!;
  return kind === "unknown" ? undefined : { kind, rule };
}

/** Returns whether a rule begins with "*", such as "*tel". Many names of other kinds also end like that. */
const isOpen = ({ rule }: KindRule) => rule.startsWith("word *");

const isFirmer = (row: KindRule, found: KindRule | undefined) =>
  found === undefined || (isOpen(found) && !isOpen(row));

/** Describes a rule for people: `the rule for AS16509`, `the rule for names with "universit*"`. */
export function ruleText({ rule }: KindRule): string {
  const [type, match] = [rule.slice(0, rule.indexOf(" ")), rule.slice(rule.indexOf(" ") + 1)];
  return type === "asn" ? `the rule for AS${match}` : `the rule for names with ${JSON.stringify(match)}`;
}

/**
 * Weight of the rules about names, compared with the weights of feeds. A row about an individual system decides by
 * itself.
 */
export const NAME_WEIGHT = 2;

/** What feeds and rules state about one system, and the kind that results. */
export interface KindVerdict {
  readonly kind: NetworkKind;
  /** Undefined if no rule fits. */
  readonly rule: KindRule | undefined;
  /** The feeds that state a kind. */
  readonly stated: readonly { readonly feed: string; readonly kind: NetworkKind }[];
}

/**
 * Returns the kind whose claims weigh the most, or `unknown` in a tie. A rule for mobile operators does not contradict
 * a feed that states `isp`.
 */
export function judgeKind(
  asn: number,
  organization: string | undefined,
  claims: readonly KindClaims[],
): KindVerdict {
  const rule = kindOf(asn, organization);
  const stating = claims.filter(({ kinds }) => kinds.has(asn));
  const stated = stating.map(({ feed, kinds }) => ({ feed, kind: kinds.get(asn)! }));
  const isOfSystem = rule?.rule.startsWith("asn ") === true;
  if (isOfSystem || (rule !== undefined && stating.length === 0)) return { kind: rule.kind, rule, stated };
  const weights = new Map<NetworkKind, number>();
  const add = (kind: NetworkKind, weight: number) => weights.set(kind, (weights.get(kind) ?? 0) + weight);
  if (rule !== undefined) add(rule.kind, NAME_WEIGHT);
  for (const { kinds, weight, feed } of stating) {
    const isCopied = stating.some(({ lineage }) => lineage.includes(feed));
    const kind = kinds.get(asn)!;
    if (!isCopied) add(kind === "isp" && rule?.kind === "mobile" ? "mobile" : kind, weight);
  }
  const [first, second] = [...weights].sort(([, a], [, b]) => b - a);
  const isTie = first !== undefined && first[1] === second?.[1];
  return { kind: first === undefined || isTie ? "unknown" : first[0], rule, stated };
}

/**
 * A system with fewer IPv4 addresses is small. Its networks are mostly where its owner is, so a database is right about
 * them even where it has little information (packages/compiler/accuracy-radius.md).
 */
const SMALL_SYSTEM = 100_000;

/** Returns networks with the kind of their system. An id is an index into KINDS_BY_SIZE. */
export function kindsOfNetworks(asns: AsnNetworks): NetworkWalk {
  const sizes = sizesOf(asns);
  const kinds = Uint8Array.from(asns.systems, ({ asn, organization }, id) => {
    const kind = kindOf(asn, organization)?.kind ?? "unknown";
    return NETWORK_KINDS.indexOf(kind) + (sizes[id]! < SMALL_SYSTEM ? NETWORK_KINDS.length : 0);
  });
  return {
    networks: asns.networks,
    walk: (family, visit) =>
      asns.walk(family, (w0, w1, w2, w3, bits, id) => visit(w0, w1, w2, w3, bits, kinds[id]!)),
  };
}

/** Returns the networks of systems with at least this number of IPv4 addresses. */
export function networksOfLargeSystems(asns: AsnNetworks, addresses: number): NetworkWalk {
  const sizes = sizesOf(asns);
  return {
    walk: (family, visit) =>
      asns.walk(family, (w0, w1, w2, w3, bits, id) => {
        if (sizes[id]! >= addresses) visit(w0, w1, w2, w3, bits, id);
      }),
  };
}

/** Returns the number of IPv4 addresses of each system. A number may have several names, and so several ids. */
function sizesOf({ systems, walk }: AsnNetworks): Float64Array {
  const sizes = new Map<number, number>();
  walk(4, (_w0, _w1, _w2, _w3, bits, id) => {
    const { asn } = systems[id]!;
    sizes.set(asn, (sizes.get(asn) ?? 0) + 2 ** (32 - bits));
  });
  return Float64Array.from(systems, ({ asn }) => sizes.get(asn) ?? 0);
}

/** Returns the words of a name, in lower case and without accents. */
function wordsOf(name: string): string[] {
  return (
    name
      .normalize("NFKD")
      .replace(/\p{M}/gu, "")
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? []
  );
}

function fits(rule: readonly string[], words: readonly string[], at: number): boolean {
  for (let k = 0; k < rule.length; k++) {
    const word = words[at + k];
    const want = rule[k]!;
    if (word === undefined) return false;
    const open = want.endsWith("*");
    const middle = want.slice(want.startsWith("*") ? 1 : 0, open ? -1 : undefined);
    const is = want.startsWith("*")
      ? open
        ? word.includes(middle)
        : word.endsWith(middle)
      : open
        ? word.startsWith(middle)
        : word === middle;
    if (!is) return false;
  }
  return true;
}
