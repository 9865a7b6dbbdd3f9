// failures.ts: defines the error for each reason why the engine has no answer, with the server's codes and statuses.

import type { InklingError } from "@inkling/client";
import { type Problem, problemError } from "@inkling/client/support";
import type { LookupFailure } from "@inkling/engine";

export function errorOf(failure: LookupFailure): InklingError {
  return problemError(problemOf(failure));
}

function problemOf(failure: LookupFailure): Problem {
  switch (failure.reason) {
    case "address_invalid":
      return { code: "IP_ADDRESS_INVALID", status: 400, title: "Not an IP address" };
    case "not_found":
      return { code: "IP_ADDRESS_NOT_FOUND", status: 404, title: "Unknown location" };
    case "no_release":
      return { code: "DATA_NOT_LOADED", status: 503, title: "Data not loaded" };
    case "reserved": {
      const article = /^[aeiou]/i.test(failure.use) ? "an" : "a";
      const detail = `This is ${article} ${failure.use} address: no visitor from the internet has it.`;
      return { code: "IP_ADDRESS_RESERVED", status: 400, title: "Not a public IP address", detail };
    }
    case "data_missing": {
      const detail = `No data is loaded for ${failure.names.join(", ")}.`;
      return { code: "DATA_NOT_LOADED", status: 503, title: "Data not loaded", detail };
    }
  }
}
