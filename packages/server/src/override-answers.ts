// override-answers.ts: the answers of a release with the operator's overrides applied.
//
// in   an answer's JSON bytes, what was asked, the overrides, the time
// out  an Overridden: other bytes, and what makes its ETag different; undefined where overrides change nothing
// err  none thrown
// cost nothing when there are no overrides of the kind (overrides.ts); an address that matches one: one of eight
//      prepared answers

import { type IpAddress, parseEmail } from "@inkling/engine";
import { hashOfMailbox } from "./override.ts";
import {
  bitsOfAnswer,
  forcedBits,
  type Overrides,
  type OverrideVerdict,
  REPUTATION_ANSWERS,
} from "./overrides.ts";

export interface Overridden {
  readonly body: Uint8Array;
  /** Tells answers to the same question apart that come from one release: part of the ETag. */
  readonly mark: string;
  readonly verdict: OverrideVerdict;
}

/** @param address IPv4 unwrapped */
export function overrideReputation(
  answer: Uint8Array,
  address: IpAddress,
  overrides: Overrides,
  now: number,
): Overridden | undefined {
  const verdict = overrides.matchAddress(address, now);
  if (verdict === undefined) return undefined;
  const before = bitsOfAnswer(answer);
  const bits = forcedBits(before, verdict);
  return bits === before ? undefined : { body: REPUTATION_ANSWERS[bits]!, mark: `o${bits}`, verdict };
}

/** The members of an answer about e-mail that overrides may change; others are kept as they are. */
interface EmailAnswer {
  readonly valid: boolean;
  readonly disposable: boolean;
  readonly providers: readonly string[];
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** @param text as it was asked */
export function overrideEmail(
  answer: Uint8Array,
  text: string,
  overrides: Overrides,
  now: number,
): Overridden | undefined {
  const { host } = parseEmail(text);
  if (host === undefined) return undefined;
  const hash = overrides.hasHashes ? hashOfMailbox(text, host) : undefined;
  const verdict = overrides.matchEmail(host, hash, now);
  const forced = verdict?.flags.get("disposable");
  if (verdict === undefined || forced === undefined) return undefined;
  const { valid, disposable, providers, ...others } = JSON.parse(decoder.decode(answer)) as EmailAnswer;
  if (forced === disposable) return undefined;
  const named = forced ? domainOf(verdict) : [];
  const body = encoder.encode(JSON.stringify({ valid, disposable: forced, providers: named, ...others }));
  return { body, mark: forced ? "o1" : "o0", verdict };
}

/** The provider, where a domain was forced; of a single e-mail address nobody knows one. */
function domainOf({ applied }: OverrideVerdict): string[] {
  const override = applied.find(({ effect }) => effect.type === "flag");
  return override?.kind === "domain" ? [override.value] : [];
}

/** The ETag of an overridden answer, made from that of the plain one. */
export function overriddenEtag(etag: string, { mark }: Overridden): string {
  return `${etag.slice(0, -1)}-${mark}"`;
}
