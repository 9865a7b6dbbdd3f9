// failures.ts: the problem that callers get for each reason why the engine has no answer.
//
// src  docs/errors.md

import type { LookupFailure } from "@inkling/engine";
import { type Problem, problem } from "../http/problems.ts";

const ADDRESS_INVALID = problem("IP_ADDRESS_INVALID");
const NOT_FOUND = problem("IP_ADDRESS_NOT_FOUND");
const NO_RELEASE = problem("DATA_NOT_LOADED", "The server has no release of data yet.");

export const CALLER_UNKNOWN = problem(
  "IP_ADDRESS_INVALID",
  "Your own address is not known: a trusted proxy sent no `X-Forwarded-For`, or one that cannot be read.",
);

/** @param isCaller is the address that of the caller? */
export function problemOf(failure: LookupFailure, isCaller = false): Problem {
  switch (failure.reason) {
    case "address_invalid":
      return ADDRESS_INVALID;
    case "not_found":
      return NOT_FOUND;
    case "no_release":
      return NO_RELEASE;
    case "reserved":
      return reservedProblem(failure.use, isCaller);
    case "data_missing":
      return problem(
        "DATA_NOT_LOADED",
        `No data is loaded for ${failure.names.join(", ")}. The operator finds the reason with \`inkling doctor\`.`,
      );
  }
}

const PROXY_HINT =
  "If your application sits behind a proxy or load balancer, it is passing on that machine's address: configure it to take the visitor's from X-Forwarded-For.";
const SANDBOX_HINT = "To try a request with it, use a sandbox key (`ink_test_…`): docs/sandbox.md.";
const OWN_PROXY_HINT =
  "If there is a proxy in front of this server, its operator has to list it in INKLING_TRUSTED_PROXIES.";

function reservedProblem(use: string, isCaller: boolean): Problem {
  const what = `${/^[aeiou]/i.test(use) ? "an" : "a"} ${use} address`;
  const detail = isCaller
    ? `Your own address, as this server sees it, is ${what}. ${OWN_PROXY_HINT}`
    : `This is ${what}: no visitor from the internet has it. ${use === "documentation" ? SANDBOX_HINT : PROXY_HINT}`;
  return problem("IP_ADDRESS_RESERVED", detail);
}
