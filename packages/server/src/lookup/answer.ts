// answer.ts: one value -> its answer, from a release.
//
// in   the last segment of the path as sent, the caller's address for `me`
// out  the answer's JSON bytes, or a problem
// err  none thrown
// cost an IP address without escapes: no allocation before the answer

import {
  answerEmail,
  IpAddress,
  type IpLookup,
  type LoadedRelease,
  parseIpInto,
  specialUse,
  unwrapIpv4,
} from "@inkling/engine";
import { type Problem, problem } from "../http/problems.ts";
import { decodeSegment } from "../http/request-target.ts";

export type Outcome = Uint8Array | Problem;

/** In production a look-up with missing data is refused; `up` answers with what there is, and says so. */
export type Mode = "up" | "serve";

const NO_FLAGS = new TextEncoder().encode('{"is_abuser":false,"is_proxy":false,"is_tor_exit":false}');
const ME = "me";

const NOT_FOUND = problem("IP_ADDRESS_NOT_FOUND");
const NO_RELEASE = problem("DATA_NOT_LOADED", "The server has no release of data yet.");
const UNKNOWN_CALLER = problem(
  "IP_ADDRESS_INVALID",
  "Your own address is not known: a trusted proxy passed on an X-Forwarded-For that holds something else than addresses.",
);

/** Whose address is meant, and how it was named. */
export interface Subject {
  readonly address: IpAddress;
  readonly isCaller: boolean;
}

const scratch = new IpAddress(); // a look-up is synchronous, so one is enough
const named: Subject = { address: scratch, isCaller: false };

/**
 * The address that a path segment names, IPv4 unwrapped.
 * @param caller asked only for `me`
 * @returns an object that is good until the next call
 */
export function readSubject(segment: string, caller: () => IpAddress | undefined): Subject | Problem {
  const text = decodeSegment(segment);
  return text === undefined ? problem("PATH_INVALID") : subjectOf(text, caller);
}

/** As {@link readSubject}, for a text that is not part of a path. */
export function subjectOf(text: string, caller: () => IpAddress | undefined): Subject | Problem {
  if (text === ME) {
    const address = caller();
    if (address === undefined) return UNKNOWN_CALLER;
    unwrapIpv4(address);
    return { address, isCaller: true };
  }
  if (!parseIpInto(text, scratch)) return problem("IP_ADDRESS_INVALID");
  unwrapIpv4(scratch);
  return named;
}

/** Answers for a public address; refuses special-use ones. */
export function lookUpAddress(
  lookup: IpLookup,
  subject: Subject,
  release: LoadedRelease | undefined,
  mode: Mode,
): Outcome {
  const reserved = specialUse(subject.address);
  if (reserved !== undefined) return reservedProblem(reserved.use, subject.isCaller);
  if (release === undefined) return NO_RELEASE;
  const refusal = dataProblem(lookup, release, mode);
  if (refusal !== undefined) return refusal;
  if (lookup === "geolocate") return release.geo!.lookup(subject.address) ?? NOT_FOUND;
  return release.reputation!.lookup(subject.address) ?? NO_FLAGS;
}

/** Broken syntax is an answer, not a problem. */
export function lookUpEmail(text: string, release: LoadedRelease | undefined, mode: Mode): Outcome {
  if (release === undefined) return NO_RELEASE;
  return dataProblem("email", release, mode) ?? answerEmail(text, release.email!);
}

/** As {@link dataProblem}, where there may be no release at all. */
export function releaseProblem(
  lookup: IpLookup | "email",
  release: LoadedRelease | undefined,
  mode: Mode,
): Problem | undefined {
  return release === undefined ? NO_RELEASE : dataProblem(lookup, release, mode);
}

/** Why this look-up cannot be answered from this release; undefined when it can, and then its segment is there. */
export function dataProblem(
  lookup: IpLookup | "email",
  release: LoadedRelease,
  mode: Mode,
): Problem | undefined {
  const segment = lookup === "geolocate" ? release.geo : release[lookup];
  const { missing } = release.states[lookup];
  if (segment !== undefined && (mode === "up" || missing.length === 0)) return undefined;
  const names = missing.length === 0 ? lookup : missing.join(", ");
  return problem(
    "DATA_NOT_LOADED",
    `No data is loaded for ${names}. The operator finds the reason in /v1/status and in \`inkling doctor\`.`,
  );
}

const PROXY_HINT =
  "If your application sits behind a proxy or load balancer, it is passing on that machine's address: configure it to take the visitor's from X-Forwarded-For.";
const OWN_PROXY_HINT =
  "If there is a proxy in front of this server, its operator has to list it in INKLING_TRUSTED_PROXIES.";

function reservedProblem(use: string, isCaller: boolean): Problem {
  const what = `${/^[aeiou]/i.test(use) ? "an" : "a"} ${use} address`;
  const detail = isCaller
    ? `Your own address, as this server sees it, is ${what}. ${OWN_PROXY_HINT}`
    : `This is ${what}: no visitor from the internet has it. ${PROXY_HINT}`;
  return problem("IP_ADDRESS_RESERVED", detail);
}
