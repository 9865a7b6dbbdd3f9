// flags.ts: the flags of a reputation answer, and the labels that feeds and evidence use.
//
// A new flag is a row here, a label that sets it, what is believable of both in the compiler's policy/labels.ts, a feed
// with that label, and its rows in docs/policy.md. The fact `ip.FLAG` and its reason in assessments follow from the row.

import { keysOf, recordOf } from "./tables.ts";

interface FlagRow {
  /** For people, in the middle of a sentence: "proxy or VPN". */
  readonly name: string;
  /** The same with its article: "a proxy or VPN". */
  readonly noun: string;
  /** Several: "proxies and VPNs". */
  readonly plural: string;
  readonly meaning: string;
  /** The value of `deny` of /v1/forward-auth that refuses it, which is also its name in `Inkling-Flags`. */
  readonly deny: string;
  /** The sandbox address that has only this flag. */
  readonly sandbox: {
    /** 192.0.2.N and 2001:db8::N. */
    readonly number: number;
    /** The feed that sets it, and what that feed states. */
    readonly feed: string;
    readonly label: string;
    /** Is the address in a data centre? "listed": a feed says so as well. */
    readonly hosting: boolean | "listed";
  };
  /** The reason of assessments; its code is the flag without "is_". */
  readonly reason: {
    /** From 0 to 1: how far the reason alone moves the score. */
    readonly weight: number;
    readonly meaning: string;
  };
  /** Does it make an address anonymous in MaxMind's GeoIP2 Anonymous IP? */
  readonly anonymous: boolean;
}

const ROWS = {
  is_abuser: {
    name: "abuser",
    noun: "an abuser",
    plural: "abusers",
    meaning: "attacks came from the address, or criminals run its network",
    deny: "abuser",
    sandbox: { number: 4, feed: "attackers", label: "attacker", hosting: false },
    reason: { weight: 0.55, meaning: "attacks came from the address, or criminals run its network" },
    anonymous: false,
  },
  is_proxy: {
    name: "proxy or VPN",
    noun: "a proxy or VPN",
    plural: "proxies and VPNs",
    meaning: "a VPN or public proxy, which hides its users' addresses",
    deny: "proxy",
    sandbox: { number: 5, feed: "vpn", label: "vpn", hosting: "listed" },
    reason: { weight: 0.35, meaning: "the address is a VPN or public proxy" },
    anonymous: true,
  },
  is_tor_exit: {
    name: "Tor exit",
    noun: "a Tor exit",
    plural: "Tor exits",
    meaning: "Tor traffic exits here",
    deny: "tor",
    sandbox: { number: 6, feed: "tor", label: "tor_exit", hosting: true },
    reason: { weight: 0.6, meaning: "the address is a Tor exit" },
    anonymous: true,
  },
} as const satisfies Readonly<Record<string, FlagRow>>;

export type ReputationFlag = keyof typeof ROWS;
/** The flags of a reputation answer with what is known of each, in the order in which the answer lists them. */
export const FLAG_ROWS: Readonly<Record<ReputationFlag, FlagRow>> = ROWS;
export const REPUTATION_FLAGS = Object.keys(ROWS) as readonly ReputationFlag[] as readonly [
  ReputationFlag,
  ...ReputationFlag[],
];

/** What an answer says of an address that no list names. */
export const NO_FLAGS: Readonly<Record<ReputationFlag, boolean>> = recordOf(REPUTATION_FLAGS, () => false);

export function isReputationFlag(name: string): name is ReputationFlag {
  return Object.hasOwn(ROWS, name);
}

interface LabelRow {
  readonly meaning: string;
  /** For people, if it is not the label with spaces. */
  readonly name?: string;
  /** The flag that lists with this label set; without one the label is evidence and no verdict. */
  readonly sets?: ReputationFlag;
}

const SAME_KIND =
  "`include=network`: the network's kind, by the rule in `why`; the label `hosting` is used for this, too";

