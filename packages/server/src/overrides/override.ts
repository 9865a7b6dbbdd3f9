// override.ts: an operator's own verdict for an address, network, domain or e-mail address: how it is asked for,
// told and kept.
//
// in   unknown input (admin API, command line, an imported file), or a row of the store
// out  NewOverride, Override, and their JSON
// err  parseNewOverride throws OverrideInputError with every problem; a row that makes no sense throws too
// src  docs/overrides.md
// note An e-mail address is kept as the SHA-256 of its normal form only, and no message quotes one.

import {
  type FeedReport,
  FLAGS_OF,
  formatIp,
  formatPrefix,
  isSpecialUseDomain,
  issueLines,
  type NewOverride,
  nearest,
  normalMailbox,
  OVERRIDE_FLAGS,
  OVERRIDE_KINDS,
  type Override,
  type OverrideEffect,
  type OverrideFlag,
  type OverrideKind,
  Overrides,
  type OverrideTarget,
  type Prefix,
  parseEmail,
  parseIp,
  parsePrefix,
  publicSuffix,
  specialUse,
  toAsciiDomain,
  unwrapIpv4,
} from "@inkling/engine";
import { z } from "zod";

/** As many overrides may be in force: each change reads them all again, in every process. */
export const MAX_OVERRIDES = 10_000;
export const MAX_NOTE = 500;
export const MAX_AUTHOR = 100;
/** Networks with fewer bits, and public suffixes, need `force`. */
export const WIDEST = { 4: 16, 6: 32 } as const;

/** TOO_WIDE: it needs `force`, CONTRADICTS: rows of one file do; nothing else is wrong. */
export type OverrideInputCode = "INVALID" | "TOO_WIDE" | "CONTRADICTS";

/** An override cannot be made as asked. `problems` has one line for each thing that is wrong. */
export class OverrideInputError extends Error {
  readonly problems: readonly string[];
  readonly code: OverrideInputCode;
  /** Would `force` answer one of the problems at least? */
  readonly needsForce: boolean;
  constructor(
    problems: readonly string[],
    code: OverrideInputCode = "INVALID",
    needsForce = code === "TOO_WIDE",
  ) {
    super(problems.join("; "));
    this.name = "OverrideInputError";
    this.problems = problems;
    this.code = code;
    this.needsForce = needsForce;
  }
}

/** Text of one line. */
export const oneLine = (most: number) =>
  z
    .string()
    .trim()
    .min(1, "must not be empty")
    .max(most, `must have at most ${most} characters`)
    .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]*$/u, "must not contain control characters or line breaks");

export const isoTime = z
  .union(
    [z.iso.datetime({ offset: true }), z.iso.date()],
    "must be a time such as 2027-01-31T12:00:00Z or a date",
  )
  .transform((text) => Date.parse(text));

/** An override as asked for from outside. */
export const newOverrideSchema = z.strictObject({
  value: z.string("must be text").min(1, "must not be empty").max(400, "is too long"),
  flag: z.string().max(100).optional(),
  verdict: z.boolean("must be true or false").optional(),
  mute: z.string().max(100).optional(),
  note: oneLine(MAX_NOTE),
  author: oneLine(MAX_AUTHOR).optional(),
  expires_at: isoTime.nullish(),
  force: z.boolean().optional(),
});

export interface OverrideContext {
  /** Epoch ms. */
  readonly now: number;
  /** Who asks, where the input names nobody. */
  readonly author: string;
  /** The feeds of the release in use; undefined when nobody can tell (no release yet). */
  readonly feeds: readonly MutableFeed[] | undefined;
  /** Ids of all feeds that there could be, where somebody knows: the others of them are not in use. */
  readonly everyFeed?: readonly string[];
  /** A mute that has no effect here is taken all the same, and told: it may have one where it comes from. */
  readonly onMuteWithoutEffect?: (problem: string) => void;
}

/** A feed, as far as a mute is about it. */
export type MutableFeed = Pick<FeedReport, "id" | "sets" | "names">;

const OF_NETWORKS = ["is_abuser", "is_proxy", "is_tor_exit", "relay", "guard"];

/** What a feed must set (`sets` of its row) for a mute of it to have an effect on each kind of value. */
const HEARD_ABOUT: Readonly<Record<OverrideKind, readonly string[]>> = {
  address: OF_NETWORKS,
  network: OF_NETWORKS,
  domain: ["disposable", "free", "relay"],
  email_hash: [],
};

/**
 * Reads an override from outside.
 * @throws OverrideInputError with every problem
 */
