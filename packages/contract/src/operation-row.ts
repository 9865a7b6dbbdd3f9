// operation-row.ts: what a row about an operation of the public API holds.

import type { Answers, Contents, ParameterRow, REQUEST_HEADERS } from "./operation-parts.ts";
import type { ProblemCode } from "./problems.ts";
import type { Scope } from "./shapes.ts";

export interface OperationRow {
  /** HEAD is answered as GET. ANY: every method is answered alike. */
  readonly method: "GET" | "POST" | "ANY";
  /** May have one of PATH_VALUES, in braces. */
  readonly path: string;
  /** Another path that it has. */
  readonly alias?: string;
  /** Who may ask: everyone, the holder of any key, or of a key with this scope. */
  readonly access: "open" | "key" | Scope;
  /** How a key may be sent; "basic" is the password of Basic authentication. */
  readonly schemes?: readonly ("key" | "basic")[];
  /** Do proxies send the requests, about visitors? Then they hold the key, and its networks are theirs. */
  readonly isForProxies?: boolean;
  /** Does a request look up one value, or many? Its latency counts as theirs. */
  readonly looksUp?: "single" | "batch";
  readonly tag: keyof typeof OPERATION_TAGS;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly ParameterRow[];
  readonly requestHeaders?: readonly (keyof typeof REQUEST_HEADERS)[];
  readonly body?: Contents;
  readonly answers: Answers;
  readonly problems: readonly ProblemCode[];
  /** Headers of problems, beside each problem's own. */
  readonly problemHeaders?: readonly string[];
  /** In the table of docs/api.md. Undefined: it is none of the API's operations, and in no document. */
  readonly docs: string | undefined;
}

export const OPERATION_TAGS = {
  Lookups: "One value per request.",
  Assessments: "One decision about a visitor: allow, challenge or deny, and why.",
  "Many at once":
    "One answer or problem for each value, in order. Each value counts as one lookup for rate, quota and usage.",
  "Other interfaces": "For reverse proxies, Supabase and MaxMind's SDKs.",
  Server: "The server's state and its documents.",
} as const;