const LABELS = {
  tor_exit: {
    meaning: "Tor traffic leaves there",
    name: "Tor exit",
    sets: "is_tor_exit",
  },
  vpn: {
    meaning: "a VPN provider uses the network",
    name: "VPN",
    sets: "is_proxy",
  },
  public_proxy: {
    meaning: "an open proxy worked there",
    sets: "is_proxy",
  },
  attacker: { meaning: "attacks came from the address", name: "reported attacker", sets: "is_abuser" },
  criminal_network: { meaning: "criminals run the network", sets: "is_abuser" },
  botnet_c2: {
    meaning: "the machine commands a botnet",
    name: "botnet command server",
    sets: "is_abuser",
  },
  hosting: { meaning: "data centre network" },
  override: { meaning: "the operator's own verdict", name: "your override" },
  relay: {
    meaning: "privacy relay: many ordinary people share one address",
    name: "privacy relay",
  },
  "public-resolver": { meaning: "guard: public DNS resolver" },
  "listed-resolver": { meaning: "guard: on a list of public DNS resolvers" },
  crawler: { meaning: "guard: search engine crawler" },
  cdn: { meaning: "guard: content delivery network" },
  "cdn-operator": { meaning: "guard: any network of a CDN operator" },
  "mail-sender": { meaning: "guard: servers of a mail provider" },
  monitor: { meaning: "guard: machines of a monitoring service" },
  "webhook-sender": { meaning: "guard: machines that send a service's webhooks" },
  special_use: { meaning: "reserved by a standard" },
  disposable: { meaning: "domain of a disposable-email provider", name: "disposable email service" },
  listed: { meaning: "on one list of disposable domains that no other list confirms; no verdict" },
  free_mail: { meaning: "domain of a provider of ordinary mail" },
  popular: { meaning: "among the most used domains; shown only if a disposable list names the domain" },
  shared_domain: { meaning: "anybody can get a name below it" },
  name: {
    meaning: "the name itself counts for or against, by the reason in `why`; shown only if lists disagree",
  },
  mail_host: { meaning: "its mail goes to a [disposable mail host](email.md#disposable-mail-hosts)" },
  role_account: { meaning: "a role reads the mailbox, not a person ([email checks](email.md#labels))" },
  alias: { meaning: "the address has a tag: `jane+shop`" },
  mistyped: { meaning: "close to the popular domain in `did_you_mean`" },
  confusable: { meaning: "letters of another script look like the domain in `did_you_mean`" },
  public_suffix: { meaning: "public suffix; no list applies" },
  location: { meaning: "geolocate: source of the location" },
  anycast: {
    meaning: "geolocate: one address answers from many places; the country is that of registration",
  },
  autonomous_system: {
    meaning: "`include=network`: the autonomous system that announces the network, and its name",
  },
  isp: { meaning: SAME_KIND },
  mobile: { meaning: SAME_KIND },
  education: { meaning: SAME_KIND },
  government: { meaning: SAME_KIND },
  business: { meaning: SAME_KIND },
  registry: { meaning: "geolocate: the registry's record of the network's holder" },
  derived: { meaning: "geolocate: follows from other members" },
  estimated: { meaning: "geolocate: an estimate, because the source states no value" },
} as const satisfies Readonly<Record<string, LabelRow>>;

export type EvidenceLabel = keyof typeof LABELS;
/** The labels of evidence, in the order of docs/evidence.md. */
export const LABEL_ROWS: Readonly<Record<EvidenceLabel, LabelRow>> = LABELS;
export const EVIDENCE_LABELS = keysOf(LABELS);

/** The labels whose lists set a flag. */
export type FlagLabel = {
  [L in EvidenceLabel]: (typeof LABELS)[L] extends { readonly sets: ReputationFlag } ? L : never;
}[EvidenceLabel];

export function isEvidenceLabel(name: string): name is EvidenceLabel {
  return Object.hasOwn(LABELS, name);
}

/** The flag that lists with this label set. */
export function flagOfLabel(label: EvidenceLabel): ReputationFlag | undefined {
  return LABEL_ROWS[label].sets;
}
