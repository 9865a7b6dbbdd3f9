// services.ts: collects what operators publish about their networks: relays, CDN edges, crawlers and so on.
//
// A value of 0 means that nothing is published about the range. A value n refers to lists[n - 1], the statements about
// the range. They are sorted by descending weight, so own feeds that state kinds come first. Source: docs/api.md
// (services, shared).

import type { NetworkClaims, NetworkKind, NetworkLabel } from "../catalog/claims.ts";
import { emptyRanges, type FamilyRanges, sweepNetworks } from "../policy/sweep.ts";

interface ServiceRule {
  /** A field of the answer's `services`. */
  readonly service?: string;
  /** Many people share each address of the network. */
  readonly shared?: true;
  readonly kind?: NetworkKind;
}

/** Rules by the label of a claim. Labels that are not listed here say nothing about who uses the network. */
export const SERVICE_RULES: Readonly<Partial<Record<NetworkLabel, ServiceRule>>> = {
  relay: { service: "relay", shared: true },
  public_resolver: { service: "resolver" },
  crawler: { service: "crawler" },
  crawler_network: {},
  gateway: { service: "gateway", shared: true },
  proxy_seen: { service: "proxy_seen" },
  cdn: { service: "cdn", kind: "hosting" },
  cdn_operator: { service: "cdn", kind: "hosting" },
  mail_sender: { service: "mail_sender" },
  monitor: { service: "monitor" },
  webhook_sender: { service: "webhook_sender" },
  hosting: { kind: "hosting" },
  isp: { kind: "isp" },
  mobile: { kind: "mobile" },
  education: { kind: "education" },
  government: { kind: "government" },
  business: { kind: "business" },
};

/** One feed's statement about a range. */
export interface Published {
  readonly feed: string;
  readonly label: NetworkLabel;
  /** Who runs the networks in the feed. */
  readonly operator: string | undefined;
  /** Prefix length of the smallest network in the feed that contains the range. */
  readonly bits: number;
}

interface PublishedRanges extends FamilyRanges {
  /** A value n in `v4` or `v6` refers to `lists[n - 1]`; 0 means none. */
  readonly lists: readonly (readonly Published[])[];
}

export function publishedRanges(claims: readonly NetworkClaims[]): PublishedRanges {
  const telling = claims
    .filter(({ label }) => SERVICE_RULES[label] !== undefined)
    .sort((a, b) => (b.weight ?? 0) - (a.weight ?? 0) || (a.feed < b.feed ? -1 : a.feed > b.feed ? 1 : 0));
  const lists: (readonly Published[])[] = [];
  const numbers = new Map<string, number>();
  const ranges = emptyRanges();
  const networks = telling.map((claim) => claim.networks.map((network) => ({ network })));
  sweepNetworks(networks, (covers, append) => {
    const bits = covers.map((spans) => spans.at(-1)?.network.bits);
    if (bits.every((one) => one === undefined)) return append(ranges, 0);
    const key = bits.join();
    const publishedBy = ({ feed, label, operator }: NetworkClaims, i: number): Published | [] =>
      bits[i] === undefined ? [] : { feed, label, operator, bits: bits[i] };
    const number = numbers.get(key) ?? lists.push(telling.flatMap(publishedBy));
    numbers.set(key, number);
    append(ranges, number);
  });
  return { ...ranges, lists };
}
