// services.ts: collects what operators publish about their networks: relays, CDN edges, crawlers and so on.
//
// A value of 0 means that nothing is published about the range. A value n refers to lists[n - 1], the statements about
// the range. They are sorted by descending weight, so own feeds that state kinds come first. Source: docs/api.md
// (services, shared).

import { RangeColumns } from "@inkling/engine";
import type { NetworkClaims, NetworkKind, NetworkLabel } from "../catalog/claims.ts";
import { span4, span6, word } from "../policy/reputation.ts";
import { type Interval, sweep } from "../policy/sweep.ts";

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

interface PublishedRanges {
  readonly v4: RangeColumns;
  readonly v6: RangeColumns;
  /** A value n in `v4` or `v6` refers to `lists[n - 1]`; 0 means none. */
  readonly lists: readonly (readonly Published[])[];
}

interface Span<Key extends number | bigint> extends Interval<Key> {
  readonly bits: number;
}

export function publishedRanges(claims: readonly NetworkClaims[]): PublishedRanges {
  const telling = claims
    .filter(({ label }) => SERVICE_RULES[label] !== undefined)
    .sort((a, b) => (b.weight ?? 0) - (a.weight ?? 0) || (a.feed < b.feed ? -1 : a.feed > b.feed ? 1 : 0));
  const lists: (readonly Published[])[] = [];
  const numbers = new Map<string, number>();
  const listOf = (covers: readonly (readonly Span<number | bigint>[])[]): number => {
    let key = "";
    for (let i = 0; i < covers.length; i++) {
      const smallest = covers[i]!.at(-1);
      if (smallest !== undefined) key += `${i}/${smallest.bits} `;
    }
    if (key === "") return 0;
    let number = numbers.get(key);
    if (number === undefined) {
      number = lists.push(
        covers.flatMap((spans, i) => {
          const smallest = spans.at(-1);
          if (smallest === undefined) return [];
          const { feed, label, operator } = telling[i]!;
          return [{ feed, label, operator, bits: smallest.bits }];
        }),
      );
      numbers.set(key, number);
    }
    return number;
  };
  const v4 = new RangeColumns(4);
  const v6 = new RangeColumns(6);
  const spans = <Key extends number | bigint>(family: 4 | 6, of: typeof span4 | typeof span6) =>
    telling.flatMap(({ networks }, source) =>
      networks
        .filter(({ address }) => address.family === family)
        .map((prefix) => ({ ...of(prefix), source, bits: prefix.bits }) as unknown as Span<Key>),
    );
  sweep(0, 2 ** 32, spans<number>(4, span4), telling.length, (start, covers) =>
    v4.append(start, 0, 0, 0, listOf(covers)),
  );
  sweep(0n, 1n << 128n, spans<bigint>(6, span6), telling.length, (start, covers) =>
    v6.append(word(start, 96n), word(start, 64n), word(start, 32n), word(start, 0n), listOf(covers)),
  );
  return { v4, v6, lists };
}
