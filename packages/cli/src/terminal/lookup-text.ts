// lookup-text.ts: formats the answer to one lookup as text for a terminal.
//
// The value comes from outside, so its control characters are replaced.

import { FLAG_ROWS, type Geolocation, REPUTATION_FLAGS } from "@inkling/contract";
import { feedAgeSeconds, type Lookup } from "@inkling/engine";
import { firstOf, formatAgo, type Style, table } from "./terminal.ts";

/** An entry of evidence: docs/evidence.md. */
type Entry = NonNullable<Geolocation["evidence"]>[number];

interface Named {
  readonly name?: string | undefined;
  readonly iso_code?: string | undefined;
  readonly code?: string | undefined;
}

type Answer = Readonly<Record<string, unknown>> & {
  readonly evidence: readonly Entry[];
  readonly evidence_truncated?: true;
};

export interface LookupResult {
  /** The value as it was typed. */
  readonly value: string;
  /** The parsed answer, with its evidence. */
  readonly answer: Answer;
  /** Flags that no loaded feed sets, such as "is_abuser". */
  readonly missing: readonly string[];
  /** Whether to show all of the evidence as well. */
  readonly withEvidence: boolean;
  /** Epoch ms. */
  readonly now: number;
  readonly style: Style;
}

export function lookupText(lookup: Lookup, result: LookupResult): string {
  const parts = [DESCRIBE[lookup](result)];
  if (result.withEvidence) parts.push(evidenceTable(result));
  return parts.join("\n\n");
}

/** Returns the verdicts on one value, in one line. */
export function lookupLine(results: readonly (readonly [lookup: Lookup, result: LookupResult])[]): string {
  const verdicts = results.map(([lookup, result]) => VERDICT[lookup](result));
  return headline(results[0]![1], verdicts.join("; "));
}

const VERDICT: Readonly<Record<Lookup, (result: LookupResult) => string>> = {
  geolocate: locationVerdict,
  reputation: reputationVerdict,
  email: emailVerdict,
};

const DESCRIBE: Readonly<Record<Lookup, (result: LookupResult) => string>> = {
  geolocate: describeLocation,
  reputation: describeReputation,
  email: describeEmail,
};

const MAX_VALUE = 120;
const FEEDS_SHOWN = 3;

function headline({ value, style }: LookupResult, verdict: string): string {
  const printable = value.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\ufffd");
  const shown = printable.length > MAX_VALUE ? `${printable.slice(0, MAX_VALUE)}…` : printable;
  return `${style.bold(shown)}: ${verdict}`;
}

/** Returns the lines below a headline, each with the name and value of a field. */
function lines(rows: readonly (readonly string[] | undefined)[]): string {
  const known = rows.filter((row) => row !== undefined);
  return table(known.map(([name, ...cells]) => [`  ${name}`, ...cells]));
}

const listed = (texts: readonly (string | undefined)[]) =>
  texts.filter((text) => text !== undefined).join(", ");

/** Returns "England (ENG)", "GB" or undefined. */
function named({ name, iso_code, code = iso_code }: Named): string | undefined {
  return name !== undefined && code !== undefined ? `${name} (${code})` : (name ?? code);
}

/** Returns "AS13335 Cloudflare, Inc., 104.16.0.0/12: hosting, cdn"; undefined if nothing is known. */
function networkRow(network: Geolocation["network"]): readonly string[] | undefined {
  if (network === null || network === undefined) return undefined;
  const { asn, organization, prefix, kind, shared, services, operator } = network;
  const facts = [kind === "unknown" ? undefined : kind, shared ? "shared" : undefined, ...services];
  if (operator !== undefined) facts.push(`of ${operator}`);
  if (asn === undefined && listed(facts) === "") return undefined;
  const owner = [asn === undefined ? undefined : `AS${asn}`, organization].filter(Boolean).join(" ");
  const what = listed(facts);
  return [
    "network",
    `${listed([owner === "" ? undefined : owner, prefix])}${what === "" ? "" : `: ${what}`}`,
  ];
}

function locationVerdict({ answer, style }: LookupResult): string {
  const { city, country, subdivisions } = answer as unknown as Geolocation;
  const where = listed([city.name, subdivisions[0]?.name, country.name ?? country.iso_code]);
  return where === "" ? style.yellow("unknown location") : where;
}

/** Is the address in many places at the same time? See docs/evidence.md. */
const isAnycast = ({ answer }: LookupResult) =>
  answer.evidence.some(({ label, effect }) => label === "anycast" && effect === "sets");

function describeLocation(result: LookupResult): string {
  const place = result.answer as unknown as Geolocation;
  const { city, continent, country, location, postal, registered_country, subdivisions } = place;
  const { latitude, longitude, accuracy_radius, time_zone } = location;
  const near = accuracy_radius === undefined ? "" : `, within ${accuracy_radius} km (67% confidence)`;
  const row = (name: string, text: string | undefined) => (text === undefined ? undefined : [name, text]);
  return [
    headline(result, locationVerdict(result)),
    lines([
      row("city", city.name ?? (isAnycast(result) ? "none: anycast, in many places" : undefined)),
      row("postal code", postal.code),
      row("in", subdivisions.length === 0 ? undefined : listed(subdivisions.map(named))),
      row("country", named(country)),
      row("continent", named(continent)),
      row(
        "position",
        latitude === undefined || longitude === undefined ? undefined : `${latitude}, ${longitude}${near}`,
      ),
      row("time zone", time_zone),
      row("registered in", named(registered_country)),
      networkRow(place.network),
    ]),
  ]
    .filter((part) => part !== "")
    .join("\n");
}

