// answers.ts: types of the API's answers: docs/api.md and docs/evidence.md of the server.
//
// Unknown leaves are omitted, so each is optional: never null, "" or 0. Later servers may add members, labels and
// effects; programs should ignore those that they do not know. test/client-types.test.ts compares these types with the
// server's schemas.

/** Where an address is. Every member is present; its unknown leaves are omitted. */
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

/** The verdict on an email address. */
export interface EmailVerdict {
  /** Could mail from the internet reach it, judged by its text? */
  readonly valid: boolean;
  /** Does it belong to a disposable-email provider? Set for invalid addresses, too. */
  readonly disposable: boolean;
  /** The provider that matched, then the service that runs it; empty when not disposable. */
  readonly providers: readonly string[];
}

/** The answer of each lookup. */
export interface Answers {
  readonly geolocate: Place;
  readonly reputation: Reputation;
  readonly email: EmailVerdict;
}
export type Lookup = keyof Answers;

/** Is this an answer of the lookup? Other JSON has no flags either, which must not be read as "no flag set". */
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
export type Open<Known extends string> = Known | (string & {});

/** What an entry does to the answer. */
export type Effect = Open<"sets" | "removes" | "fills" | "label">;

/** The labels that docs/evidence.md of the server lists, in its order. A test compares the two. */
export const EVIDENCE_LABELS = [
  "tor_exit",
  "vpn",
  "public_proxy",
  "attacker",
  "criminal_network",
  "botnet_c2",
  "hosting",
  "override",
  "relay",
  "public-resolver",
  "listed-resolver",
  "crawler",
  "cdn",
  "cdn-operator",
  "mail-sender",
  "monitor",
  "webhook-sender",
  "special_use",
  "disposable",
  "free_mail",
  "popular",
  "shared_domain",
  "name",
  "mail_host",
  "role_account",
  "alias",
  "mistyped",
  "public_suffix",
  "location",
  "anycast",
  "autonomous_system",
  "isp",
  "mobile",
  "education",
  "government",
  "business",
  "registry",
  "derived",
  "estimated",
] as const;

/** What a feed states about the address, network or domain. */
export type EvidenceLabel = Open<(typeof EVIDENCE_LABELS)[number]>;

interface Entry {
  /** The feed's id; `override`, `inkling`, `special-use` and `public-suffix-list` are no feeds. */
  readonly feed: string;
  /** What the feed states: "vpn", "tor_exit", "disposable", … */
  readonly label: EvidenceLabel;
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
}

export interface PlaceEvidence extends Entry {
  /** The members of the answer that it filled in. */
  readonly members?: readonly string[];
  /** The largest network around the address with the same answer for the same reasons. */
  readonly network?: string;
}

export interface ReputationEvidence extends Entry, OverrideEntry {
  readonly flags?: readonly Open<"is_abuser" | "is_proxy" | "is_tor_exit">[];
  /** The members of the network that it filled in. */
  readonly members?: readonly string[];
  /** The network that the list has. */
  readonly network?: string;
}

export interface EmailEvidence extends Entry, OverrideEntry {
  readonly flags?: readonly Open<"disposable">[];
  /** The domain that the list has. */
  readonly domain?: string;
  /** The mail host of a disposable-email service that receives the domain's mail. */
  readonly mail_host?: string;
  /** The popular domain that was probably meant. */
  readonly did_you_mean?: string;
  /** Its weight, where feeds voted. */
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
  /** Entries were left out: there are too many. */
  readonly evidence_truncated?: true;
}

/** Whose network an address is: docs/api.md of the server. */
export interface Network {
  /** The largest network around the address of which all this holds. */
  readonly prefix: string;
  /** The autonomous system that announces it. */
  readonly asn?: number;
  readonly organization?: string;
  readonly kind: Open<"hosting" | "isp" | "mobile" | "education" | "government" | "business" | "unknown">;
  /** Do many people come from one address, as published? */
  readonly shared: boolean;
  /** What operators publish about it. */
  readonly services: readonly Open<
    "cdn" | "crawler" | "mail_sender" | "monitor" | "relay" | "resolver" | "webhook_sender"
  >[];
}

/** What `network: true` adds to an answer about an address; null where the server has no such data. */
export interface WithNetwork {
  readonly network: Network | null;
}

/** What `subject: true` adds to an answer about an address. */
export interface WithSubject {
  /** In normal form, IPv4 unwrapped. */
  readonly ip: string;
  /** The network that the data has this answer for. */
  readonly prefix: string;
}

/** The result of the DNS check of a domain: docs/email.md of the server. */
export type MxOutcome = Open<
  "found" | "implicit" | "none" | "null" | "nxdomain" | "timeout" | "failed" | "busy" | "skipped"
>;

/** What `checks: ["mx"]` adds to an answer about an email address. */
export interface WithChecks {
  readonly checks: { readonly mx: MxOutcome };
}

/** Options that add to the plain answer. */
export interface Extras {
  /** Adds the entries of feeds behind the answer. */
  readonly evidence?: boolean;
  /** Addresses only: adds whose network it is. */
  readonly network?: boolean;
  /** Addresses only: adds the address itself and its prefix. */
  readonly subject?: boolean;
  /** Email only: `["mx"]` checks in DNS whether the domain receives mail. */
  readonly checks?: readonly "mx"[];
}

/** The answer of a lookup with these extras. */
export type Answer<L extends Lookup, E extends Extras = Record<never, never>> = Answers[L] &
  (E extends { readonly evidence: true } ? WithEvidence<L> : unknown) &
  (E extends { readonly network: true } ? WithNetwork : unknown) &
  (E extends { readonly subject: true } ? WithSubject : unknown) &
  (E extends { readonly checks: readonly ["mx", ...(readonly "mx"[])] } ? WithChecks : unknown);
