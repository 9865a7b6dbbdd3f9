// claims.ts: what a parsed feed states, before any policy has judged it.

import type { Prefix } from "@inkling/engine";

/** What a network claim is about: a reputation flag, or the label `relay` (takes flags away). */
export type NetworkSubject = "is_abuser" | "is_proxy" | "is_tor_exit" | "relay";

/** What a domain claim is about; `free` and `relay` are allow-lists. */
export type DomainSubject = "disposable" | "free" | "relay";

/** All that one feed says of networks. */
export interface NetworkClaims {
  readonly feed: string;
  readonly subject: NetworkSubject;
  readonly networks: readonly Prefix[];
}

/** All that one feed says of domains: A-labels, lower case, no trailing dot. */
export interface DomainClaims {
  readonly feed: string;
  readonly subject: DomainSubject;
  /** domain -> the service that runs it, "" when the feed does not say */
  readonly domains: ReadonlyMap<string, string>;
}