export function parseNewOverride(input: unknown, context: OverrideContext): NewOverride {
  const result = newOverrideSchema.safeParse(input);
  if (!result.success) throw new OverrideInputError(issueLines(result.error, "override"));
  const { data } = result;
  const problems: string[] = [];
  const target = readTarget(data.value, problems);
  const effect = readEffect(data, target?.kind, context, problems);
  const expiresAt = data.expires_at ?? undefined;
  if (expiresAt !== undefined && expiresAt <= context.now) problems.push("expires_at: is in the past");
  if (target === undefined || effect === undefined || problems.length > 0)
    throw new OverrideInputError(problems);
  if (target.tooWide !== undefined && data.force !== true) {
    throw new OverrideInputError([`value: ${target.tooWide}`], "TOO_WIDE");
  }
  const { kind, value } = target;
  return { kind, value, effect, note: data.note, author: data.author ?? context.author, expiresAt };
}

interface ReadTarget extends OverrideTarget {
  /** Why it needs `force`. */
  readonly tooWide?: string;
}

const HASH = /^[0-9a-f]{64}$/i;
/** Whatever could be meant as an address or a network: digits and dots, or a colon. */
const ADDRESS_LIKE = /^[0-9.]+(\/|$)|:/;

/** What a value names, in normal form. */
function readTarget(text: string, problems: string[]): ReadTarget | undefined {
  const refuse = (problem: string) => {
    problems.push(`value: ${problem}`);
    return undefined;
  };
  if (text.includes("@")) {
    const hash = emailHash(text);
    return hash === undefined ? refuse("is no e-mail address") : { kind: "email_hash", value: hash };
  }
  if (HASH.test(text)) return { kind: "email_hash", value: text.toLowerCase() };
  if (ADDRESS_LIKE.test(text) || text.includes("/")) return readNetwork(text, refuse);
  return readDomain(text, refuse);
}

type Refuse = (problem: string) => undefined;

function readNetwork(text: string, refuse: Refuse): ReadTarget | undefined {
  const address = text.includes("/") ? undefined : parseIp(text);
  if (address !== undefined) {
    unwrapIpv4(address); // as a look-up does
    const reserved = specialUse(address);
    if (reserved !== undefined)
      return refuse(`is a ${reserved.use} address: no look-up of it is ever answered`);
    return { kind: "address", value: formatIp(address) };
  }
  const network = parsePrefix(text);
  if (network === undefined) {
    return refuse(
      "is no address or network: write 203.0.114.9, 203.0.114.0/24 or 2a00:1450::/32, with no bits set after the prefix",
    );
  }
  const { family } = network.address;
  const width = family === 4 ? 32 : 128;
  if (network.bits === width) return readNetwork(formatIp(network.address), refuse);
  if (holdsIpv4(network)) {
    return refuse(
      "holds IPv4 addresses in IPv6, which are looked up as IPv4: write the IPv4 network instead",
    );
  }
  const reserved = specialUse(network.address);
  if (reserved !== undefined && reserved.prefix.bits <= network.bits) {
    return refuse(`is a ${reserved.use} network: no look-up of it is ever answered`);
  }
  const value = formatPrefix(network);
  if (network.bits >= WIDEST[family]) return { kind: "network", value };
  const tooWide = `is wider than /${WIDEST[family]}: it covers ${family === 4 ? (2 ** (32 - network.bits)).toLocaleString("en") : `2^${128 - network.bits}`} addresses`;
  return { kind: "network", value, tooWide };
}

/** 6to4, Teredo and NAT64 networks, all of whose addresses a look-up takes for the IPv4 address inside. */
function holdsIpv4(network: Prefix): boolean {
  if (network.address.family === 4) return false;
  const [a, b, c] = network.address.words as unknown as [number, number, number];
  return (
    (network.bits >= 16 && a >>> 16 === 0x2002) ||
    (network.bits >= 32 && a === 0x20010000) ||
    (network.bits >= 96 && a === 0x0064ff9b && b === 0 && c === 0)
  );
}

function readDomain(text: string, refuse: Refuse): ReadTarget | undefined {
  // A top-level domain is a suffix of its own: it is read with a label in front.
  const isSingle = !/[.\u3002\uff0e\uff61]/.test(text);
  const host = toAsciiDomain(isSingle ? `x.${text}` : text)?.slice(isSingle ? 2 : 0);
  if (host === undefined) return refuse("is no address, network, domain, e-mail address or SHA-256 in hex");
  if (isSpecialUseDomain(host)) return refuse("is a special-use domain: no mail can come from there");
  if (isSingle || publicSuffix(host) === host) {
    return { kind: "domain", value: host, tooWide: `is a public suffix: everybody may register below it` };
  }
  return { kind: "domain", value: host };
}

