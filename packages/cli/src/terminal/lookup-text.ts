// lookup-text.ts: an answer of a look-up in plain words, for people at a terminal.
//
// in   what was looked up, the answer with its evidence, what no list is loaded for
// out  text: a headline, a line for each thing that is known with who says so, and if wanted all of the evidence
// err  none thrown
// note what was looked up comes from outside: characters that would steer the terminal are not passed on

import type { Scope } from "@inkling/server";
import { formatAge, type Style, table } from "./terminal.ts";

/** An entry of evidence: docs/evidence.md. */
interface Entry {
  readonly feed: string;
  readonly label: string;
  readonly effect: string;
  readonly flags?: readonly string[];
  readonly members?: readonly string[];
  readonly why?: string;
  readonly id?: string;
  readonly mutes?: string;
  readonly network?: string;
  readonly domain?: string;
  readonly mail_host?: string;
  readonly did_you_mean?: string;
  readonly fetched_at?: string;
  readonly published_at?: string;
}

interface Named {
  readonly name?: string;
  readonly iso_code?: string;
  readonly code?: string;
}

interface Place {
  readonly city: Named;
  readonly continent: Named;
  readonly country: Named;
  readonly location: {
    readonly accuracy_radius?: number;
    readonly latitude?: number;
    readonly longitude?: number;
    readonly time_zone?: string;
  };
  readonly postal: Named;
  readonly registered_country: Named;
  readonly subdivisions: readonly Named[];
}

type Answer = Readonly<Record<string, unknown>> & {
  readonly evidence: readonly Entry[];
  readonly evidence_truncated?: true;
};

export interface Words {
  /** What was looked up, as it was typed. */
  readonly value: string;
  /** Parsed, with its evidence. */
  readonly answer: Answer;
  /** Answers that no loaded list is for: "is_abuser". */
  readonly missing: readonly string[];
  /** All of the evidence, too. */
  readonly withEvidence: boolean;
  /** Epoch ms. */
  readonly now: number;
  readonly style: Style;
}

/** The answer of one look-up. */
export function wordsFor(lookup: Scope, words: Words): string {
  const parts = [DESCRIBE[lookup](words)];
  if (words.withEvidence) parts.push(evidenceTable(words));
  return parts.join("\n\n");
}

const DESCRIBE: Readonly<Record<Scope, (words: Words) => string>> = {
  geolocate: describePlace,
  reputation: describeReputation,
  email: describeEmail,
};

const MOST_VALUE = 120;
const FEEDS_SHOWN = 3;

function headline({ value, style }: Words, says: string): string {
  const printable = value.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\ufffd");
  const shown = printable.length > MOST_VALUE ? `${printable.slice(0, MOST_VALUE)}…` : printable;
  return `${style.bold(shown)}: ${says}`;
}

/** Lines below a headline: what it is, what is known of it. */
function lines(rows: readonly (readonly string[] | undefined)[]): string {
  const known = rows.filter((row) => row !== undefined);
  return table(known.map(([name, ...cells]) => [`  ${name}`, ...cells]));
}

const listed = (texts: readonly (string | undefined)[]) =>
  texts.filter((text) => text !== undefined).join(", ");

/** "England (ENG)", "GB", or undefined. */
function named({ name, iso_code, code = iso_code }: Named): string | undefined {
  return name !== undefined && code !== undefined ? `${name} (${code})` : (name ?? code);
}

function describePlace(words: Words): string {
  const place = words.answer as unknown as Place;
  const { city, continent, country, location, postal, registered_country, subdivisions } = place;
  const where = listed([city.name, subdivisions[0]?.name, country.name ?? country.iso_code]);
  const { latitude, longitude, accuracy_radius, time_zone } = location;
  const near = accuracy_radius === undefined ? "" : `, within ${accuracy_radius} km (two times in three)`;
  const row = (name: string, text: string | undefined) => (text === undefined ? undefined : [name, text]);
  return [
    headline(words, where === "" ? words.style.yellow("nobody knows where this is") : where),
    lines([
      row("city", city.name),
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
    ]),
  ]
    .filter((part) => part !== "")
    .join("\n");
}

interface FlagRow {
  readonly flag: string;
  readonly name: string;
  /** After "…: ". */
  readonly says: string;
}

const REPUTATION: readonly FlagRow[] = [
  { flag: "is_tor_exit", name: "Tor exit", says: "a Tor exit" },
  { flag: "is_proxy", name: "proxy or VPN", says: "a proxy or VPN" },
  { flag: "is_abuser", name: "abuser", says: "a known abuser" },
];
const DISPOSABLE: FlagRow = { flag: "disposable", name: "throw-away", says: "a throw-away" };

