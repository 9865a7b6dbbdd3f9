// kinds.ts: what kind of network an autonomous system is, by written rules: data/network-kinds.csv.
//
// in   its number and the name of its organization
// out  the kind with the rule that gave it; undefined, `unknown`, when no rule fits, or rules of two kinds do
// err  FeedError naming the line of the table
//
// A row `asn` is a system of which the source tells its kind, and decides alone; `unknown` there keeps names from
// deciding. A row `word` is words of a name, next to each other, without accents, in lower case: "*" at an end
// stands for the rest of the word. A mobile operator is an isp as well: `mobile` wins over `isp`. A row that begins with
// "*" gives way to one that does not: "Hanze University Network" is no isp, nor is
// "Planet", of which a row says `unknown`.

import { NETWORK_KINDS } from "@inkling/contract";
import type { KindClaims, NetworkKind } from "../catalog/claims.ts";
import { FeedError } from "../catalog/feed.ts";
import type { NetworkWalk } from "../geo/place-list.ts";
import type { AsnNetworks } from "../parse/asn.ts";
import { dataTable, once } from "../place/data-table.ts";

interface KindRule {
  readonly kind: NetworkKind;
  /** As in the table: `asn 16509`, `word universit*`. */
  readonly rule: string;
}

interface Rules {
  readonly byAsn: ReadonlyMap<number, KindRule>;
  /** By the first word of a row; rows that begin with "*" under "*". */
  readonly byWord: ReadonlyMap<string, readonly WordRule[]>;
  /** Rows whose first word is open at its end, by its first three letters. */
  readonly byStart: ReadonlyMap<string, readonly WordRule[]>;
}

interface WordRule extends KindRule {
  readonly words: readonly string[];
}

const FILE = "network-kinds.csv";
const START = 3;

/** @throws FeedError */
export function readRules(rows: readonly (readonly string[])[]): Rules {
  const byAsn = new Map<number, KindRule>();
  const byWord = new Map<string, WordRule[]>();
  const byStart = new Map<string, WordRule[]>();
  const seen = new Set<string>();
  for (const [type = "", match = "", kind = "", reason = ""] of rows) {
    const rule = `${type} ${match}`;
    const wrong = (problem: string) => new FeedError(`${FILE}, row ${JSON.stringify(rule)}: ${problem}`);
    if (!NETWORK_KINDS.includes(kind as NetworkKind)) throw wrong(`${kind} is no kind`);
    if (reason === "") throw wrong("lacks its reason");
    if (seen.has(rule)) throw wrong("stands twice");
    seen.add(rule);
    const found = { kind: kind as NetworkKind, rule };
    if (type === "asn") {
      if (!reason.startsWith("https://")) throw wrong("has a source that does not start with https://");
      if (!/^[1-9][0-9]{0,9}$/.test(match)) throw wrong("is no number");
      byAsn.set(Number(match), found);
    } else if (type === "word") {
      const words = match.split(" ");
      if (!words.every((text) => /^\*?[a-z0-9]{2,}\*?$/.test(text) || /^[a-z0-9]$/.test(text)))
        throw wrong("is not words in lower case");
      const [first = ""] = words;
      const row = { ...found, words };
      if (first.startsWith("*")) add(byWord, "*", row);
      else if (!first.endsWith("*")) add(byWord, first, row);
      else if (first.length <= START) throw wrong(`has less than ${START} letters before "*"`);
      else add(byStart, first.slice(0, START), row);
    } else throw wrong("is neither asn nor word");
  }
  return { byAsn, byWord, byStart };
}

function add(map: Map<string, WordRule[]>, key: string, row: WordRule): void {
  map.set(key, [...(map.get(key) ?? []), row]);
}

const rulesOfFile = once(() => readRules(dataTable(FILE)));

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

/** Fits the end of a word, as "*net" does: many a name has it that is of another kind. */
const isOpen = ({ rule }: KindRule) => rule.startsWith("word *");

const isFirmer = (row: KindRule, found: KindRule | undefined) =>
  found === undefined || (isOpen(found) && !isOpen(row));

/** For people: `the rule for AS16509`, `the rule for names with "universit*"`. */
export function ruleText({ rule }: KindRule): string {
  const [type, match] = [rule.slice(0, rule.indexOf(" ")), rule.slice(rule.indexOf(" ") + 1)];
  return type === "asn" ? `the rule for AS${match}` : `the rule for names with ${JSON.stringify(match)}`;
}

/** Of the rules about names, beside the weights of feeds; a row about one system decides alone. */
export const NAME_WEIGHT = 2;

/** What feeds and rules say of one system, and what follows. */
export interface KindVerdict {
  readonly kind: NetworkKind;
  /** Undefined if no rule fits. */
  readonly rule: KindRule | undefined;
  /** Feeds that state a kind. */
  readonly stated: readonly { readonly feed: string; readonly kind: NetworkKind }[];
}

/**
 * The kind with the heaviest claims; `unknown` where two are as heavy. A rule for a mobile operator agrees with a feed that
 * has isp only.
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

/** Networks of one kind each, by their systems; an id is an index into NETWORK_KINDS. */
export function kindsOfNetworks({ systems, networks, walk }: AsnNetworks): NetworkWalk {
  const kinds = Uint8Array.from(systems, ({ asn, organization }) =>
    NETWORK_KINDS.indexOf(kindOf(asn, organization)?.kind ?? "unknown"),
  );
  return {
    networks,
    walk: (family, visit) =>
      walk(family, (w0, w1, w2, w3, bits, id) => visit(w0, w1, w2, w3, bits, kinds[id]!)),
  };
}

/** Without accents, in lower case. */
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
