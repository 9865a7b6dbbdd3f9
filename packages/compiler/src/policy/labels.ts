// labels.ts: what each label means for the answer, and the weight of each list: the policy's one table.
//
// A flag is set when the lists that name an address for it weigh QUORUM together (reputation.ts has the exceptions).
// docs/policy.md gives the reasons, and a test keeps it and these tables alike.

import type { Flag, Label } from "../catalog/claims.ts";
import { IS_ABUSER, IS_PROXY } from "./flags.ts";

interface LabelRule {
  /** The flag that it sets; without one it is evidence and no verdict. */
  readonly flag?: Flag;
  /** Bits of flags that such a network never has. */
  readonly takes?: number;
  /** The label is about traffic from the address, not about its operator. */
  readonly traffic?: true;
}

export const LABELS: Readonly<Record<Label, LabelRule>> = {
  tor_exit: { flag: "is_tor_exit" },
  vpn: { flag: "is_proxy" },
  public_proxy: { flag: "is_proxy" },
  attacker: { flag: "is_abuser", traffic: true },
  criminal_network: { flag: "is_abuser" },
  botnet_c2: { flag: "is_abuser" },
  // Data centres also host sites' own servers, crawlers and offices' gateways.
  hosting: {},
  // Ordinary people, many behind one address; the operator refuses abusers itself.
  relay: { takes: IS_PROXY | IS_ABUSER },
};

/** The weight that sets a flag. */
export const QUORUM = 2;

/** 2: sets a flag alone. 1: needs another list that does not copy it. */
export type ListWeight = 1 | 2;

/** Of a list that is not in the table. A test requires a row for each feed. */
export const UNKNOWN_LIST: ListWeight = 2;

/** Feed -> its weight, for each flag that it sets. */
export const LIST_WEIGHTS: Readonly<Record<string, ListWeight>> = {
  // On by default: each lists one thing, from its own observation.
  "tor-bulk-exits": 2,
  "tor-onionoo": 2,
  "tor-exit-networks": 2,
  "x4bnet-vpn-v4": 2,
  "x4bnet-vpn-v6": 2,
  "vpn-systems": 2,
  // An operator answers its own programs.
  "cyberghost-servers": 2,
  "expressvpn-servers": 2,
  "mullvad-servers": 2,
  "nordvpn-servers": 2,
  "pia-servers": 2,
  "protonvpn-servers": 2,
  "surfshark-servers": 2,
  "monosans-proxies": 2,
  "ipsum-3": 2, // has counted three lists itself
  "spamhaus-drop-v4": 2,
  "spamhaus-drop-v6": 2,
  "feodo-recommended": 2,
  // Off by default: the operator who enables one trusts it.
  "geoip2-anonymous-ip": 2,
  "ip2proxy-lite": 2,
  abuseipdb: 2, // requested with confidence 100 only
  "blocklist-de": 2,
  "cins-army": 2,
  greensnow: 2,
  "et-compromised": 2,
  dshield: 2,
  "firehol-level1": 2,
  "firehol-level2": 2,
  "stopforumspam-1d": 2,
  // Noisy: collected from anywhere, untested.
  "thespeedx-proxies": 1,
  "socks-proxy-1d": 1,
};

export function weightOfList(feed: string): ListWeight {
  return LIST_WEIGHTS[feed] ?? UNKNOWN_LIST;
}
