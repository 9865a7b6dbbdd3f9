// answerer.ts: looks up one IP address or email address. It finds the release's answer, applies overrides, and then
// adds what the caller opted in to.
//
// Cost: no allocation for an address without overrides and included fields, except the view of a rare answer.
//
// A thread needs only one Answerer, because calls are synchronous.

import {
  IpAddress,
  parseIpBytesInto,
  parseIpInto,
  specialUse,
  type UnwrappedAddress,
} from "../address/ip.ts";
import { parseEmail } from "../email/email.ts";
import type { Overrides } from "../overrides/compiled.ts";
import { REPUTATION_ANSWERS } from "../overrides/reputation-flags.ts";
import { answerEmail } from "../segment/email-segment.ts";
import type { IpLookup, LoadedRelease, Lookup } from "./data-state.ts";
import { ADDRESS_INVALID, type LookupFailure, NO_RELEASE, NOT_FOUND, RESERVED } from "./failure.ts";
import { INCLUDE, OptIns } from "./opt-ins.ts";
import { type Overridden, overrideEmail, overrideEntries, overrideReputation } from "./overlay.ts";

/** Everything that a lookup reads. */
export interface AnswerSource {
  readonly release: LoadedRelease | undefined;
  readonly overrides: Overrides;
  /** Epoch ms, to skip expired overrides. */
  readonly now: number;
  /** If data is missing, does the lookup answer from the available data instead of failing? */
  readonly allowMissing: boolean;
}

/** An answer that overrides, a check or included fields may have changed. */
export class ComposedAnswer {
  readonly body: Uint8Array;
  /** The answer after overrides, but before checks and included fields. */
  readonly plain: Uint8Array;
  /** Undefined if no override applies. */
  readonly overridden: Overridden | undefined;

  constructor(body: Uint8Array, plain: Uint8Array, overridden: Overridden | undefined) {
    this.body = body;
    this.plain = plain;
    this.overridden = overridden;
  }
}

export type Outcome = Uint8Array | ComposedAnswer | LookupFailure;

export const bodyOf = (answer: Uint8Array | ComposedAnswer): Uint8Array =>
  answer instanceof ComposedAnswer ? answer.body : answer;

/**
 * A check that runs after overrides are applied and before evidence is added.
 * @param plain the answer so far
 * @param explain returns `plain` with its evidence
 * @returns the checked answer, and an evidence entry if the check has one
 */
export type EmailCheck = (
  plain: Uint8Array,
  explain: () => Uint8Array,
) => { readonly body: Uint8Array; readonly entry?: Uint8Array };

const NO_FLAGS = REPUTATION_ANSWERS[0]!;

export class Answerer {
  /** The address that was read last. An IPv4 address inside IPv6 is unwrapped. */
  readonly address = new IpAddress() as UnwrappedAddress; // readAddress reads an unwrapped address
  private readonly optIns = new OptIns();

  /** Parses a text into `address`. After a failure, the content of `address` is unspecified. */
  readAddress(text: string): LookupFailure | undefined {
    return parseIpInto(text, this.address) ? undefined : ADDRESS_INVALID;
  }

  /** Like {@link readAddress}, but parses ASCII bytes. @returns whether they are an address */
  readAddressBytes(bytes: Uint8Array, start: number, end: number): boolean {
    return parseIpBytesInto(bytes, start, end, this.address);
  }

  /** Looks up a text. @param include bits of {@link INCLUDE} */
  answer(lookup: Lookup, text: string, source: AnswerSource, include = 0): Outcome {
    if (lookup === "email") return this.answerEmail(text, source, (include & INCLUDE.evidence) !== 0);
    return this.readAddress(text) ?? this.answerAddress(lookup, this.address, source, include);
  }

  /** @param include bits of {@link INCLUDE} */
  answerAddress(lookup: IpLookup, address: UnwrappedAddress, source: AnswerSource, include = 0): Outcome {
    const reserved = specialUse(address);
    if (reserved !== undefined) return RESERVED.get(reserved.use)!; // the map contains every use
    const failure = findFailure(lookup, source);
    if (failure !== undefined) return failure;
    const release = source.release!; // findFailure has checked the release and its segment
    const listed =
      lookup === "geolocate"
        ? release.geo!.lookup(address)
        : (release.reputation!.lookup(address) ?? NO_FLAGS);
    if (listed === undefined) return NOT_FOUND;
    const { overrides, now } = source;
    const verdict =
      lookup === "reputation" && !overrides.isEmpty
        ? overrides.compiled.matchAddress(address, now)
        : undefined;
    if (verdict === undefined && include === 0) return listed;
    const overridden = verdict && overrideReputation(listed, verdict);
    const plain = overridden?.body ?? listed;
    const entries = (include & INCLUDE.evidence) === 0 ? [] : overrideEntries(verdict);
    const body =
      include === 0 ? plain : this.optIns.addToAddress(plain, lookup, address, release, include, entries);
    return new ComposedAnswer(body, plain, overridden);
  }

  /**
   * Looks up an email address. An address with invalid syntax has an answer, not a failure.
   * @param check may change the answer after overrides
   */
  answerEmail(text: string, source: AnswerSource, withEvidence = false, check?: EmailCheck): Outcome {
    const failure = findFailure("email", source);
    if (failure !== undefined) return failure;
    const release = source.release!; // findFailure has checked the release and its segment
    const overrides = source.overrides.compiled;
    const listed = answerEmail(text, release.email!);
    if (!overrides.hasEmail && !withEvidence && check === undefined) return listed;
    const mailbox = parseEmail(text);
    const verdict =
      overrides.hasEmail && mailbox.host !== undefined
        ? overrides.matchEmail(text, mailbox.host, source.now)
        : undefined;
    if (verdict === undefined && !withEvidence && check === undefined) return listed;
    const overridden = verdict && overrideEmail(listed, mailbox.valid, verdict);
    const plain = overridden?.body ?? listed;
    const entries = withEvidence || check !== undefined ? overrideEntries(verdict) : [];
    const explained = (body: Uint8Array) => this.optIns.addToEmail(body, text, mailbox, release, entries);
    const checked = check?.(plain, () => explained(plain));
    if (checked?.entry !== undefined) entries.push(checked.entry);
    const body = checked?.body ?? plain;
    return new ComposedAnswer(withEvidence ? explained(body) : body, plain, overridden);
  }
}

/** @returns the reason why this lookup fails for every input; undefined if the lookup is possible */
export function findFailure(
  lookup: Lookup,
  { release, allowMissing }: AnswerSource,
): LookupFailure | undefined {
  if (release === undefined) return NO_RELEASE;
  const segment = lookup === "geolocate" ? release.geo : release[lookup];
  const { missing, failure } = release.states[lookup];
  return segment !== undefined && (allowMissing || missing.length === 0) ? undefined : failure;
}
