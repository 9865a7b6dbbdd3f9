// answers.ts: defines a lookup's answer, with the parts that the request included. generated.ts defines the fields.

import {
  type Answers,
  DATA_OF,
  type EvidenceEntries,
  type WithChecks,
  type WithNetwork,
  type WithSubject,
} from "./generated.ts";

export type Lookup = keyof Answers;

/** Is this an answer of the lookup? Other JSON has no flags, which must not be mistaken for "no flag is set". */
export function isAnswer(lookup: Lookup, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const fields = value as Record<string, unknown>;
  switch (lookup) {
    case "geolocate":
      return typeof fields.country === "object" && fields.country !== null;
    case "reputation":
      return DATA_OF.reputation.every((flag) => typeof fields[flag] === "boolean");
    case "email":
      return typeof fields.valid === "boolean";
  }
}

/** What `evidence: true` adds to an answer. */
export interface WithEvidence<L extends Lookup> {
  readonly evidence: readonly EvidenceEntries[L][];
  /** True if entries were left out because there are too many. */
  readonly evidence_truncated?: true;
}

/** Options that add to the plain answer. */
export interface Extras {
  /** Adds the feed entries behind the answer. */
  readonly evidence?: boolean;
  /** For addresses only: adds the address's network. */
  readonly network?: boolean;
  /** For addresses only: adds the address itself and its prefix. */
  readonly subject?: boolean;
  /** For email only: `["mx"]` checks in DNS whether the domain receives mail. */
  readonly checks?: readonly "mx"[];
}

/** The answer of a lookup with these extras. */
export type Answer<L extends Lookup, E extends Extras = Record<never, never>> = Answers[L] &
  (E extends { readonly evidence: true } ? WithEvidence<L> : unknown) &
  (E extends { readonly network: true } ? WithNetwork : unknown) &
  (E extends { readonly subject: true } ? WithSubject : unknown) &
  (E extends { readonly checks: readonly ["mx", ...(readonly "mx"[])] } ? WithChecks : unknown);
