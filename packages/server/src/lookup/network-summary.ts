// network-summary.ts: what is known of whole networks: their shares by flag and country, and the prefixes that they consist
// of.
//
// in   networks of one family; the release and overrides; how many prefixes may be examined
// out  shares of the networks, and their first prefixes, flagged ones before others
// err  none thrown
// cost 0.7 µs for each prefix that has one answer; 45.0.0.0/8 has 54,000, most networks of the size of a /16 some hundred
//
// Reserved are networks of special use, and IPv6 networks whose addresses are answered as the IPv4 address inside.

import type { Geolocation } from "@inkling/contract";
import { recordOf } from "@inkling/contract";
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
  networkAround,
  type Prefix,
  parseIp,
  prefixContains,
  specialUse,
  type UnwrappedAddress,
  unansweredNetworks,
} from "@inkling/engine";

/** A part of the network that has one answer. */
interface SummaryPrefix {
  readonly network: string;
  readonly flags: readonly AddressFlag[];
  /** ISO 3166-1 */
  readonly country?: string | undefined;
  readonly city?: string | undefined;
}

/** Shares are from 0 to 1, of the part that was examined. */
export interface NetworkSummary {
  /** How much of the network was examined: 1, or less where it has too many prefixes. */
  readonly examined: number;
  readonly reserved: number;
  /** With at least one flag. */
  readonly flagged: number;
  readonly flags: Readonly<Record<AddressFlag, number>>;
  /** Most first. */
  readonly countries: readonly { readonly iso_code: string; readonly share: number }[];
  /** How many prefixes were examined. */
  readonly prefix_count: number;
  readonly prefixes: readonly SummaryPrefix[];
}

/** Unless more are asked for. */
export const MAX_PREFIXES = 100;
/** Networks of an AS that are listed for each family. */
export const MAX_NETWORKS = 1_000;
export const MAX_COUNTRIES = 10;

/** The network around an address: "203.0.113.9/24" is 203.0.113.0/24. */
export function readNetwork(text: string): Prefix | undefined {
  const [host = "", digits = "", ...others] = text.split("/");
  const address = parseIp(host);
  if (address === undefined || others.length > 0 || !/^\d{1,3}$/.test(digits)) return undefined;
  const bits = Number(digits);
  if (bits > (address.family === 4 ? 32 : 128)) return undefined;
  return networkAround(address, bits);
}

const MAX_ASN = 2 ** 32 - 1;

/** The number of an AS: "AS60729" is 60729. */
export function readAsn(text: string): number | undefined {
  const asn = Number(/^as(\d{1,10})$/i.exec(text)?.[1]);
  return asn <= MAX_ASN ? asn : undefined;
}

/** The special use of all of a network. */
export function networkUse({ address, bits }: Prefix): string | undefined {
  const special = specialUse(address);
  return special !== undefined && special.prefix.bits <= bits ? special.use : undefined;
}

/**
 * @param most prefixes that may be examined
 * @param shown prefixes that the summary lists
 */
export function summarizeNetworks(
  networks: readonly Prefix[],
  source: AnswerSource,
  most: number,
  shown = MAX_PREFIXES,
): NetworkSummary {
  const size = networks.reduce((sum, { bits }) => sum + 2 ** -bits, 0);
  const { geo, reputation } = source.release!; // the caller has opened it
  const overrides = source.overrides.compiledWith(source.release);
  const unanswered = unansweredNetworks();
  const coverings = [geo, reputation, overrides, unanswered].filter((covering) => covering !== undefined);
  const places = new Places(geo);
  const answerer = new Answerer();
  const flags = ADDRESS_FLAGS.map(() => 0);
  const countries = new Map<string, number>();
  const [flagged, others]: [SummaryPrefix[], SummaryPrefix[]] = [[], []];
  let [examined, reserved, anyFlag, count] = [0, 0, 0, 0];
  visitParts(networks, coverings, (address, bits) => {
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
    examined: count <= most ? 1 : Math.min(1, examined), // a sum of many shares is not exact
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

/** What divides the address space into networks of one answer. */
type Covering = Pick<IpSegment, "networkBits">;

type Visit = (address: UnwrappedAddress, bits: number) => boolean;

/** Visits networks in parts that have one answer each, until `visit` returns false. */
export function visitParts(networks: readonly Prefix[], coverings: readonly Covering[], visit: Visit): void {
  networks.every((network) => visitNetwork(network, coverings, visit));
}

/** @returns false if `visit` did */
function visitNetwork(network: Prefix, coverings: readonly Covering[], visit: Visit): boolean {
  const address = new IpAddress() as UnwrappedAddress; // networks of embedded IPv4 are not answered
  address.family = network.address.family;
  address.words.set(network.address.words);
  for (let isOpen = true; isOpen; ) {
    let bits = Math.max(network.bits, alignedBits(address));
    for (const covering of coverings) bits = Math.max(bits, covering.networkBits(address));
    if (!visit(address, bits)) return false;
    isOpen = addSize(address.words, bits) && prefixContains(network, address);
  }
  return true;
}

type Place = Pick<SummaryPrefix, "country" | "city">;
const NOWHERE: Place = {};
const decoder = new TextDecoder();

/** Country and city by the number of the answer, which many networks share. */
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
