// network-summary.ts: summarizes whole networks: the shares of addresses by flag and country, and the prefixes inside
// the networks.
//
// Cost: 0.7 µs for each prefix with one answer; 45.0.0.0/8 has 54,000, and most /16 networks have a few hundred.
//
// "Reserved" counts special-use networks. It also counts IPv6 networks whose addresses embed an IPv4 address, because
// Inkling answers about the IPv4 address instead.

import type { Geolocation } from "@inkling/contract";
import { MAX_COUNTRIES, MAX_PREFIXES, recordOf } from "@inkling/contract";
import {
  ADDRESS_FLAGS,
  type AddressFlag,
  Answerer,
  type AnswerSource,
  addSize,
  alignedBits,
  bitsOfAnswer,
  bodyOf,
  formatPrefix,
  IpAddress,
  type IpSegment,
  type Prefix,
  prefixContains,
  specialUse,
  type UnwrappedAddress,
  unansweredNetworks,
} from "@inkling/engine";
import type { Steps } from "@inkling/operations";

/** A part of the network whose addresses share one answer. */
interface SummaryPrefix {
  readonly network: string;
  readonly flags: readonly AddressFlag[];
  /** ISO 3166-1 alpha-2. */
  readonly country?: string | undefined;
  readonly city?: string | undefined;
}

/** A share is from 0 to 1 of the examined part. */
export interface NetworkSummary {
  /** The examined share of the network: 1, or less if the network has too many prefixes. */
  readonly examined: number;
  readonly reserved: number;
  /** The share of addresses with at least one flag. */
  readonly flagged: number;
  readonly flags: Readonly<Record<AddressFlag, number>>;
  /** Sorted by share, largest first. */
  readonly countries: readonly { readonly iso_code: string; readonly share: number }[];
  readonly prefix_count: number;
  readonly prefixes: readonly SummaryPrefix[];
}

/** Returns the special use that covers a whole network; undefined if there is none. */
export function networkUse({ address, bits }: Prefix): string | undefined {
  const special = specialUse(address);
  return special !== undefined && special.prefix.bits <= bits ? special.use : undefined;
}

/**
 * @param most the maximum number of prefixes to examine
 * @param shown the maximum number of prefixes to list
 */
export function* summarizeNetworks(
  networks: readonly Prefix[],
  source: AnswerSource,
  most: number,
  shown = MAX_PREFIXES,
): Steps<NetworkSummary> {
  const size = networks.reduce((sum, { bits }) => sum + 2 ** -bits, 0);
  const { geo, reputation } = source.release!; // the caller has opened the segment
  const overrides = source.overrides.compiled;
  const unanswered = unansweredNetworks();
  const coverings = [geo, reputation, overrides, unanswered].filter((covering) => covering !== undefined);
  const places = new Places(geo);
  const answerer = new Answerer();
  const flags = ADDRESS_FLAGS.map(() => 0);
  const countries = new Map<string, number>();
  const [flagged, others]: [SummaryPrefix[], SummaryPrefix[]] = [[], []];
  let [examined, reserved, anyFlag, count] = [0, 0, 0, 0];
  yield* visitParts(networks, coverings, (address, bits) => {
    if (count++ === most) return false;
    const share = 2 ** -bits / size;
    examined += share;
    if (unanswered.find(address) !== undefined) {
      reserved += share;
      return true;
    }
    const answer = answerer.answerAddress("reputation", address, source);
    const set = "reason" in answer ? 0 : bitsOfAnswer(bodyOf(answer));
    const { country, city } = places.at(address);
    if (country !== undefined) countries.set(country, (countries.get(country) ?? 0) + share);
    for (let i = 0; i < flags.length; i++) if ((set >> i) & 1) flags[i]! += share;
    if (set !== 0) anyFlag += share;
    const list = set === 0 ? others : flagged;
    if (list.length < shown) {
      const names = ADDRESS_FLAGS.filter((_, i) => (set >> i) & 1);
      list.push({ network: formatPrefix({ address, bits }), flags: names, country, city });
    }
    return true;
  });
  const part = (share: number) => Math.min(1, examined === 0 ? 0 : share / examined);
  return {
    examined: count <= most ? 1 : Math.min(1, examined), // because of rounding, the shares do not add up to exactly 1
    reserved: part(reserved),
    flagged: part(anyFlag),
    flags: recordOf(ADDRESS_FLAGS, (_, i) => part(flags[i]!)),
    countries: Array.from(countries, ([iso_code, share]) => ({ iso_code, share: part(share) }))
      .sort((a, b) => b.share - a.share)
      .slice(0, MAX_COUNTRIES),
    prefix_count: Math.min(count, most),
    prefixes: [...flagged, ...others].slice(0, shown),
  };
}

/** Number of parts that are visited before a pause. Visiting them takes about a millisecond. */
const STEP_PARTS = 1_024;

/** Divides the address space into networks with one answer each. */
type Covering = Pick<IpSegment, "networkBits">;

type Visit = (address: UnwrappedAddress, bits: number) => boolean;

/** Visits networks in parts that each have one answer, until `visit` returns false. */
export function* visitParts(
  networks: readonly Prefix[],
  coverings: readonly Covering[],
  visit: Visit,
): Steps<void> {
  for (const network of networks) if (!(yield* visitNetwork(network, coverings, visit))) return;
}

/** @returns false if `visit` has returned false */
function* visitNetwork(network: Prefix, coverings: readonly Covering[], visit: Visit): Steps<boolean> {
  let visited = 0;
  const address = new IpAddress() as UnwrappedAddress; // networks with embedded IPv4 have no answer
  address.family = network.address.family;
  address.words.set(network.address.words);
  for (let isOpen = true; isOpen; ) {
    let bits = Math.max(network.bits, alignedBits(address));
    for (const covering of coverings) bits = Math.max(bits, covering.networkBits(address));
    if (!visit(address, bits)) return false;
    if (++visited % STEP_PARTS === 0) yield;
    isOpen = addSize(address.words, bits) && prefixContains(network, address);
  }
  return true;
}

type Place = Pick<SummaryPrefix, "country" | "city">;
const NOWHERE: Place = {};
const decoder = new TextDecoder();

/** Country and city by record number. Many networks share a record. */
class Places {
  private readonly segment: IpSegment | undefined;
  private readonly byRecord = new Map<number, Place>([[0, NOWHERE]]);

  constructor(segment: IpSegment | undefined) {
    this.segment = segment;
  }

  at(address: IpAddress): Place {
    if (this.segment === undefined) return NOWHERE;
    const record = this.segment.record(address);
    let place = this.byRecord.get(record);
    if (place === undefined) {
      const bytes = this.segment.answer(record);
      const answer = bytes && (JSON.parse(decoder.decode(bytes)) as Geolocation);
      place = { country: answer?.country.iso_code, city: answer?.city.name };
      this.byRecord.set(record, place);
    }
    return place;
  }
}
