// claims.ts: what a parsed feed states, before any policy has judged it.

import type { Prefix } from "@inkling/engine";

/** What the answer about an address says. */
export type Flag = "is_abuser" | "is_proxy" | "is_tor_exit";

/** What a list knows of the networks that it names; policy/labels.ts says what becomes of it. */
export type Label =
  | "tor_exit"
  | "vpn"
  | "public_proxy"
  | "hosting"
  | "relay"
  | "attacker"
  | "criminal_network"
  | "botnet_c2";

/** Why a network that stands on lists by mistake is guarded; policy/guards.ts says from what. */
export type GuardKind =
  | "public-resolver"
  | "listed-resolver"
  | "crawler"
  | "cdn"
  | "cdn-operator"
  | "mail-sender";

/** What a network claim is about: a flag, a label that is no verdict, or a guard against flags. */
export type NetworkSubject = Flag | "relay" | "hosting" | "guard";

/** What a domain claim is about; `free` and `relay` are allow-lists. */
export type DomainSubject = "disposable" | "free" | "relay";

/** All that one feed says of networks under one label; a feed that knows several has several of these. */
export interface NetworkClaims {
  readonly feed: string;
  readonly subject: NetworkSubject;
  /** A {@link GuardKind} where the subject is "guard", and only there. */
  readonly label: Label | GuardKind;
  readonly networks: readonly Prefix[];
  /** Feeds that it takes entries from: what both say was said once. */
  readonly lineage?: readonly string[];
}

/** All that one feed says of domains: A-labels, lower case, no trailing dot. */
export interface DomainClaims {
  readonly feed: string;
  readonly subject: DomainSubject;
  /** domain -> the service that runs it, "" when the feed does not say */
  readonly domains: ReadonlyMap<string, string>;
  /** Feeds that it takes entries from: what both say was said once. */
  readonly lineage?: readonly string[];
}
