// overlay.ts: applies the operator's overrides to an answer of the release.
//
// in   an answer's JSON bytes, its subject, the segment it is from, what overrides apply
// out  an Overridden
// src  docs/overrides.md
// cost a forced flag of an address: one of eight prepared answers; a muted feed: the evidence is read and judged
//      again, some microseconds
//
// Entries of a muted feed are skipped; a flag is then true when an entry sets it and none removes it, as docs/evidence.md
// defines it; for email the weights of witnesses that voted are summed again. Rules about other feeds that depended on
// the muted one (a quorum, a copy that counts once) are not run again.

import { formatPrefix, parsePrefix, type UnwrappedAddress } from "../address/ip.ts";
import { ascii, asciiText } from "../email/ascii.ts";
import type { EmailAddress } from "../email/email.ts";
import type { OverrideVerdict } from "../overrides/match.ts";
import type { Override } from "../overrides/model.ts";
import { bitsOf, bitsOfAnswer, forcedBits, REPUTATION_ANSWERS } from "../overrides/reputation-flags.ts";
import type { EmailSegment } from "../segment/email-segment.ts";
import { type RecordEntry, readRecord, SPAN_NONE } from "../segment/evidence.ts";
import type { IpSegment } from "../segment/ip-segment.ts";
import { parentOf } from "./evidence.ts";

export interface Overridden {
  /** The plain answer's bytes where overrides change nothing. */
  readonly body: Uint8Array;
  readonly isChanged: boolean;
  readonly verdict: OverrideVerdict;
  /** Distinguishes the answers to one question that come from one release: part of the ETag. */
  readonly mark: string;
}

export function overrideReputation(
  answer: Uint8Array,
  address: UnwrappedAddress,
  reputation: IpSegment,
  verdict: OverrideVerdict,
): Overridden {
  const before = bitsOfAnswer(answer);
  const { muted } = verdict;
  const unmuted = muted.size === 0 ? before : bitsWithout(muted, before, reputation.evidence(address));
  const bits = forcedBits(unmuted, verdict);
  const isChanged = bits !== before;
  return { body: isChanged ? REPUTATION_ANSWERS[bits]! : answer, isChanged, verdict, mark: `o${bits}` };
}

/** The flags that feeds set without the muted ones. */
function bitsWithout(muted: ReadonlySet<string>, before: number, record: Uint8Array | undefined): number {
  const { entries, isTruncated } = readRecord(record);
  if (!entries.some(({ feed }) => muted.has(feed))) return before;
  let set = 0;
  let removed = 0;
  for (const { feed, effect, flags = [] } of entries) {
    if (muted.has(feed)) continue;
    if (effect === "sets") set |= bitsOf(flags);
    if (effect === "removes") removed |= bitsOf(flags);
  }
  // An entry that was cut off may set what the answer has.
  if (isTruncated) set |= before;
  return set & ~removed;
}

/** The members of an answer about email that overrides and checks may change; others are kept as they are. */
export interface EmailAnswer {
  readonly valid: boolean;
  readonly disposable: boolean;
  readonly providers: readonly string[];
}

/** @param mailbox what the answer is about; it has a host */
export function overrideEmail(
  answer: Uint8Array,
  { host = "", registrableStart }: EmailAddress,
  email: EmailSegment,
  verdict: OverrideVerdict,
): Overridden {
  const {
    valid,
    disposable: before,
    providers: listed,
    ...others
  } = JSON.parse(asciiText(answer)) as EmailAnswer;
  const forced = verdict.flags.get("disposable");
  let providers = before ? listed : undefined;
  if (forced !== undefined) providers = forced ? forcedProviders(verdict) : undefined;
  else if (verdict.muted.size > 0) {
    const record = email.evidenceFrom(host, registrableStart);
    providers = providersWithout(verdict.muted, providers, host, record);
  }
  const disposable = providers !== undefined;
  const isChanged = disposable !== before;
  const changed = { valid, disposable, providers: providers ?? [], ...others };
  return {
    body: isChanged ? ascii(JSON.stringify(changed)) : answer,
    isChanged,
    verdict,
    mark: disposable ? "o1" : "o0",
  };
}

/** The domain that was forced; the provider of a single email address is unknown. */
function forcedProviders({ applied }: OverrideVerdict): readonly string[] {
  const override = applied.find(({ effect }) => effect.type === "flag");
  return override?.kind === "domain" ? [override.value] : [];
}

/**
 * The providers without the muted feeds, of which some may claim ordinary mail.
 * @param before undefined when it is not disposable, as the result
 */
function providersWithout(
  muted: ReadonlySet<string>,
  before: readonly string[] | undefined,
  host: string,
  record: Uint8Array | undefined,
): readonly string[] | undefined {
  const { entries, isTruncated } = readRecord(record);
  if (isTruncated || !entries.some(({ feed }) => muted.has(feed))) return before;
  const counted = entries.filter(({ feed }) => !muted.has(feed));
  const sets = counted.filter(({ effect }) => effect === "sets");
  // Claims of ordinary mail have a weight, for or against; any other entry that removes the flag does so alone.
  const against = counted.filter(({ label, effect }) => label === "free_mail" && effect !== "sets");
  if (sets.length === 0) return undefined;
  if (counted.some((entry) => entry.effect === "removes" && !against.includes(entry))) return undefined;
  if (!sets.some((entry) => winsVote(labelsOf(entry), sets, against))) return undefined;
  return before ?? sets.flatMap(({ span }) => parentOf(host, span) ?? []).slice(0, 1);
}

/**
 * Does the vote go for a domain of so many labels, and so for all below it? Feeds that name only a domain below it do
 * not count; all lie on one path.
 */
function winsVote(labels: number, sets: readonly RecordEntry[], against: readonly RecordEntry[]): boolean {
  const isAtOrAbove = (entry: RecordEntry) => labelsOf(entry) <= labels;
  const opposed = against.filter(isAtOrAbove);
  return opposed.length === 0 || weightOf(sets.filter(isAtOrAbove)) > weightOf(opposed);
}

const labelsOf = ({ span }: RecordEntry) => (span === SPAN_NONE ? 0 : span);
const weightOf = (entries: readonly RecordEntry[]) =>
  entries.reduce((sum, { weight = 1 }) => sum + weight, 0);

/** The overrides that have an effect, as entries of evidence: forced flags first; their id, never their note. */
export function overrideEntries(
  { applied }: Pick<OverrideVerdict, "applied"> = { applied: [] },
): Uint8Array[] {
  const flags = applied.filter(({ effect }) => effect.type === "flag");
  const mutes = applied.filter(({ effect }) => effect.type === "mute");
  return [...flags, ...mutes].map((override) => ascii(JSON.stringify(entryOf(override))));
}

function entryOf({ id, kind, value, effect }: Override) {
  const change =
    effect.type === "mute"
      ? { effect: "mutes", mutes: effect.feed }
      : { effect: effect.verdict ? "sets" : "removes", flags: [effect.flag] };
  const prefix = kind === "address" || kind === "network" ? parsePrefix(value) : undefined;
  const subject =
    prefix !== undefined ? { network: formatPrefix(prefix) } : kind === "domain" ? { domain: value } : {};
  return { feed: "override", label: "override", ...change, id, ...subject };
}
