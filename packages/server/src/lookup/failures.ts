// failures.ts: maps each reason why the engine has no answer to the problem that callers receive.
//
// Source: docs/errors.md.

import type { LookupFailure } from "@inkling/engine";
import { type Problem, problem } from "../http/problems.ts";

const ADDRESS_INVALID = problem("IP_ADDRESS_INVALID");
const NOT_FOUND = problem("IP_ADDRESS_NOT_FOUND");
const NO_RELEASE = problem(
  "DATA_NOT_LOADED",
  "The server has no data release that it can use. `/readyz` has the reason.",
);

export const CALLER_UNKNOWN = problem(
  "IP_ADDRESS_INVALID",
  "Your own address is unknown, because a trusted proxy sent no `X-Forwarded-For`, or an invalid one.",
);

/** @param isCaller whether the address is the caller's own */
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
        `No data is loaded for ${failure.names.join(", ")}. The operator can find the reason with \`inkling doctor\`.`,
      );
  }
}

const PROXY_HINT =
  "If your application is behind a proxy or load balancer, it probably sends that machine's address. Configure the application to take the visitor's address from X-Forwarded-For.";
const SANDBOX_HINT = "Sandbox addresses need a key that begins with `ink_test_`.";
const OWN_PROXY_HINT =
  "If there is a proxy in front of this server, the operator must list it in INKLING_TRUSTED_PROXIES.";

function reservedProblem(use: string, isCaller: boolean): Problem {
  const what = `${/^[aeiou]/i.test(use) ? "an" : "a"} ${use} address`;
  const detail = isCaller
    ? `This server received your request from ${what}, which no visitor from the internet has. ${OWN_PROXY_HINT}`
    : `This is ${what}: no visitor from the internet has it. ${use === "documentation" ? SANDBOX_HINT : PROXY_HINT}`;
  return problem("IP_ADDRESS_RESERVED", detail);
}
