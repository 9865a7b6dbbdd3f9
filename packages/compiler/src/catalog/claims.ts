// claims.ts: the claims of a parsed feed, which the policy takes as input.

import type { FlagLabel, NETWORK_KINDS } from "@inkling/contract";
import type { AddressFlag, Prefix } from "@inkling/engine";

/** A flag in the answer about an address. */
export type Flag = AddressFlag;

/** What a list states about its networks. policy/labels.ts defines how each label affects the answer. */
export type Label = FlagLabel | "hosting" | "relay" | "anycast" | "gateway" | "proxy_seen";

export type NetworkKind = (typeof NETWORK_KINDS)[number];

/** The kinds that a feed states for autonomous systems, by system number. */
export interface KindClaims {
  readonly feed: string;
  readonly kinds: ReadonlyMap<number, NetworkKind>;
  /**
   * The weight of these claims, on the same scale as {@link NAME_WEIGHT} in network/kinds.ts. The kind with the largest
   * sum wins.
   */
  readonly weight: number;
  /** Feeds from which this feed copies entries. A system that both feeds list counts once. */
  readonly lineage: readonly string[];
}

/** Why a network is guarded against false listings. policy/labels.ts defines how each kind affects flags. */
export type GuardKind =
  | "public_resolver"
  | "listed_resolver"
  | "crawler"
  | "crawler_network"
  | "cdn"
  | "cdn_operator"
  | "mail_sender"
  | "monitor"
  | "webhook_sender";

/** What a network claim is about: a flag, a label or kind that is not a verdict, or a guard against flags. */
export type NetworkSubject =
  | Flag
  | "relay"
  | "hosting"
  | "anycast"
  | "gateway"
  | "proxy_seen"
  | "guard"
  | "kind";

/** A {@link GuardKind} if the subject is "guard"; a {@link NetworkKind} if it is "kind"; otherwise undefined. */
export type NetworkLabel = Label | GuardKind | NetworkKind;

/**
 * What a domain claim is about. `free` and `relay` are allow-lists. A `popular` entry only counts against disposable
 * lists. Anybody can get a name below a `shared` domain. A `copied` entry comes from an old list whose entries other
 * lists have copied, or from a list that may only confirm others. `mail_host` states which hosts receive the domain's
 * mail.
 */
export type DomainSubject = "disposable" | "free" | "relay" | "popular" | "shared" | "copied" | "mail_host";

/** The networks of one feed under one label. A feed with several labels has one such object per label. */
export interface NetworkClaims {
  readonly feed: string;
  readonly subject: NetworkSubject;
  readonly label: NetworkLabel;
  readonly networks: readonly Prefix[];
  /** Set only for operators' own feeds. The policy's tables hold the weights of built-in feeds. */
  readonly weight?: number;
  /** Who runs the networks, if the feed is published by their operator. */
  readonly operator?: string;
  /** The VPN that uses the networks. */
  readonly provider?: string;
  /** For some networks: the rule by which they are claimed. */
  readonly reasons?: ReadonlyMap<Prefix, string>;
  /** Returns the ISO date of the first copy that had the network; undefined if unknown. */
  readonly firstSeen?: (network: Prefix) => string | undefined;
  /** Networks that earlier copies had and this copy lacks. They claim nothing themselves. */
  readonly earlier?: readonly Prefix[];
  /** Feeds from which this feed copies entries. An entry that is in both feeds counts once. */
  readonly lineage?: readonly string[];
}

/** The domains of one feed: A-labels, lower case, no trailing dot. */
export interface DomainClaims {
  readonly feed: string;
  readonly subject: DomainSubject;
  /**
   * Maps each domain to the service that runs it, or to "" if the service is unknown. For "mail_host", to the date of
   * the DNS lookup and the hosts, separated by spaces.
   */
  readonly domains: ReadonlyMap<string, string>;
  /** Set only for operators' own feeds. domain-weights.ts holds the weights of built-in feeds. */
  readonly weight?: number;
  /** Feeds from which this feed copies entries. An entry that is in both feeds counts once. */
  readonly lineage?: readonly string[];
}