interface FlagRow {
  readonly flag: NonNullable<Entry["flags"]>[number];
  readonly name: string;
  /** The flag's name as used in the headline. */
  readonly noun: string;
}

/** The flags in reverse order. */
const REPUTATION: readonly FlagRow[] = REPUTATION_FLAGS.map((flag) => ({
  flag,
  ...FLAG_ROWS[flag],
})).reverse();
const DISPOSABLE: FlagRow = { flag: "disposable", name: "disposable", noun: "disposable" };

function reputationVerdict({ answer, missing, style }: LookupResult): string {
  const raised = REPUTATION.filter(({ flag }) => answer[flag] === true);
  const clean =
    missing.length > 0
      ? style.yellow("nothing known, but not every list is loaded")
      : style.green("nothing known against it");
  return raised.length === 0 ? clean : style.red(listed(raised.map(({ noun }) => noun)));
}

function describeReputation(result: LookupResult): string {
  return [
    headline(result, reputationVerdict(result)),
    lines([
      ...REPUTATION.map((row) => flagLine(row, result)),
      ...remarks(result),
      networkRow((result.answer as unknown as Geolocation).network),
    ]),
  ].join("\n");
}

function emailVerdict({ answer, missing, style }: LookupResult): string {
  const isDisposable = answer.disposable === true;
  const isUnknown = missing.includes("disposable");
  const verdict = isDisposable
    ? style.red(DISPOSABLE.noun)
    : isUnknown
      ? style.yellow("not known to be disposable, but no list is loaded")
      : style.green("not disposable");
  const valid = answer.valid === true ? "valid" : style.red("not valid");
  return `${valid}, ${verdict}`;
}

function describeEmail(result: LookupResult): string {
  const { answer, style } = result;
  const providers = answer.providers as readonly string[];
  return [
    headline(result, emailVerdict(result)),
    lines([
      ["valid", answer.valid === true ? style.green("yes") : style.red("no")],
      flagLine(DISPOSABLE, result),
      providers.length === 0 ? undefined : ["provider", listed(providers)],
      ...remarks(result),
    ]),
  ].join("\n");
}

/** Formats a flag, the feeds that set it, and the feeds that remove it. */
function flagLine({ flag, name }: FlagRow, { answer, missing, style }: LookupResult): string[] {
  const about = answer.evidence.filter(({ flags }) => flags?.includes(flag) === true);
  const feeds = (effect: string) => about.filter((entry) => entry.effect === effect).map(sourceName);
  const pro = feeds("sets");
  const contra = feeds("removes");
  const afterColon = (text: string) => (text === "" ? "" : `: ${text}`);
  if (answer[flag] === true) return [name, `${style.red("yes")}${afterColon(feedList(pro))}`];
  if (missing.includes(flag)) return [name, `${style.yellow("unknown")}: no list is loaded`];
  const overruled = pro.length === 0 ? "" : `${feedList(contra)} against ${feedList(pro)}`;
  return [name, `${style.green("no")}${afterColon(overruled)}`];
}

const sourceName = ({ feed, id, label }: Entry) =>
  feed === "override" ? `your override ${id ?? ""}`.trimEnd() : feed === "inkling" ? label : feed;

const feedList = (feeds: readonly string[]) => firstOf([...new Set(feeds)], FEEDS_SHOWN);

/** Claims that set no flag ("role account", "public resolver"), and probable typos. */
function remarks({ answer }: LookupResult): string[][] {
  const labels = new Map<string, string[]>();
  const others: string[][] = [];
  for (const entry of answer.evidence) {
    const { effect, label, why, feed, did_you_mean } = entry;
    if (did_you_mean !== undefined) others.push(["did you mean", did_you_mean]);
    else if (effect === "label") {
      const key = JSON.stringify([label.replaceAll(/[_-]/g, " "), why ?? ""]);
      labels.set(key, [...(labels.get(key) ?? []), ...(feed === "inkling" ? [] : [feed])]);
    }
  }
  const also = [...labels].map(([key, feeds]) => {
    const [label, why] = JSON.parse(key) as [string, string];
    const from = feeds.length === 0 ? "" : ` (${feedList(feeds)})`;
    return ["also", label + from + (why === "" ? "" : `: ${why}`)];
  });
  return [...also, ...others];
}

/** Formats every entry: feed, label, effect, subject and time. */
function evidenceTable({ answer, now, style }: LookupResult): string {
  const { evidence } = answer;
  if (evidence.length === 0) return "Evidence: none.";
  const rows = evidence.map((entry) => {
    const { feed, label, effect, flags, fields, network, domain, mail_host, provider, why } = entry;
    const seconds = feedAgeSeconds(entry, now);
    const verb = entry.published_at === undefined ? "fetched" : "published";
    return [
      `  ${feed === "override" ? sourceName(entry) : feed}`,
      label,
      effect === "label"
        ? "label only"
        : `${effect} ${listed([...(flags ?? []), ...(fields ?? [])])}`.trimEnd(),
      network ?? domain ?? mail_host ?? "",
      seconds === undefined ? "" : `${verb} ${formatAgo(seconds * 1000)}`,
      [provider, why].filter((text) => text !== undefined).join(": "),
    ];
  });
  const truncated = answer.evidence_truncated === true ? "\n  and more evidence that is not shown" : "";
  return `${style.bold("Evidence")}\n${table(rows)}${truncated}`;
}
