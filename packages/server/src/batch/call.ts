// call.ts: defines a request with many values, or with a body about one visitor, as the API passes it on.

import type { LoadedRelease, Lookup } from "@inkling/engine";
import type { Key, Scope } from "@inkling/store/keys/key";
import type { Problem } from "../http/problems.ts";
import type { RateState } from "../limits/token-bucket.ts";
import type { Question } from "../lookup/pipeline.ts";

export interface LineCall {
  readonly request: Request;
  readonly scope: Scope;
  readonly key: Key;
  /** State of the key's bucket, after the token of the first value was taken. */
  readonly rate: RateState;
  /** A long stream replaces its release, because the request lives as long as the stream. */
  readonly question: Omit<Question, "release"> & { release: LoadedRelease | undefined };
  /** Checks the key again. Returns its current state, or a problem if it may no longer be used. */
  readonly readmit: () => Key | Problem;
  /** Sets the number of idle seconds after which the connection is closed. */
  readonly setIdleSeconds: (seconds: number) => void;
  /** Logs an unexpected error without the value that caused it. */
  readonly onCrash: (error: unknown, value: string) => void;
}

export interface LookupCall extends LineCall {
  readonly scope: Lookup;
}
