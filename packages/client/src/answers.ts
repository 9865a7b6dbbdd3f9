// answers.ts: what the API answers, as types: docs/api.md and docs/evidence.md of the server.
//
// An unknown leaf is left out, so each is optional: never null, "" or 0. Members, labels and effects may be added by
// later servers; programs ignore what they do not know.
// A test holds these to the server's own description (test/client-types.test.ts).

/** Where an address is. Every member is there; what is not known of it is left out. */
export interface Place {
  readonly city: { readonly name?: string };
  readonly continent: { readonly code?: string; readonly name?: string };
  /** Where the user is. */
  readonly country: { readonly iso_code?: string; readonly name?: string };
  readonly location: {
    /** Whole kilometres, 67 % confidence. */
    readonly accuracy_radius?: number;
    readonly latitude?: number;
    readonly longitude?: number;
    /** IANA name: "Europe/London". */
    readonly time_zone?: string;
  };
  readonly postal: { readonly code?: string };
  /** Where the block of addresses is registered. */
  readonly registered_country: { readonly iso_code?: string; readonly name?: string };
  /** From largest to smallest. `iso_code` is the part after the hyphen of ISO 3166-2. */
  readonly subdivisions: readonly { readonly iso_code?: string; readonly name?: string }[];
}

/** Whether an address can be trusted. All false: no list names it. */
export interface Reputation {
  readonly is_abuser: boolean;
  readonly is_proxy: boolean;
  readonly is_tor_exit: boolean;
}

/** What the text of an e-mail address tells. */
export interface EmailVerdict {
  /** Could mail from the internet reach it, as far as its text tells? */
  readonly valid: boolean;
  /** Does it belong to a throw-away provider? Told whether it is valid or not. */
  readonly disposable: boolean;
  /** The provider that matched, then the service that runs it; empty when not disposable. */
  readonly providers: readonly string[];
}

/** The three look-ups, and what each answers. */
export interface Answers {
  readonly geolocate: Place;
  readonly reputation: Reputation;
  readonly email: EmailVerdict;
}
export type Lookup = keyof Answers;

/** Does a look-up answer so? Somebody else's JSON has no flags either, and that must not read as "no flag". */
export function isAnswer(lookup: Lookup, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { country, is_tor_exit, valid } = value as Record<string, unknown>;
  switch (lookup) {
    case "geolocate":
      return typeof country === "object" && country !== null;
    case "reputation":
      return typeof is_tor_exit === "boolean";
    case "email":
      return typeof valid === "boolean";
  }
}

/** A closed list that later servers may extend. */
type Open<Known extends string> = Known | (string & {});

/** What an entry does to the answer. */
export type Effect = Open<"sets" | "removes" | "fills" | "label" | "mutes">;

interface Entry {
  /** The feed's id; `override`, `inkling`, `special-use` and `public-suffix-list` are no feeds. */
  readonly feed: string;
  /** What the feed knows: "vpn", "tor_exit", "disposable", … */
  readonly label: string;
  readonly effect: Effect;
  /** The rule that kept it from having an effect, or how a member was filled in. */
  readonly why?: string;
  /** When the copy in use was fetched. */
  readonly fetched_at?: string;
  /** When the publisher made that copy. */
  readonly published_at?: string;
}

interface OverrideEntry {
  /** Of an override. */
  readonly id?: string;
  /** The feed that an override mutes. */
  readonly mutes?: string;
}

export interface PlaceEvidence extends Entry {
  /** The members of the answer that it filled in. */
  readonly members?: readonly string[];
  /** The largest network around the address with the same answer for the same reasons. */
  readonly network?: string;
}

export interface ReputationEvidence extends Entry, OverrideEntry {
  readonly flags?: readonly Open<"is_abuser" | "is_proxy" | "is_tor_exit">[];
  /** The network that the list has. */
  readonly network?: string;
}

export interface EmailEvidence extends Entry, OverrideEntry {
  readonly flags?: readonly Open<"disposable">[];
  /** The domain that the list has. */
  readonly domain?: string;
  /** The throw-away mail host that the domain's mail goes to. */
  readonly mail_host?: string;
  /** The popular domain that was probably meant. */
  readonly did_you_mean?: string;
  /** What its word is worth, where witnesses voted. */
  readonly weight?: number;
}

export interface EvidenceEntries {
  readonly geolocate: PlaceEvidence;
  readonly reputation: ReputationEvidence;
  readonly email: EmailEvidence;
}

/** What `evidence: true` adds to an answer. */
export interface WithEvidence<L extends Lookup> {
  readonly evidence: readonly EvidenceEntries[L][];
  /** There is more than fits. */
  readonly evidence_truncated?: true;
}

/** What DNS says of a domain's mail: docs/email.md of the server. */
export type MxOutcome = Open<
  "found" | "implicit" | "none" | "null" | "nxdomain" | "timeout" | "failed" | "skipped"
>;

/** What `checks: ["mx"]` adds to an answer about an e-mail address. */
export interface WithChecks {
  readonly checks: { readonly mx: MxOutcome };
}

/** What is asked for beyond the plain answer. */
export interface Extras {
  /** Adds what the answer rests on. */
  readonly evidence?: boolean;
  /** E-mail only: `["mx"]` asks DNS whether the domain takes mail. */
  readonly checks?: readonly "mx"[];
}

/** The answer of a look-up with these extras. */
export type Answer<L extends Lookup, E extends Extras = Record<never, never>> = Answers[L] &
  (E extends { readonly evidence: true } ? WithEvidence<L> : unknown) &
  (E extends { readonly checks: readonly ["mx", ...(readonly "mx"[])] } ? WithChecks : unknown);
