// overlay.ts: the answers of a release with the operator's overrides applied.
//
// in   an answer's JSON bytes, what was asked, the release, the overrides, the time
// out  an Overridden; undefined where no override speaks
// err  none thrown
// cost nothing when there are no overrides of the kind (overrides.ts); an address that matches a forced flag: one of
//      eight prepared answers; a muted feed: the evidence is read and judged again, some microseconds
//
// A muted feed's entries are passed over, then a flag is true when an entry sets it and none removes it, as
// docs/evidence.md says of every answer; for e-mail the weights of witnesses that voted are summed again. Rules that
// were about the muted feed's company (a quorum, a copy that counts once) are not run again: docs/overrides.md.

import { formatPrefix, type IpAddress, parsePrefix } from "../address/ip.ts";
import { ascii, asciiText } from "../email/ascii.ts";
import { parseEmail } from "../email/email.ts";
import {
  bitsOf,
  bitsOfAnswer,
  forcedBits,
  type Overrides,
  type OverrideVerdict,
  REPUTATION_ANSWERS,
} from "../overrides/match.ts";
import type { Override, OverrideFlag } from "../overrides/model.ts";
import { withAddressEvidence, withEmailEvidence } from "./evidence.ts";
import type { LoadedRelease } from "./loaded-release.ts";

export interface Overridden {
  /** The plain answer's bytes where overrides change nothing. */
  readonly body: Uint8Array;
  readonly isChanged: boolean;
  /** What overrides say. */
  readonly verdict: OverrideVerdict;
  /** Tells answers to one question apart that come from one release: part of the ETag. */
  readonly mark: string;
}

/** One entry of evidence, as far as it is judged again. */
interface Entry {
  readonly feed: string;
  readonly label: string;
  readonly effect: string;
  readonly flags?: readonly OverrideFlag[];
  readonly weight?: number;
  readonly domain?: string;
}

interface Evidence {
  readonly evidence: readonly Entry[];
  readonly evidence_truncated?: true;
}

/** @param address IPv4 unwrapped */
export function overrideReputation(
  answer: Uint8Array,
  address: IpAddress,
  release: LoadedRelease,
  overrides: Overrides,
  now: number,
): Overridden | undefined {
  const verdict = overrides.matchAddress(address, now);
  if (verdict === undefined) return undefined;
  const before = bitsOfAnswer(answer);
  const heard = verdict.muted.size === 0 ? before : bitsWithout(verdict.muted, answer, address, release);
  const bits = forcedBits(heard, verdict);
  const isChanged = bits !== before;
  return { body: isChanged ? REPUTATION_ANSWERS[bits]! : answer, isChanged, verdict, mark: `o${bits}` };
}

/** The flags that feeds set without the muted ones. */
function bitsWithout(
  muted: ReadonlySet<string>,
  answer: Uint8Array,
  address: IpAddress,
  release: LoadedRelease,
): number {
  const told = withAddressEvidence(answer, "reputation", address, release);
  const { evidence, evidence_truncated } = JSON.parse(asciiText(told)) as Evidence;
  if (!evidence.some(({ feed }) => muted.has(feed))) return bitsOfAnswer(answer);
  let bits = 0;
  let gone = 0;
  for (const { feed, effect, flags = [] } of evidence) {
    if (muted.has(feed)) continue;
    if (effect === "sets") bits |= bitsOf(flags);
    if (effect === "removes") gone |= bitsOf(flags);
  }
  // What was cut off may set what the answer has.
  if (evidence_truncated) bits |= bitsOfAnswer(answer);
  return bits & ~gone;
}

/** The members of an answer about e-mail that overrides may change; others are kept as they are. */
interface EmailAnswer {
  readonly valid: boolean;
  readonly disposable: boolean;
  readonly providers: readonly string[];
}

