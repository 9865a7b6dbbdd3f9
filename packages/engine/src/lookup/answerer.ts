// answerer.ts: one value -> its answer: what the release has, then overrides, then what was opted in to.
//
// in   an IP address or the text of an email address, and an AnswerSource
// out  the answer's JSON bytes, which may be shared: never write to them; or a LookupFailure
// err  none thrown
// cost an address without overrides and evidence: no allocation
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
import type { Overrides } from "../overrides/match.ts";
import { REPUTATION_ANSWERS } from "../overrides/reputation-flags.ts";
import { answerEmail } from "../segment/email-segment.ts";
import type { IpSegment } from "../segment/ip-segment.ts";
import type { IpLookup, Lookup } from "./data-state.ts";
import { EvidenceAppender } from "./evidence.ts";
import { ADDRESS_INVALID, type LookupFailure, NO_RELEASE, NOT_FOUND, RESERVED } from "./failure.ts";
import type { LoadedRelease } from "./loaded-release.ts";
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

export type Outcome = Uint8Array | LookupFailure;

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
const NO_BYTES = new Uint8Array();

export class Answerer {
  /** The last answer before evidence and checks. */
  plain: Uint8Array = NO_BYTES;
  /** What overrides made of the last answer; undefined where none applies. */
  overridden: Overridden | undefined;
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

  answerAddress(
    lookup: IpLookup,
    address: UnwrappedAddress,
    source: AnswerSource,
    withEvidence = false,
  ): Outcome {
    this.overridden = undefined;
    const reserved = specialUse(address);
    if (reserved !== undefined) return RESERVED.get(reserved.use)!; // has every use
    const failure = findFailure(lookup, source);
    if (failure !== undefined) return failure;
    const { overrides, now } = source;
    const release = source.release!; // as is its segment: findFailure looked
    const listed =
      lookup === "geolocate"
        ? release.geo!.lookup(address)
        : (release.reputation!.lookup(address) ?? NO_FLAGS);
    if (listed === undefined) return NOT_FOUND;
    const verdict =
      lookup === "reputation" && overrides.hasAddresses ? overrides.matchAddress(address, now) : undefined;
    if (verdict !== undefined) {
      this.overridden = overrideReputation(listed, address, release, verdict, this.evidence);
    }
    this.plain = this.overridden?.body ?? listed;
    if (!withEvidence) return this.plain;
    return this.evidence.toAddressAnswer(this.plain, lookup, address, release, this.overrideEntries());
  }

  /**
   * Broken syntax is an answer, not a failure.
   * @param check what else changes the answer
   */
  answerEmail(text: string, source: AnswerSource, withEvidence = false, check?: EmailCheck): Outcome {
    this.overridden = undefined;
    const failure = findFailure("email", source);
    if (failure !== undefined) return failure;
    const { overrides, now } = source;
    const release = source.release!; // as is its segment: findFailure looked
    const listed = answerEmail(text, release.email!);
    this.plain = listed;
    if (!overrides.hasEmail && !withEvidence && check === undefined) return listed;
    const mailbox = parseEmail(text);
    const verdict =
      overrides.hasEmail && mailbox.host !== undefined
        ? overrides.matchEmail(text, mailbox.host, now)
        : undefined;
    if (verdict !== undefined) {
      this.overridden = overrideEmail(listed, text, mailbox, release, verdict, this.evidence);
      this.plain = this.overridden.body;
    }
    const entries = withEvidence || check !== undefined ? this.overrideEntries() : [];
    const explained = (body: Uint8Array) =>
      this.evidence.toEmailAnswer(body, text, mailbox, release, entries);
    let body = this.plain;
    if (check !== undefined) {
      const checked = check(body, () => explained(body));
      body = checked.body;
      if (checked.entry !== undefined) entries.push(checked.entry);
    }
    return withEvidence ? explained(body) : body;
  }

  private overrideEntries(): Uint8Array[] {
    return this.overridden === undefined ? [] : overrideEntries(this.overridden.verdict);
  }
}

/** Why no value of a lookup can be answered; undefined when it can. */
export function findFailure(lookup: Lookup, { release, mode }: AnswerSource): LookupFailure | undefined {
  if (release === undefined) return NO_RELEASE;
  const segment = lookup === "geolocate" ? release.geo : release[lookup];
  const { missing, failure } = release.states[lookup];
  return segment !== undefined && (mode === "up" || missing.length === 0) ? undefined : failure;
}

/** The segment whose bytes are the answers about public addresses as they stand; undefined where more is to be done. */
export function plainSegment(lookup: IpLookup, source: AnswerSource): IpSegment | undefined {
  const { release, overrides } = source;
  if (lookup === "reputation" && overrides.hasAddresses) return undefined;
  if (release === undefined || findFailure(lookup, source) !== undefined) return undefined;
  return lookup === "geolocate" ? release.geo : release.reputation;
}
