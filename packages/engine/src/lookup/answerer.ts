// answerer.ts: one value -> its answer: what the release has, then overrides, then what was opted in to.
//
// in   an IP address or the text of an email address, and an AnswerSource
// out  the answer's JSON bytes, which may be shared: never write to them; a ComposedAnswer where more than the release
//      made it; or a LookupFailure
// err  none thrown
// cost an address without overrides and anything included: no allocation
//
// One is enough for a thread: calls are synchronous.

import {
  IpAddress,
  parseIpBytesInto,
  parseIpInto,
  type UnwrappedAddress,
  unwrapIpv4,
} from "../address/ip.ts";
import { specialUse } from "../address/special-use.ts";
import { parseEmail } from "../email/email.ts";
import type { Overrides } from "../overrides/compiled.ts";
import { REPUTATION_ANSWERS } from "../overrides/reputation-flags.ts";
import { answerEmail } from "../segment/email-segment.ts";
import type { IpLookup, LoadedRelease, Lookup } from "./data-state.ts";
import { ADDRESS_INVALID, type LookupFailure, NO_RELEASE, NOT_FOUND, RESERVED } from "./failure.ts";
import { appendNetwork, appendSubject, EvidenceAppender } from "./opt-ins.ts";
import { type Overridden, overrideEmail, overrideEntries, overrideReputation } from "./overlay.ts";

/** `serve` refuses a lookup with missing data; `up` answers with what there is, and a header names what is not. */
export type Mode = "up" | "serve";

/** What answers come from. */
export interface AnswerSource {
  readonly release: LoadedRelease | undefined;
  readonly overrides: Overrides;
  /** Epoch ms: overrides may have expired. */
  readonly now: number;
  readonly mode: Mode;
}

/** An answer that overrides, a check or what was included may have changed. */
export class ComposedAnswer {
  readonly body: Uint8Array;
  /** Before checks and what was included. */
  readonly plain: Uint8Array;
  /** Undefined if no override applies. */
  readonly overridden: Overridden | undefined;

  constructor(body: Uint8Array, plain: Uint8Array, overridden: Overridden | undefined) {
    this.body = body;
    this.plain = plain;
    this.overridden = overridden;
  }
}

/** What an answer about an address may have beyond its own members: bits of a set. */
export const INCLUDE = { evidence: 1, network: 4, subject: 8 } as const;

export type Outcome = Uint8Array | ComposedAnswer | LookupFailure;

export const bodyOf = (answer: Uint8Array | ComposedAnswer): Uint8Array =>
  answer instanceof ComposedAnswer ? answer.body : answer;

/**
 * A check that runs between overrides and evidence.
 * @param plain the answer so far
 * @param explain `plain` with its evidence
 * @returns the answer, and an entry for its evidence
 */
export type EmailCheck = (
  plain: Uint8Array,
  explain: () => Uint8Array,
) => { readonly body: Uint8Array; readonly entry?: Uint8Array };

const NO_FLAGS = REPUTATION_ANSWERS[0]!;

export class Answerer {
  /** The address that was read last, IPv4 unwrapped. */
  readonly address = new IpAddress() as UnwrappedAddress; // as readAddress leaves it
  private readonly evidence = new EvidenceAppender();

  /** Reads a text into `address`, which is unspecified after a failure. */
  readAddress(text: string): LookupFailure | undefined {
    if (!parseIpInto(text, this.address)) return ADDRESS_INVALID;
    unwrapIpv4(this.address);
    return undefined;
  }

  /** As {@link readAddress}, from ASCII. @returns whether it is an address */
  readAddressBytes(bytes: Uint8Array, start: number, end: number): boolean {
    if (!parseIpBytesInto(bytes, start, end, this.address)) return false;
    unwrapIpv4(this.address);
    return true;
  }

  /** The outcome for a text. @param include bits of {@link INCLUDE} */
  answer(lookup: Lookup, text: string, source: AnswerSource, include = 0): Outcome {
    if (lookup === "email") return this.answerEmail(text, source, (include & INCLUDE.evidence) !== 0);
    return this.readAddress(text) ?? this.answerAddress(lookup, this.address, source, include);
  }

  /** @param include bits of {@link INCLUDE} */
  answerAddress(lookup: IpLookup, address: UnwrappedAddress, source: AnswerSource, include = 0): Outcome {
    const reserved = specialUse(address);
    if (reserved !== undefined) return RESERVED.get(reserved.use)!; // has every use
    const failure = findFailure(lookup, source);
    if (failure !== undefined) return failure;
    const release = source.release!; // as is its segment: findFailure looked
    const listed =
      lookup === "geolocate"
        ? release.geo!.lookup(address)
        : (release.reputation!.lookup(address) ?? NO_FLAGS);
    if (listed === undefined) return NOT_FOUND;
    const { overrides, now } = source;
    const verdict =
      lookup === "reputation" && !overrides.isEmpty
        ? overrides.compiledWith(release).matchAddress(address, now)
        : undefined;
    if (verdict === undefined && include === 0) return listed;
    const overridden = verdict && overrideReputation(listed, verdict);
    const plain = overridden?.body ?? listed;
    const withNetwork = (include & INCLUDE.network) !== 0;
    let body = plain;
    if ((include & INCLUDE.subject) !== 0) {
      const segment = lookup === "geolocate" ? release.geo! : release.reputation!;
      body = appendSubject(body, address, segment);
    }
    if (withNetwork) body = appendNetwork(body, address, release.network);
    if ((include & INCLUDE.evidence) !== 0)
      body = this.evidence.toAddressAnswer(
        body,
        lookup,
        address,
        release,
        overrideEntries(verdict),
        withNetwork,
      );
    return new ComposedAnswer(body, plain, overridden);
  }

  /**
   * Broken syntax is an answer, not a failure.
   * @param check what else changes the answer
   */
  answerEmail(text: string, source: AnswerSource, withEvidence = false, check?: EmailCheck): Outcome {
    const failure = findFailure("email", source);
    if (failure !== undefined) return failure;
    const release = source.release!; // as is its segment: findFailure looked
    const overrides = source.overrides.compiledWith(release);
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
    const explained = (body: Uint8Array) =>
      this.evidence.toEmailAnswer(body, text, mailbox, release, entries);
    const checked = check?.(plain, () => explained(plain));
    if (checked?.entry !== undefined) entries.push(checked.entry);
    const body = checked?.body ?? plain;
    return new ComposedAnswer(withEvidence ? explained(body) : body, plain, overridden);
  }
}

/** Why no value of a lookup can be answered; undefined if it can. */
export function findFailure(lookup: Lookup, { release, mode }: AnswerSource): LookupFailure | undefined {
  if (release === undefined) return NO_RELEASE;
  const segment = lookup === "geolocate" ? release.geo : release[lookup];
  const { missing, failure } = release.states[lookup];
  return segment !== undefined && (mode === "up" || missing.length === 0) ? undefined : failure;
}
