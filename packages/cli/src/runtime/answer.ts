// answer.ts: look-ups in this process, with the release in use; no HTTP, no key.
//
// in   a release, one value, the overrides in force
// out  the body that the API would answer with
// err  Refused for whatever the API would refuse or not find, with the API's code for it, and its document

import {
  type LoadedRelease,
  Overrides,
  overrideEmail,
  overrideEntries,
  overrideReputation,
  parseIp,
  unwrapIpv4,
  withAddressEvidence,
  withEmailEvidence,
} from "@inkling/engine";
import { lookUpAddress, lookUpEmail, type Problem, problem, problemBody, type Scope } from "@inkling/server";
import { CliError, EXIT } from "../terminal/errors.ts";

/** Answers with what there is; the caller tells what is missing. */
const MODE = "up";

const decoder = new TextDecoder();

/** The body for `value`. @throws Refused for whatever the API would not answer with 200 */
export function answer(
  release: LoadedRelease,
  lookup: Scope,
  value: string,
  overrides = Overrides.NONE,
  now = 0,
  withEvidence = false,
): string {
  const outcome =
    lookup === "email"
      ? answerEmail(release, value, overrides, now, withEvidence)
      : answerAddress(release, lookup, value, overrides, now, withEvidence);
  if (outcome instanceof Uint8Array) return decoder.decode(outcome);
  const [line, ...more] = outcome.detail.split(/(?<=[.:]) /);
  throw new Refused(line!.replace(/[.:]$/, ""), more.length > 0 ? more.join(" ") : undefined, outcome);
}

/** What the API would not answer with 200. */
export class Refused extends CliError {
  /** What it would say instead: docs/errors.md. */
  readonly document: string;
  constructor(message: string, hint: string | undefined, problem: Problem) {
    super(`${message} (${problem.code})`, hint, problem.status === 400 ? EXIT.usage : EXIT.error);
    this.document = problemBody(problem);
  }
}

function answerEmail(
  release: LoadedRelease,
  value: string,
  overrides: Overrides,
  now: number,
  withEvidence: boolean,
) {
  const outcome = lookUpEmail(value, release, MODE);
  if (!(outcome instanceof Uint8Array)) return outcome;
  const overridden = overrides.hasEmail ? overrideEmail(outcome, value, release, overrides, now) : undefined;
  const body = overridden?.body ?? outcome;
  if (!withEvidence) return body;
  return withEmailEvidence(body, value, release, overridden && overrideEntries(overridden.verdict));
}

function answerAddress(
  release: LoadedRelease,
  lookup: "geolocate" | "reputation",
  value: string,
  overrides: Overrides,
  now: number,
  withEvidence: boolean,
) {
  const address = parseIp(value);
  if (address === undefined) {
    throw new Refused(
      `${JSON.stringify(value.slice(0, 60))} is not an IP address`,
      "for example 81.2.69.142 or 2001:4860:4860::8888, without port, brackets or prefix",
      problem("IP_ADDRESS_INVALID"),
    );
  }
  unwrapIpv4(address);
  const outcome = lookUpAddress(lookup, { address, isCaller: false }, release, MODE);
  if (!(outcome instanceof Uint8Array)) return outcome;
  const overridden =
    lookup === "reputation" ? overrideReputation(outcome, address, release, overrides, now) : undefined;
  const body = overridden?.body ?? outcome;
  if (!withEvidence) return body;
  return withAddressEvidence(
    body,
    lookup,
    address,
    release,
    overridden && overrideEntries(overridden.verdict),
  );
}
