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
  overrideReputation,
  type Scope,
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
): string {
  const outcome =
    lookup === "email"
      ? answerEmail(release, value, overrides, now)
      : answerAddress(release, lookup, value, overrides, now);
  if (outcome instanceof Uint8Array) return decoder.decode(outcome);
  const [line, ...more] = outcome.detail.split(/(?<=[.:]) /);
  const exitCode = outcome.status === 400 ? EXIT.usage : EXIT.error;
  const message = `${line!.replace(/[.:]$/, "")} (${outcome.code})`;
  throw new CliError(message, more.length > 0 ? more.join(" ") : undefined, exitCode);
}

function answerEmail(release: LoadedRelease, value: string, overrides: Overrides, now: number) {
  const outcome = lookUpEmail(value, release, MODE);
  if (!(outcome instanceof Uint8Array) || !overrides.hasEmail) return outcome;
  return overrideEmail(outcome, value, release, overrides, now)?.body ?? outcome;
}

function answerAddress(
  release: LoadedRelease,
  lookup: "geolocate" | "reputation",
  value: string,
  overrides: Overrides,
  now: number,
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
  if (!(outcome instanceof Uint8Array) || lookup === "geolocate") return outcome;
  return overrideReputation(outcome, address, release, overrides, now)?.body ?? outcome;
}
