// answer.ts: look-ups in this process, with the release in use; no HTTP, no key.
//
// in   a release, one value, the overrides in force
// out  the body that the API would answer with
// err  CliError for whatever the API would refuse or not find, with the API's code for it

import { parseIp, unwrapIpv4 } from "@inkling/engine";
import {
  type LoadedRelease,
  lookUpAddress,
  lookUpEmail,
  Overrides,
  overrideEmail,
  overrideEntries,
  overrideReputation,
  type Scope,
  withAddressEvidence,
  withEmailEvidence,
} from "@inkling/server";
import { CliError, EXIT } from "./errors.ts";

/** Answers with what there is; the caller tells what is missing. */
const MODE = "up";

const decoder = new TextDecoder();

/** The body for `value`. @throws CliError for whatever the API would not answer with 200 */
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
  const exitCode = outcome.status === 400 ? EXIT.usage : EXIT.error;
  const message = `${line!.replace(/[.:]$/, "")} (${outcome.code})`;
  throw new CliError(message, more.length > 0 ? more.join(" ") : undefined, exitCode);
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
    throw new CliError(
      `${JSON.stringify(value.slice(0, 60))} is not an IP address (IP_ADDRESS_INVALID)`,
      "for example 81.2.69.142 or 2001:4860:4860::8888, without port, brackets or prefix",
      EXIT.usage,
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
