// feed-tables.ts: generates the tables of feeds in docs/feeds.md, docs/own-feeds.md and docs/policy.md
// from the compiler's feed table.

import {
  claimsOf,
  FEED_CLAIM_ROWS,
  FEED_CLAIMS,
  FEED_FORMAT_ROWS,
  FEED_FORMATS,
  type FeedClaim,
  flagOfLabel,
} from "@inkling/contract";
import type { Label } from "../../packages/compiler/src/catalog/claims.ts";
import type { Feed, OptIn } from "../../packages/compiler/src/catalog/feed.ts";
import { FEEDS, NO_LICENCE } from "../../packages/compiler/src/catalog/feeds.ts";
import { LABELS, weightOfList } from "../../packages/compiler/src/policy/labels.ts";
import { code, type GeneratedSection, tableOn } from "./generated.ts";

/** A fixed date, because the URLs of monthly files contain a month. */
const IN_AUGUST = new Date("2026-08-22T00:00:00Z");
const WHY: Readonly<Record<OptIn["why"], string>> = {
  key: "needs a key",
  licence: "no licence",
  "non-commercial": "non-commercial",
  noisy: "noisy",
  dns: "sends DNS queries",
};

const isDefault = ({ optIn }: Feed) => optIn === undefined;

const HOURS: Readonly<Record<number, string>> = {
  1: "hour",
  24: "day",
  168: "week",
  720: "month",
  4368: "half year",
};
const every = (hours: number) => HOURS[hours] ?? (hours % 24 === 0 ? `${hours / 24} days` : `${hours} hours`);
const until = (hours: number) =>
  hours === Number.POSITIVE_INFINITY ? "never" : hours % 24 === 0 ? `${hours / 24} days` : `${hours} hours`;
const count = (entries: number) => entries.toLocaleString("en");

function publisher({ title, homepage, urls }: Feed): string {
  const url = urls(IN_AUGUST)[0] ?? homepage;
  return url.startsWith("https:") ? `[${title}](${url})` : title;
}

function standIn({ own, ownFormat, seed }: Feed): string {
  if (own !== undefined) return ownFormat === undefined ? "own" : "own, until fetched";
  if (seed === undefined) return "";
  const month = new Date(seed.published).toLocaleString("en", {
    month: "long",
    year: "numeric",
    timeZone: "UTC",
  });
  return [code(seed.package), month, ...(seed.licence === undefined ? [] : [seed.licence])].join(", ");
}

function whyOff({ licence, optIn }: Feed): string {
  const reasons = [licence === NO_LICENCE ? WHY.licence : "", optIn === undefined ? "" : WHY[optIn.why]];
  return [...new Set(reasons.filter(Boolean))].join(", ");
}

const cells = (feed: Feed) => [
  code(feed.id),
  feed.sets,
  publisher(feed),
  feed.licence,
  every(feed.cadenceHours),
  `${count(feed.entries.least)} to ${count(feed.entries.most)}`,
];
/** The hosts that publish feeds, and those to which they redirect. */
const hostsOf = (feeds: readonly Feed[]) =>
  [
    ...new Set(
      feeds.flatMap(({ urls, redirects = [] }) => [
        ...urls(IN_AUGUST).map((url) => new URL(url).host),
        ...redirects,
      ]),
    ),
  ].sort();
const HEAD = ["id", "sets", "publisher", "licence", "every", "size"];

function weighed(feed: Feed): string[] {
  const { id, label, lineage = [], age } = feed;
  const flag = flagOfLabel(label as Label);
  return [
    code(id),
    isDefault(feed) ? "on" : "off",
    code(label!),
    flag === undefined ? "" : code(flag),
    flag === undefined ? "" : String(weightOfList(id)),
    lineage.map(code).join(", "),
    until(age.dropHours),
  ];
}

const formsWith = (claim: FeedClaim) =>
  FEED_FORMATS.filter((format) => claimsOf(format).includes(claim))
    .map(code)
    .join(", ");

export function feedTables(): readonly GeneratedSection[] {
  const [on, off] = [FEEDS.filter(isDefault), FEEDS.filter((feed) => !isDefault(feed))];
  const guards = new Map<string, string[]>();
  for (const { id, sets, label = "" } of FEEDS) {
    if (sets === "guard") guards.set(label, [...(guards.get(label) ?? []), code(id)]);
  }
  const lists = FEEDS.filter(({ label }) => label !== undefined && Object.hasOwn(LABELS, label));
  const [page, ownPage, policy] = ["docs/feeds.md", "docs/own-feeds.md", "docs/policy.md"] as const;
  return [
    tableOn(
      ownPage,
      "formats",
      ["format", "content"],
      FEED_FORMATS.map((format) => [code(format), FEED_FORMAT_ROWS[format].meaning]),
    ),
    tableOn(
      ownPage,
      "claims",
      ["claim", "meaning", "formats"],
      FEED_CLAIMS.map((claim) => [code(claim), FEED_CLAIM_ROWS[claim].meaning, formsWith(claim)]),
    ),
    {
      path: page,
      section: "counts",
      content: `There are ${on.length} default feeds and ${off.length} optional ones.`,
    },
    tableOn(
      page,
      "default feeds",
      [...HEAD, "seed or own file"],
      on.map((feed) => [...cells(feed), standIn(feed)]),
    ),
    tableOn(
      page,
      "optional feeds",
      [...HEAD, "why it is off"],
      off.map((feed) => [...cells(feed), whyOff(feed)]),
    ),
    { path: page, section: "hosts", content: ["```", ...hostsOf(on), "```"].join("\n") },
    tableOn(
      policy,
      "lists",
      ["feed", "by default", "label", "sets", "weight", "copies", "dropped after"],
      lists.map(weighed),
    ),
    tableOn(
      policy,
      "guards",
      ["kind", "feeds"],
      Array.from(guards, ([kind, ids]) => [code(kind), ids.join(", ")]),
    ),
  ];
}
