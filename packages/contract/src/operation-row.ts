// operation-row.ts: the shape of a row for a public API operation.

import type { Answers, Contents, ParameterRow, REQUEST_HEADERS } from "./operation-parts.ts";
import type { ProblemCode } from "./problems.ts";
import type { Scope } from "./shapes.ts";

export interface OperationRow {
  /** HEAD gets the same answer as GET. With ANY, every method gets the same answer. */
  readonly method: "GET" | "POST" | "ANY";
  /** The path, which may have one of PATH_VALUES in braces. */
  readonly path: string;
  /** A second path for the same operation. */
  readonly alias?: string;
  /** Who may send requests: everyone, the holder of any key, or the holder of a key with this scope. */
  readonly access: "open" | "key" | Scope;
  /** The ways to send a key. "basic" means that the key is the password of Basic authentication. */
  readonly schemes?: readonly ("key" | "basic")[];
  /**
   * Do proxies send these requests about visitors? If so, the proxy holds the key, and the key's allowed networks must
   * contain the proxy.
   */
  readonly isForProxies?: boolean;
  /** Does a request look up one value or many? This decides which metric counts its latency. */
  readonly looksUp?: "single" | "batch";
  readonly tag: keyof typeof OPERATION_TAGS;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly ParameterRow[];
  readonly requestHeaders?: readonly (keyof typeof REQUEST_HEADERS)[];
  readonly body?: Contents;
  readonly answers: Answers;
  readonly problems: readonly ProblemCode[];
  /** Headers of problem answers, in addition to each problem's own headers. */
  readonly problemHeaders?: readonly string[];
  /**
   * The operation's text in the table in docs/api.md. Undefined if the path is not an API operation and is not
   * documented.
   */
  readonly docs: string | undefined;
}

export const OPERATION_TAGS = {
  Lookups: "One value per request.",
  Assessments: "Whether to allow, challenge or deny a visitor, and why.",
  "Many at once":
    "One answer or problem for each value, in order. Each value counts as one lookup for rate, quota and usage.",
  "Other interfaces": "For reverse proxies, Supabase and MaxMind's SDKs.",
  Server: "The server's state and its documents.",
} as const;
