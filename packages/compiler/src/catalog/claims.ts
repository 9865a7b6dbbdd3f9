// claims.ts: the claims of a parsed feed, the input of policy.

import type { FlagLabel, NETWORK_KINDS } from "@inkling/contract";
import type { AddressFlag, Prefix } from "@inkling/engine";

/** A member of the answer about an address. */
export type Flag = AddressFlag;

/** What a list states about its networks; policy/labels.ts has the effect of each. */
export type Label = FlagLabel | "hosting" | "relay" | "anycast";

export type NetworkKind = (typeof NETWORK_KINDS)[number];

/** What a feed states of autonomous systems, by their numbers. */
export interface KindClaims {
  readonly feed: string;
  readonly kinds: ReadonlyMap<number, NetworkKind>;
  /** Beside {@link NAME_WEIGHT} of network/kinds.ts: the kind with the heaviest claims counts. */
  readonly weight: number;
  /** Feeds that it takes entries from: a system of both counts once. */
  readonly lineage: readonly string[];
}

/** Why a network is guarded against false listings; policy/guards.ts has the effect of each kind. */
export type GuardKind =
  | "public-resolver"
  | "listed-resolver"
  | "crawler"
  | "cdn"
  | "cdn-operator"
  | "mail-sender"
  | "monitor"
  | "webhook-sender";

/** What a network claim is about: a flag, a label or a kind that is no verdict, or a guard against flags. */
export type NetworkSubject = Flag | "relay" | "hosting" | "anycast" | "guard" | "kind";

/** A {@link GuardKind} where the subject is "guard", a {@link NetworkKind} where it is "kind", and only there. */
export type NetworkLabel = Label | GuardKind | NetworkKind;

/**
 * What a domain claim is about; `free` and `relay` are allow-lists. `popular` only weighs against disposable lists, below
 * a `shared` domain anybody gets their own name. An entry that is `copied` is an old one, which lists took from each other.
 */
export type DomainSubject = "disposable" | "free" | "relay" | "popular" | "shared" | "copied";

/** The networks of one feed under one label; a feed of several labels has several of these. */
export interface NetworkClaims {
  readonly feed: string;
  readonly subject: NetworkSubject;
  readonly label: NetworkLabel;
  readonly networks: readonly Prefix[];
  /** For an operator's own feed; the policy's tables have the value for built-in feeds. */
  readonly weight?: number;
  /** Who runs the networks, if the feed is that operator's. */
  readonly operator?: string;
  /** Feeds that it takes entries from: an entry of both counts once. */
  readonly lineage?: readonly string[];
}

/** The domains of one feed: A-labels, lower case, no trailing dot. */
export interface DomainClaims {
  readonly feed: string;
  readonly subject: DomainSubject;
  /** domain -> the service that runs it, "" when unknown */
  readonly domains: ReadonlyMap<string, string>;
  /** For an operator's own feed; domain-weights.ts has the value for built-in feeds. */
  readonly weight?: number;
  /** Feeds that it takes entries from: an entry of both counts once. */
  readonly lineage?: readonly string[];
}
