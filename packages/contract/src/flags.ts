// flags.ts: lists the flags of a reputation answer, and the labels that feeds and evidence use.
//
// A new flag needs a row here, a label that sets it, the plausible sizes of both in the compiler's policy/labels.ts, a
// feed with that label, and rows in docs/policy.md. The fact `ip.FLAG` and the reason in decisions follow from the
// row.

import { keysOf, recordOf } from "./tables.ts";

interface FlagRow {
  /** The name for people, as it fits into a sentence: "proxy or VPN". */
  readonly name: string;
  /** The name with its article: "a proxy or VPN". */
  readonly noun: string;
  /** The plural of the name: "proxies and VPNs". */
  readonly plural: string;
  readonly meaning: string;
  /** The value of the `deny` parameter of /v1/forward-auth that refuses the flag, and its name in `Inkling-Flags`. */
  readonly deny: string;
  /** The sandbox address that has only this flag. */
  readonly sandbox: {
    /** The N in 192.0.2.N and 2001:db8::N. */
    readonly number: number;
    /** The feed that sets the flag, and the label that the feed states. */
    readonly feed: string;
    readonly label: string;
    /** Is the address in a data centre? "listed" means that a feed also lists it as hosting. */
    readonly hosting: boolean | "listed";
  };
  /** The reason in decisions. Its code is the flag without "is_". */
  readonly reason: {
    /** The score that results from this reason only, from 0 to 1. */
    readonly weight: number;
    readonly meaning: string;
  };
  /** Does MaxMind's GeoIP2 Anonymous IP call an address with this flag anonymous? */
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
    meaning: "Tor traffic exits from this address",
    deny: "tor",
    sandbox: { number: 6, feed: "tor", label: "tor_exit", hosting: true },
    reason: { weight: 0.6, meaning: "the address is a Tor exit" },
    anonymous: true,
  },
} as const satisfies Readonly<Record<string, FlagRow>>;

export type ReputationFlag = keyof typeof ROWS;
/** The rows of all flags, in the order in which a reputation answer lists them. */
export const FLAG_ROWS: Readonly<Record<ReputationFlag, FlagRow>> = ROWS;
export const REPUTATION_FLAGS = Object.keys(ROWS) as readonly ReputationFlag[] as readonly [
  ReputationFlag,
  ...ReputationFlag[],
];

/** The flags of an address that is not on any list. */
export const NO_FLAGS: Readonly<Record<ReputationFlag, boolean>> = recordOf(REPUTATION_FLAGS, () => false);

export function isReputationFlag(name: string): name is ReputationFlag {
  return Object.hasOwn(ROWS, name);
}

interface LabelRow {
  readonly meaning: string;
  /** The name for people, if it differs from the label with spaces. */
  readonly name?: string;
  /**
   * The flag set by lists that have this label. If there is none, the label is only evidence and does not affect the
   * verdict.
   */
  readonly sets?: ReputationFlag;
}

const SAME_KIND =
  "`include=network`: the network's kind, decided by the rule in `why`; the `hosting` label can have this meaning as well";

const LABELS = {
  tor_exit: {
    meaning: "Tor traffic exits there",
    name: "Tor exit",
    sets: "is_tor_exit",
  },
  vpn: {
    meaning: "a VPN provider uses the network",
    name: "VPN",
    sets: "is_proxy",
  },
  vpn_network: {
    meaning: "a VPN provider runs several servers in the network, as `why` explains",
    name: "VPN network",
    sets: "is_proxy",
  },
  public_proxy: {
    meaning: "an open proxy worked there",
    sets: "is_proxy",
  },
  proxy_network: { meaning: "bots use the network as a proxy, and nobody else uses it", sets: "is_proxy" },
  proxy_seen: {
    meaning:
      "`include=network`: bots used addresses in the network as proxies, but ordinary people use them too; no verdict",
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
  gateway: {
    meaning: "`include=network`: corporate gateway: employees of its operator's customers come from it",
    name: "corporate gateway",
  },
  public_resolver: { meaning: "guard: public DNS resolver" },
  listed_resolver: { meaning: "guard: on a list of public DNS resolvers" },
  crawler: { meaning: "guard: search engine crawler" },
  cdn: { meaning: "guard: content delivery network" },
  cdn_operator: { meaning: "guard: any network of a CDN operator" },
  mail_sender: { meaning: "guard: servers of a mail provider" },
  crawler_network: {
    meaning: "`include=network`: a crawler's operator uses the network, for crawlers and for other machines",
  },
  monitor: { meaning: "guard: machines of a monitoring service" },
  webhook_sender: { meaning: "guard: machines that send a service's webhooks" },
  special_use: { meaning: "reserved by a standard" },
  disposable: { meaning: "domain of a disposable-email provider", name: "disposable email service" },
  listed: { meaning: "on one list of disposable domains, not confirmed by any other list; no verdict" },
  free_mail: { meaning: "domain of an ordinary mail provider" },
  popular: { meaning: "one of the most used domains; shown only if a disposable list contains it" },
  shared_domain: { meaning: "anyone can get a name below it" },
  name: {
    meaning:
      "the name itself suggests a disposable domain or an ordinary one, as `why` explains; shown only if lists disagree",
  },
  mail_host: {
    meaning:
      "the domain's mail goes to a [disposable mail host](email.md#disposable-mail-hosts), or to a [provider of paid mailboxes](policy.md#mail-hosts)",
  },
  role_account: { meaning: "the mailbox belongs to a role, not a person ([email checks](email.md#labels))" },
  alias: { meaning: "the address has a tag: `jane+shop`" },
  mistyped: { meaning: "close to the popular domain in `did_you_mean`" },
  confusable: { meaning: "letters of another script look like the domain in `did_you_mean`" },
  public_suffix: { meaning: "public suffix; no list applies" },
  location: { meaning: "geolocate: source of the location" },
  anycast: {
    meaning: "geolocate: one address answers from many places; the country is the country of registration",
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
  derived: { meaning: "geolocate: derived from other fields" },
  estimated: { meaning: "geolocate: an estimate, because the source states no value" },
} as const satisfies Readonly<Record<string, LabelRow>>;

export type EvidenceLabel = keyof typeof LABELS;
/** The labels that evidence can have, in the order of docs/evidence.md. */
export const LABEL_ROWS: Readonly<Record<EvidenceLabel, LabelRow>> = LABELS;
export const EVIDENCE_LABELS = keysOf(LABELS);

/** The labels that lists use to set flags. */
export type FlagLabel = {
  [L in EvidenceLabel]: (typeof LABELS)[L] extends { readonly sets: ReputationFlag } ? L : never;
}[EvidenceLabel];

export function isEvidenceLabel(name: string): name is EvidenceLabel {
  return Object.hasOwn(LABELS, name);
}

/** Returns the flag that lists with this label set. */
export function flagOfLabel(label: EvidenceLabel): ReputationFlag | undefined {
  return LABEL_ROWS[label].sets;
}

type SetsOfLabel<Label extends EvidenceLabel> = {
  [L in Label]: (typeof LABELS)[L] extends { readonly sets: infer Flag extends ReputationFlag } ? Flag : L;
}[Label];

/** Returns what feeds with this label set: the label's flag, or else the label itself. */
export function setsOfLabel<Label extends EvidenceLabel>(label: Label): SetsOfLabel<Label> {
  return (flagOfLabel(label) ?? label) as SetsOfLabel<Label>;
}
