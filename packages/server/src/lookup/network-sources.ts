// network-sources.ts: which feeds and owners stand behind a set of networks, and which networks an AS has.
//
// in   networks of one family; the release and overrides; how many parts may be examined
// out  shares of the addresses by feed and claim, and by owner; the networks of an AS, merged
// err  none thrown
// cost 3 µs for each part, 10 µs where there is evidence; an AS takes a pass over the network segment, 0.2 s

import type { Reputation } from "@inkling/contract";
import {
  type AddressFlag,
  Answerer,
  type AnswerSource,
  bodyOf,
  formatPrefix,
  hasHostBits,
  INCLUDE,
  IpAddress,
  type IpSegment,
  type Prefix,
  prefixContains,
  unansweredNetworks,
} from "@inkling/engine";
import { type NetworkSummary, summarizeNetworks, visitParts } from "./network-summary.ts";

/** One claim of one feed, or of an override. Shares are from 0 to 1, of the addresses that were examined. */
export interface NetworkSource {
  readonly feed: string;
  /** Of an override. */
  readonly id?: string | undefined;
  readonly label: string;
  readonly effect: string;
  readonly flags: readonly AddressFlag[];
  readonly share: number;
}

export interface NetworkOwner {
  readonly asn?: number | undefined;
  readonly organization?: string | undefined;
  readonly kind: string;
  readonly share: number;
}

export interface NetworkSources {
  /** Largest share first. */
  readonly sources: readonly NetworkSource[];
  readonly owners: readonly NetworkOwner[];
}

/** What is known of networks of one family. */
export interface NetworksReport extends NetworkSummary, NetworkSources {
  readonly networks: readonly string[];
}

export interface SystemReport {
  readonly number: number;
  readonly organization?: string | undefined;
  readonly ipv4?: NetworksReport;
  readonly ipv6?: NetworksReport;
}

type NetworkAnswer = NonNullable<Reputation["network"]>;

const decoder = new TextDecoder();

/**
 * @param max parts that may be examined
 * @param shown parts that the report lists
 */
export function reportOfNetworks(
  networks: readonly Prefix[],
  source: AnswerSource,
  max: number,
  shown?: number,
): NetworksReport {
  return {
    networks: networks.map(formatPrefix),
    ...summarizeNetworks(networks, source, max, shown),
    ...explainNetworks(networks, source, max),
  };
}

/** What is known of an AS; undefined if the release has no network of it. For the limits see {@link reportOfNetworks}. */
export function reportOfSystem(
  number: number,
  source: AnswerSource,
  max: number,
  shown?: number,
): SystemReport | undefined {
  const segment = source.release?.network;
  const found = segment && networksOfSystem(number, segment);
  if (found === undefined) return undefined;
  const { organization, v4, v6 } = found;
  return {
    number,
    organization,
    ...(v4.length > 0 && { ipv4: reportOfNetworks(v4, source, max, shown) }),
    ...(v6.length > 0 && { ipv6: reportOfNetworks(v6, source, max, shown) }),
  };
}

/** @param max parts that may be examined */
export function explainNetworks(
  networks: readonly Prefix[],
  source: AnswerSource,
  max: number,
): NetworkSources {
  const { reputation, network } = source.release!; // the caller has opened it
  const unanswered = unansweredNetworks();
  const overrides = source.overrides.compiledWith(source.release);
  const segments = [reputation, network].filter((segment) => segment !== undefined);
  const coverings = [
    ...segments.map((segment) => ({ networkBits: (address: IpAddress) => segment.reasonBits(address) })),
    overrides,
    unanswered,
  ];
  const answerer = new Answerer();
  const sources = new Tally<Omit<NetworkSource, "share">>();
  const owners = new Tally<Omit<NetworkOwner, "share">>();
  let [total, count] = [0, 0];
  visitParts(networks, coverings, (address, bits) => {
    if (count++ === max) return false;
    const size = 2 ** -bits;
    total += size;
    if (unanswered.find(address) !== undefined) return true;
    const include = INCLUDE.evidence | INCLUDE.network;
    const outcome = answerer.answerAddress("reputation", address, source, include);
    if ("reason" in outcome) return true;
    const answer = JSON.parse(decoder.decode(bodyOf(outcome))) as Reputation;
    for (const { feed, id, label, effect, flags = [] } of answer.evidence ?? [])
      if (effect !== "fills") sources.add({ feed, id, label, effect, flags: flags as AddressFlag[] }, size);
    if (answer.network) {
      const { asn, organization, kind } = answer.network;
      owners.add({ asn, organization, kind }, size);
    }
    return true;
  });
  return { sources: sources.shares(total), owners: owners.shares(total) };
}

/** Sums of sizes by equal rows; a row counts once for each part. */
class Tally<Row extends object> {
  private readonly byText = new Map<string, { readonly row: Row; size: number }>();

  add(row: Row, size: number): void {
    const text = JSON.stringify(row);
    const known = this.byText.get(text);
    if (known === undefined) this.byText.set(text, { row, size });
    else known.size += size;
  }

  shares(total: number): (Row & { share: number })[] {
    return Array.from(this.byText.values(), ({ row, size }) => ({
      ...row,
      share: Math.min(1, size / total),
    })).sort((a, b) => b.share - a.share);
  }
}

interface SystemNetworks {
  readonly organization: string | undefined;
  readonly v4: readonly Prefix[];
  readonly v6: readonly Prefix[];
}

/** The networks of an AS; undefined if no network has it. */
function networksOfSystem(asn: number, segment: IpSegment): SystemNetworks | undefined {
  const records = new Set<number>();
  let organization: string | undefined;
  for (let record = 1; record < segment.answers.count; record++) {
    const text = decoder.decode(segment.answer(record));
    if (!text.includes(`"asn":${asn}`)) continue;
    const answer = JSON.parse(text) as NetworkAnswer;
    if (answer.asn !== asn) continue;
    records.add(record);
    organization ??= answer.organization;
  }
  if (records.size === 0) return undefined;
  return { organization, v4: networksWith(records, segment, 4), v6: networksWith(records, segment, 6) };
}

function networksWith(records: ReadonlySet<number>, segment: IpSegment, family: 4 | 6): Prefix[] {
  const whole = new IpAddress();
  whole.family = family;
  const found: Prefix[] = [];
  visitParts([{ address: whole, bits: 0 }], [segment, unansweredNetworks()], (address, bits) => {
    if (records.has(segment.record(address)) && unansweredNetworks().find(address) === undefined) {
      const copy = new IpAddress();
      copy.family = family;
      copy.words.set(address.words);
      found.push({ address: copy, bits });
      mergeLast(found);
    }
    return true;
  });
  return found;
}

/** While the last two networks are halves of a larger network, the larger network replaces both. */
function mergeLast(networks: Prefix[]): void {
  for (;;) {
    const [first, second] = networks.slice(-2);
    if (second === undefined || first === undefined || first.bits !== second.bits) return;
    const parent: Prefix = { address: first.address, bits: first.bits - 1 };
    if (hasHostBits(parent.address, parent.bits) || !prefixContains(parent, second.address)) return;
    networks.splice(-2, 2, parent);
  }
}
