// address-ranges.ts: parses lists of ranges from a first to a last address into networks.
//
// ip-range-csv     IP2Location: "first","last" as integers, then more fields; also IPv6 and mapped IPv4
// dshield-block    DShield: first TAB last TAB bits TAB attacks TAB name TAB country TAB email
// network-lines    an address, a network or a range like 192.0.2.1-192.0.2.9 per line; text after # or ; is ignored

import { formatPrefix, IpAddress, type Prefix, parseRawIp } from "@inkling/engine";
import { NetworkList } from "./network-list.ts";
import { type EntryList, lineParser } from "./parser.ts";
import { findDate, findStatedDate } from "./text.ts";

const IPV4_END = 2n ** 32n;
const IPV6_END = 2n ** 128n;
const MAPPED = 0xffffn << 32n;

/** Each number must be followed by a comma, because a number that was cut short would be a different number. */
const NUMBERS = /^"?([0-9]{1,39})"?,"?([0-9]{1,39})"?,/;

export const parseIpRangeCsv = lineParser(NetworkList, () => (line, number, list) => {
  const match = NUMBERS.exec(line);
  addAll(list, number, match && networksOfNumbers(BigInt(match[1]!), BigInt(match[2]!)));
  return undefined;
});

const UPDATED = /^#\s*updated:\s*(.+)$/i; // lines have already been trimmed
const HEADING = /^Start\tEnd\t/;

export const parseDshieldBlock = lineParser(NetworkList, () => (line, number, list) => {
  if (line.startsWith("#")) return findDate(UPDATED.exec(line)?.[1]);
  if (HEADING.test(line)) return undefined;
  const [first = "", last = "", bits] = line.split("\t", 3);
  addAll(list, number, bits === undefined ? null : networksBetween(parseRawIp(first), parseRawIp(last)));
  return undefined;
});

/** Matches a line with several fields. A semicolon with a space beside it starts a comment. */
const FIELDS = /^(?![[{])[^#;]*(?:,|[^#;\s];\S)/;
const ADDRESS_CHARACTERS = /^[\d.:/a-f\s-]+$/i;

export const parseNetworkLines = lineParser(NetworkList, () => (line, number, list) => {
  const at = line.search(/[#;]/);
  const value = at < 0 ? line : line.slice(0, at).trimEnd();
  if (value !== "" && FIELDS.test(line) && !ADDRESS_CHARACTERS.test(value))
    list.tally.fail(number, "looks like CSV, but this format takes one network per line");
  else if (value !== "") addNetworks(list, number, value);
  return at < 0 ? undefined : findStatedDate(line.slice(at));
});

/** Adds an address, a network, or the networks of a range. */
export function addNetworks(list: EntryList, number: number, text: string): void {
  if (text.includes("-")) addRange(list, number, text);
  else list.add(number, text);
}

type Adds = Pick<EntryList, "tally" | "add">;

/** Adds the networks of a range such as "192.0.2.1 - 192.0.2.9". */
export function addRange(list: Adds, number: number, text: string): void {
  const dash = text.indexOf("-");
  const [first, last] = [text.slice(0, dash), text.slice(dash + 1)].map((end) => parseRawIp(end.trim()));
  addAll(list, number, networksBetween(first, last));
}

function addAll(list: Adds, number: number, networks: readonly Prefix[] | null | undefined): void {
  if (!networks)
    list.tally.fail(
      number,
      "is not an address range, which goes from a lower to a higher address of one family",
    );
  list.tally.expand(networks?.length ?? 0);
  for (const network of networks ?? []) list.add(number, formatPrefix(network)); // unwraps IPv4 inside IPv6
}

/** Converts integers below 2^32 to IPv4, and larger integers to IPv6. Mapped IPv4 addresses become IPv4. */
function networksOfNumbers(first: bigint, last: bigint): Prefix[] | undefined {
  if (last >= IPV6_END) return undefined;
  if (last < IPV4_END) return split(first, last, 4);
  if (first >> 32n === 0xffffn && last >> 32n === 0xffffn) return split(first - MAPPED, last - MAPPED, 4);
  return split(first, last, 6);
}

function networksBetween(first: IpAddress | undefined, last: IpAddress | undefined): Prefix[] | undefined {
  if (first === undefined || last === undefined || first.family !== last.family) return undefined;
  return split(toNumber(first), toNumber(last), first.family as 4 | 6);
}

function toNumber({ family, words }: IpAddress): bigint {
  const count = family === 4 ? 1 : 4;
  let value = 0n;
  for (let k = 0; k < count; k++) value = (value << 32n) | BigInt(words[k]!);
  return value;
}

/** Returns the fewest networks that make up a range: at most 254. Undefined if the range is invalid. */
function split(first: bigint, last: bigint, family: 4 | 6): Prefix[] | undefined {
  if (first > last) return undefined;
  const width = family === 4 ? 32 : 128;
  const networks: Prefix[] = [];
  for (let from = first; from <= last; ) {
    const aligned = from === 0n ? width : log2(from & -from);
    const size = Math.min(aligned, log2(last - from + 1n));
    networks.push({ address: toAddress(from, family), bits: width - size });
    from += 1n << BigInt(size);
  }
  return networks;
}

/** Returns the logarithm to base 2, rounded down. */
const log2 = (value: bigint): number => value.toString(2).length - 1;

function toAddress(value: bigint, family: 4 | 6): IpAddress {
  const address = new IpAddress();
  const count = family === 4 ? 1 : 4;
  address.family = family;
  for (let k = 0; k < count; k++) {
    address.words[k] = Number((value >> BigInt(32 * (count - 1 - k))) & 0xffffffffn);
  }
  return address;
}