type EffectInput = Pick<z.output<typeof newOverrideSchema>, "flag" | "verdict" | "mute">;

function readEffect(
  { flag, verdict, mute }: EffectInput,
  kind: OverrideKind | undefined,
  context: OverrideContext,
  problems: string[],
): OverrideEffect | undefined {
  if ((flag === undefined) === (mute === undefined)) {
    problems.push("override: give either flag (with verdict) or mute");
    return undefined;
  }
  if (flag === undefined) return readMute(mute!, kind, context, problems);
  const known = OVERRIDE_FLAGS.find((name) => name === flag);
  if (known === undefined) {
    problems.push(`flag: there is no flag "${flag}"${didYouMean(flag, OVERRIDE_FLAGS)}`);
  } else if (kind !== undefined && !FLAGS_OF[kind].includes(known)) {
    problems.push(`flag: ${known} is not a flag of ${KIND_WORDS[kind]}: use ${FLAGS_OF[kind].join(", ")}`);
  }
  if (verdict === undefined) problems.push("verdict: must be true or false");
  return known === undefined || verdict === undefined ? undefined : { type: "flag", flag: known, verdict };
}

function readMute(
  feed: string,
  kind: OverrideKind | undefined,
  { feeds, everyFeed = [], onMuteWithoutEffect }: OverrideContext,
  problems: string[],
): OverrideEffect | undefined {
  const isTaken = onMuteWithoutEffect !== undefined && kind !== "email_hash" && FEED_ID.test(feed);
  const refuse = (problem: string) => {
    if (isTaken) onMuteWithoutEffect(`mute: ${problem}`);
    else problems.push(`mute: ${problem}`);
  };
  const known = feeds?.find(({ id }) => id === feed);
  const fitting = (feeds ?? []).filter((one) => kind === undefined || isHeardAbout(kind, one));
  const fittingIds = fitting.map(({ id }) => id);
  if (kind === "email_hash") refuse("no feed knows e-mail addresses; mute it for the domain");
  else if (feeds === undefined) refuse("there is no release yet, so nobody can tell which feeds there are");
  else if (known === undefined && everyFeed.includes(feed)) {
    refuse(`${feed} is not in use; \`npx inkling feeds enable ${feed}\` turns it on, from the next build on`);
  } else if (known === undefined) {
    refuse(`there is no feed "${feed}"${didYouMean(feed, fittingIds)}`);
  } else if (!fitting.includes(known)) {
    refuse(
      `${feed} is about ${subjectOf(known)}, so muting it for ${KIND_WORDS[kind!]} has no effect; ${fitting.length === 0 ? "no feed" : listed(fittingIds)} can be muted there`,
    );
  }
  return { type: "mute", feed };
}

const FEED_ID = /^[a-z0-9]+(-[a-z0-9]+)*$/;

/** `relay` is said of networks and of domains: only the feed itself tells which. */
function isHeardAbout(kind: OverrideKind, { sets, names }: MutableFeed): boolean {
  const isDomain = kind === "domain";
  return HEARD_ABOUT[kind].includes(sets) && (names === undefined || (names === "domains") === isDomain);
}

function subjectOf({ sets, names }: MutableFeed): string {
  if (sets === "relay") return names === "domains" ? "mail domains" : "addresses";
  return ABOUT[sets] ?? sets;
}

/** What feeds are about, where their `sets` is no flag of theirs. */
const ABOUT: Readonly<Record<string, string>> = {
  disposable: "mail domains",
  free: "mail domains",
  geolocation: "places, which have no overrides",
  registered_country: "places, which have no overrides",
  hosting: "data centres, which set no flag",
};

const KIND_WORDS: Readonly<Record<OverrideKind, string>> = {
  address: "an address",
  network: "a network",
  domain: "a domain",
  email_hash: "an e-mail address",
};

/** The first of them, and how many more there are. */
function listed(words: readonly string[], most = 12): string {
  const more = words.length - most;
  return more > 0 ? `${words.slice(0, most).join(", ")} and ${more} more` : words.join(", ");
}

function didYouMean(word: string, known: readonly string[]): string {
  if (known.length === 0) return ": there are none";
  const near = nearest(word, known);
  return near === undefined ? `: there are ${listed(known)}` : `; did you mean ${near}?`;
}

