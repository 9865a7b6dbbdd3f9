// answer.ts: look-ups in this process, with the release in use; no HTTP, no key.
//
// in   a release, and one value
// out  the body that the API would answer with
// err  CliError for whatever the API would refuse or not find, with the API's code for it

import { parseIp, unwrapIpv4 } from "@inkling/engine";
import { type LoadedRelease, lookUpAddress, lookUpEmail, type Scope } from "@inkling/server";
import { CliError, EXIT } from "./errors.ts";

/** Answers with what there is; the caller tells what is missing. */
const MODE = "up";

const decoder = new TextDecoder();

/** The body for `value`. @throws CliError for whatever the API would not answer with 200 */
export function answer(release: LoadedRelease, lookup: Scope, value: string): string {
  const outcome =
    lookup === "email" ? lookUpEmail(value, release, MODE) : answerAddress(release, lookup, value);
  if (outcome instanceof Uint8Array) return decoder.decode(outcome);
  const [line, ...more] = outcome.detail.split(/(?<=[.:]) /);
  const exitCode = outcome.status === 400 ? EXIT.usage : EXIT.error;
  const message = `${line!.replace(/[.:]$/, "")} (${outcome.code})`;
  throw new CliError(message, more.length > 0 ? more.join(" ") : undefined, exitCode);
}

function answerAddress(release: LoadedRelease, lookup: "geolocate" | "reputation", value: string) {
  const address = parseIp(value);
  if (address === undefined) {
    throw new CliError(
      `${JSON.stringify(value.slice(0, 60))} is not an IP address (IP_ADDRESS_INVALID)`,
      "for example 81.2.69.142 or 2001:4860:4860::8888, without port, brackets or prefix",
      EXIT.usage,
    );
  }
  unwrapIpv4(address);
  return lookUpAddress(lookup, { address, isCaller: false }, release, MODE);
}