/** @param text as it was asked */
export function overrideEmail(
  answer: Uint8Array,
  text: string,
  release: LoadedRelease,
  overrides: Overrides,
  now: number,
): Overridden | undefined {
  const { host } = parseEmail(text);
  if (host === undefined) return undefined;
  const verdict = overrides.matchEmail(text, host, now);
  if (verdict === undefined) return undefined;
  const plain = JSON.parse(asciiText(answer)) as EmailAnswer;
  const forced = verdict.flags.get("disposable");
  const providers =
    forced === undefined
      ? providersWithout(verdict.muted, plain, text, release)
      : forced
        ? forcedProviders(verdict)
        : undefined;
  const disposable = providers !== undefined;
  const isChanged = disposable !== plain.disposable;
  const { valid, disposable: _, providers: __, ...others } = plain;
  const changed = { valid, disposable, providers: providers ?? [], ...others };
  return {
    body: isChanged ? ascii(JSON.stringify(changed)) : answer,
    isChanged,
    verdict,
    mark: disposable ? "o1" : "o0",
  };
}

/** The domain that was forced; of a single e-mail address nobody knows a provider. */
function forcedProviders({ applied }: OverrideVerdict): readonly string[] {
  const override = applied.find(({ effect }) => effect.type === "flag");
  return override?.kind === "domain" ? [override.value] : [];
}

/**
 * The providers as the lists have it without the muted ones, of which some may speak for ordinary mail.
 * @returns undefined when it is not disposable
 */
function providersWithout(
  muted: ReadonlySet<string>,
  { disposable, providers, ...others }: EmailAnswer,
  text: string,
  release: LoadedRelease,
): readonly string[] | undefined {
  const before = disposable ? providers : undefined;
  if (muted.size === 0) return before;
  const told = withEmailEvidence(ascii(JSON.stringify(others)), text, release);
  const { evidence, evidence_truncated } = JSON.parse(asciiText(told)) as Evidence;
  if (evidence_truncated || !evidence.some(({ feed }) => muted.has(feed))) return before;
  const heard = evidence.filter(({ feed }) => !muted.has(feed));
  const sets = heard.filter(({ effect }) => effect === "sets");
  // Ordinary mail speaks with a weight, for or against; whatever else removes the flag does so alone.
  const against = heard.filter(({ label, effect }) => label === "free_mail" && effect !== "sets");
  if (sets.length === 0) return undefined;
  if (heard.some((entry) => entry.effect === "removes" && !against.includes(entry))) return undefined;
  if (!sets.some(({ domain }) => isCarried(domain, sets, against))) return undefined;
  return before ?? sets.flatMap(({ domain }) => domain ?? []).slice(0, 1);
}

/** Does the vote go for a domain, and so for all below it? Who names only a domain below it has no say. */
function isCarried(domain = "", sets: readonly Entry[], against: readonly Entry[]): boolean {
  const isAtOrAbove = (entry: Entry) => (entry.domain ?? "").length <= domain.length; // all lie on one path
  const opposed = against.filter(isAtOrAbove);
  return opposed.length === 0 || weightOf(sets.filter(isAtOrAbove)) > weightOf(opposed);
}

const weightOf = (entries: readonly Entry[]) => entries.reduce((sum, { weight = 1 }) => sum + weight, 0);

/** The overrides that have an effect, as entries of evidence: forced flags first; their id, never their note. */
export function overrideEntries({ applied }: OverrideVerdict): Uint8Array[] {
  const flags = applied.filter(({ effect }) => effect.type === "flag");
  const mutes = applied.filter(({ effect }) => effect.type === "mute");
  return [...flags, ...mutes].map((override) => ascii(JSON.stringify(entryOf(override))));
}

function entryOf({ id, kind, value, effect }: Override) {
  const said =
    effect.type === "mute"
      ? { effect: "mutes", mutes: effect.feed }
      : { effect: effect.verdict ? "sets" : "removes", flags: [effect.flag] };
  const prefix = kind === "address" || kind === "network" ? parsePrefix(value) : undefined;
  const subject =
    prefix !== undefined ? { network: formatPrefix(prefix) } : kind === "domain" ? { domain: value } : {};
  return { feed: "override", label: "override", ...said, id, ...subject };
}