function describeReputation(words: Words): string {
  const { answer, missing, style } = words;
  const raised = REPUTATION.filter(({ flag }) => answer[flag] === true);
  const clean =
    missing.length > 0
      ? style.yellow("nothing known, but not every list is loaded")
      : style.green("nothing known against it");
  const says = raised.length === 0 ? clean : style.red(listed(raised.map(({ says }) => says)));
  return [
    headline(words, says),
    lines([...REPUTATION.map((row) => flagLine(row, words)), ...remarks(words)]),
  ].join("\n");
}

function describeEmail(words: Words): string {
  const { answer, missing, style } = words;
  const isDisposable = answer.disposable === true;
  const isUnknown = missing.includes("disposable");
  const verdict = isDisposable
    ? style.red("a throw-away")
    : isUnknown
      ? style.yellow("not known to be a throw-away, but no list is loaded")
      : style.green("not a throw-away");
  const valid = answer.valid === true ? "valid" : style.red("not valid");
  const providers = answer.providers as readonly string[];
  return [
    headline(words, `${valid}, ${verdict}`),
    lines([
      ["valid", answer.valid === true ? style.green("yes") : style.red("no")],
      flagLine(DISPOSABLE, words),
      providers.length === 0 ? undefined : ["provider", listed(providers)],
      ...remarks(words),
    ]),
  ].join("\n");
}

/** A flag, and who speaks for and against it. */
function flagLine({ flag, name }: FlagRow, { answer, missing, style }: Words): string[] {
  const about = answer.evidence.filter(({ flags }) => flags?.includes(flag) === true);
  const feeds = (effect: string) => about.filter((entry) => entry.effect === effect).map(voice);
  const pro = feeds("sets");
  const contra = feeds("removes");
  const said = (text: string) => (text === "" ? "" : `: ${text}`);
  if (answer[flag] === true) return [name, `${style.red("yes")}${said(who(pro))}`];
  if (missing.includes(flag)) return [name, `${style.yellow("unknown")}: no list is loaded`];
  const overruled = pro.length === 0 ? "" : `${who(contra)} against ${who(pro)}`;
  return [name, `${style.green("no")}${said(overruled)}`];
}

const voice = ({ feed, id, label }: Entry) =>
  feed === "override" ? `your override ${id ?? ""}`.trimEnd() : feed === "inkling" ? label : feed;

function who(feeds: readonly string[]): string {
  const different = [...new Set(feeds)];
  const more = different.length - FEEDS_SHOWN;
  const shown = different.slice(0, FEEDS_SHOWN);
  return more > 0 ? `${shown.join(", ")} and ${more} more` : shown.join(", ");
}

/** What is said without setting a flag: "role account", "public resolver"; a slip of the keyboard. */
function remarks({ answer }: Words): string[][] {
  const labels = new Map<string, string[]>();
  const others: string[][] = [];
  for (const entry of answer.evidence) {
    const { effect, label, why, feed, did_you_mean, mutes } = entry;
    if (did_you_mean !== undefined) others.push(["did you mean", did_you_mean]);
    else if (effect === "mutes") others.push(["muted", `${mutes}, by ${voice(entry)}`]);
    else if (effect === "label") {
      const key = JSON.stringify([label.replaceAll(/[_-]/g, " "), why ?? ""]);
      labels.set(key, [...(labels.get(key) ?? []), ...(feed === "inkling" ? [] : [feed])]);
    }
  }
  const also = [...labels].map(([key, feeds]) => {
    const [label, why] = JSON.parse(key) as [string, string];
    const from = feeds.length === 0 ? "" : ` (${who(feeds)})`;
    return ["also", label + from + (why === "" ? "" : `: ${why}`)];
  });
  return [...also, ...others];
}

/** Every entry: who, what, of what, since when. */
function evidenceTable({ answer, now, style }: Words): string {
  const { evidence } = answer;
  if (evidence.length === 0) return "Evidence: no list says anything.";
  const rows = evidence.map((entry) => {
    const { feed, label, effect, flags, members, mutes, network, domain, mail_host, why } = entry;
    const time = entry.published_at ?? entry.fetched_at;
    const verb = entry.published_at === undefined ? "fetched" : "published";
    return [
      `  ${feed === "override" ? voice(entry) : feed}`,
      label,
      effect === "label"
        ? "no effect"
        : `${effect} ${mutes ?? listed([...(flags ?? []), ...(members ?? [])])}`.trimEnd(),
      network ?? domain ?? mail_host ?? "",
      time === undefined ? "" : `${verb} ${ago(now - Date.parse(time))}`,
      why ?? "",
    ];
  });
  const truncated = answer.evidence_truncated === true ? "\n  and more than fits" : "";
  return `${style.bold("Evidence")}\n${table(rows)}${truncated}`;
}

function ago(milliseconds: number): string {
  const age = formatAge(milliseconds);
  return /^\d/.test(age) ? `${age} ago` : age;
}