/** SHA-256 in lower-case hex, as overrides keep email addresses. */
export function sha256(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}

/** All overrides in force, ready to be matched. */
export function overridesOf(all: readonly Override[]): Overrides {
  return all.length === 0 ? Overrides.NONE : new Overrides(all, sha256);
}

/** The hash that stands for an email address; undefined when no address can be read. */
export function emailHash(text: string): string | undefined {
  const { valid, host } = parseEmail(text);
  return valid && host !== undefined ? sha256(normalMailbox(text, host)) : undefined;
}

/** Two overrides with the same text say the same of the same; two with the same subject cannot both be in force. */
export function effectText({ kind, value, effect }: OverrideTarget & { effect: OverrideEffect }): string {
  return `${subjectText({ kind, value, effect })}=${effect.type === "flag" ? effect.verdict : "mute"}`;
}
export function subjectText({ kind, value, effect }: OverrideTarget & { effect: OverrideEffect }): string {
  return `${kind} ${value} ${effect.type === "flag" ? effect.flag : `mute ${effect.feed}`}`;
}

/** For people: "203.0.114.9 is_tor_exit=false". */
export function describeOverride({ value, effect }: OverrideTarget & { effect: OverrideEffect }): string {
  return `${value} ${effect.type === "flag" ? `${effect.flag}=${effect.verdict}` : `mute ${effect.feed}`}`;
}

/** An override for programs: snake_case, times as ISO 8601, null for "not set". */
export interface OverrideJson {
  readonly id: string;
  readonly kind: OverrideKind;
  readonly value: string;
  readonly flag: OverrideFlag | null;
  readonly verdict: boolean | null;
  readonly mute: string | null;
  readonly note: string;
  readonly author: string;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly removed_at: string | null;
}

export function overrideJson(override: Override): OverrideJson {
  const { id, kind, value, effect, note, author } = override;
  return {
    id,
    kind,
    value,
    flag: effect.type === "flag" ? effect.flag : null,
    verdict: effect.type === "flag" ? effect.verdict : null,
    mute: effect.type === "mute" ? effect.feed : null,
    note,
    author,
    created_at: iso(override.createdAt),
    expires_at: override.expiresAt === undefined ? null : iso(override.expiresAt),
    removed_at: override.removedAt === undefined ? null : iso(override.removedAt),
  };
}

const iso = (ms: number) => new Date(ms).toISOString();

/** A row of the overrides table, as both databases give it. PostgreSQL gives its 64-bit integers as text. */
export interface OverrideRow {
  readonly id: string;
  readonly kind: string;
  readonly value: string;
  /** "is_tor_exit", or "mute". */
  readonly effect: string;
  /** "true", "false", or the feed. */
  readonly argument: string;
  readonly note: string;
  readonly author: string;
  readonly created_at: number | string;
  readonly expires_at: number | string | null;
  readonly removed_at: number | string | null;
}

/** @throws Error when the row was not written by this program */
export function overrideFromRow(row: OverrideRow): Override {
  const kind = OVERRIDE_KINDS.find((known) => known === row.kind);
  if (kind === undefined) throw new Error(`override ${row.id}: unknown kind "${row.kind}"`);
  return Object.freeze({
    id: row.id,
    kind,
    value: row.value,
    effect: effectFromRow(row),
    note: row.note,
    author: row.author,
    createdAt: Number(row.created_at),
    expiresAt: row.expires_at === null ? undefined : Number(row.expires_at),
    removedAt: row.removed_at === null ? undefined : Number(row.removed_at),
  });
}

function effectFromRow({ id, effect, argument }: OverrideRow): OverrideEffect {
  if (effect === "mute") return { type: "mute", feed: argument };
  const flag = OVERRIDE_FLAGS.find((known) => known === effect);
  if (flag === undefined || (argument !== "true" && argument !== "false")) {
    throw new Error(`override ${id}: unknown effect "${effect} ${argument}"`);
  }
  return { type: "flag", flag, verdict: argument === "true" };
}

export function rowFromOverride(override: Override): OverrideRow {
  const { effect } = override;
  return {
    id: override.id,
    kind: override.kind,
    value: override.value,
    effect: effect.type === "flag" ? effect.flag : "mute",
    argument: effect.type === "flag" ? String(effect.verdict) : effect.feed,
    note: override.note,
    author: override.author,
    created_at: override.createdAt,
    expires_at: override.expiresAt ?? null,
    removed_at: override.removedAt ?? null,
  };
}
