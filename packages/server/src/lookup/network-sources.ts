// network-sources.ts: lists the feeds and owners of a set of networks, and the networks of an AS.
//
// Cost: 3 µs for each part, or 10 µs if the part has evidence. An AS also needs a pass over the network segment, which
// takes 0.2 s.

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
import type { Steps } from "@inkling/operations";
import { type NetworkSummary, summarizeNetworks, visitParts } from "./network-summary.ts";

/** One claim of a feed or an override. A share is from 0 to 1 of the examined addresses. */
export interface NetworkSource {
  readonly feed: string;
  /** The override's id; undefined for a feed. */
  readonly id?: string | undefined;
  readonly label: string;
  readonly effect: string;
  readonly flags: readonly AddressFlag[];
  readonly share: number;
}

interface NetworkOwner {
  readonly asn?: number | undefined;
  readonly organization?: string | undefined;
  readonly kind: string;
  readonly share: number;
}

interface NetworkSources {
  /** Sorted by share, largest first. */
  readonly sources: readonly NetworkSource[];
  readonly owners: readonly NetworkOwner[];
}

/** What the release and overrides contain about networks of one family. */
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

/** Maximum number of parts to examine for one network or AS. Examining them takes about one second. */
export const MAX_EXPLAINED = 1 << 18;

const decoder = new TextDecoder();

/**
 * @param max the maximum number of parts to examine
 * @param shown the maximum number of parts to list
 */
export function* reportOfNetworks(
  networks: readonly Prefix[],
  source: AnswerSource,
  max: number,
  shown?: number,
): Steps<NetworksReport> {
  const summary = yield* summarizeNetworks(networks, source, max, shown);
  const explained = yield* explainNetworks(networks, source, max, summary.examined);
  return { networks: networks.map(formatPrefix), ...summary, ...explained };
}

/**
 * Returns the report about an AS; undefined if the release contains no network of that AS. See {@link reportOfNetworks}
 * for the limits.
 */
export function* reportOfSystem(
  number: number,
  source: AnswerSource,
  max: number,
  shown?: number,
): Steps<SystemReport | undefined> {
  const segment = source.release?.network;
  const found = segment && (yield* networksOfSystem(number, segment));
  if (found === undefined) return undefined;
  const { organization, v4, v6 } = found;
  return {
    number,
    organization,
    ...(v4.length > 0 && { ipv4: yield* reportOfNetworks(v4, source, max, shown) }),
    ...(v6.length > 0 && { ipv6: yield* reportOfNetworks(v6, source, max, shown) }),
  };
}

/**
 * @param max the maximum number of parts to examine
 * @param examined the share of the networks that the summary covers. This function ignores locations, so it visits
 *   fewer, larger parts, and must stop at the same share.
 */
export function* explainNetworks(
  networks: readonly Prefix[],
  source: AnswerSource,
  max: number,
  examined = 1,
): Steps<NetworkSources> {
  const whole = networks.reduce((sum, { bits }) => sum + 2 ** -bits, 0);
  const end = examined < 1 ? examined * whole : Infinity;
  const { reputation, network } = source.release!; // the caller has opened the segment
  const unanswered = unansweredNetworks();
  const overrides = source.overrides.compiled;
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
  yield* visitParts(networks, coverings, (address, bits) => {
    if (count++ === max || total >= end) return false;
    const size = Math.min(2 ** -bits, end - total);
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

/** Adds up the sizes of equal rows. */
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

const STEP_RECORDS = 4_096;

/** Finds the networks of an AS; undefined if the AS has none. */
function* networksOfSystem(asn: number, segment: IpSegment) {
  const records = new Set<number>();
  let organization: string | undefined;
  for (let record = 1; record < segment.answers.count; record++) {
    if (record % STEP_RECORDS === 0) yield;
    const text = decoder.decode(segment.answer(record));
    if (!text.includes(`"asn":${asn}`)) continue;
    const answer = JSON.parse(text) as NetworkAnswer;
    if (answer.asn !== asn) continue;
    records.add(record);
    organization ??= answer.organization;
  }
  if (records.size === 0) return undefined;
  return {
    organization,
    v4: yield* networksWith(records, segment, 4),
    v6: yield* networksWith(records, segment, 6),
  };
}

function* networksWith(records: ReadonlySet<number>, segment: IpSegment, family: 4 | 6): Steps<Prefix[]> {
  const found: Prefix[] = [];
  yield* visitParts(
    [{ address: new IpAddress(family), bits: 0 }],
    [segment, unansweredNetworks()],
    (address, bits) => {
      if (records.has(segment.record(address)) && unansweredNetworks().find(address) === undefined) {
        found.push({ address: new IpAddress(family, address.words), bits });
        mergeLast(found);
      }
      return true;
    },
  );
  return found;
}

/** Replaces the last two networks with one larger network if they are its halves. */
function mergeLast(networks: Prefix[]): void {
  for (;;) {
    const [first, second] = networks.slice(-2);
    if (second === undefined || first === undefined || first.bits !== second.bits) return;
    const parent: Prefix = { address: first.address, bits: first.bits - 1 };
    if (hasHostBits(parent.address, parent.bits) || !prefixContains(parent, second.address)) return;
    networks.splice(-2, 2, parent);
  }
}
