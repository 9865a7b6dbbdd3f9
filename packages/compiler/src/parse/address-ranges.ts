// address-ranges.ts: parses lists of ranges from a first to a last address into networks.
//
// ip-range-csv     IP2Location: "first","last" as integers, then more fields; also IPv6 and mapped IPv4
// dshield-block    DShield: first TAB last TAB bits TAB attacks TAB name TAB country TAB email
// network-lines    an address, a network or a range like 192.0.2.1-192.0.2.9 per line; text after # or ; is ignored

import {
  addSize,
  formatPrefix,
  IpAddress,
  networksOf,
  type Prefix,
  parseRawIp,
  RangeColumns,
} from "@inkling/engine";
import { NetworkList } from "./network-list.ts";
import { type EntryList, lineParser } from "./parser.ts";
import { findDate, findStatedDate } from "./text.ts";

const IPV4_END = 2n ** 32n;
const IPV6_END = 2n ** 128n;

/** Each number must be followed by a comma, because a number that was cut short would be a different number. */
const NUMBERS = /^"?([0-9]{1,39})"?,"?([0-9]{1,39})"?,/;

export const parseIpRangeCsv = lineParser(NetworkList, () => (line, number, list) => {
  const match = NUMBERS.exec(line);
  const [first, last] = match?.slice(1).map((digits) => addressOf(BigInt(digits))) ?? [];
  addAll(list, number, networksBetween(first, last));
  return undefined;
});

const UPDATED = /^#\s*updated:\s*(.+)$/i; // lines have already been trimmed
const HEADING = /^Start\tEnd\t/;

export const parseDshieldBlock = lineParser(NetworkList, () => (line, number, list) => {
  if (line.startsWith("#")) return findDate(UPDATED.exec(line)?.[1]);
  if (HEADING.test(line)) return undefined;
  const [first = "", last = "", bits] = line.split("\t", 3);
  addAll(list, number, bits === undefined ? undefined : networksBetween(parseRawIp(first), parseRawIp(last)));
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

function addAll(list: Adds, number: number, networks: readonly Prefix[] | undefined): void {
  if (networks === undefined)
    list.tally.fail(
      number,
      "is not an address range, which goes from a lower to a higher address of one family",
    );
  list.tally.expand(networks?.length ?? 0);
  for (const network of networks ?? []) list.add(number, formatPrefix(network)); // unwraps IPv4 inside IPv6
}

/** Converts an integer below 2^32 to an IPv4 address, and a larger one to an IPv6 address. */
function addressOf(number: bigint): IpAddress | undefined {
  if (number >= IPV6_END) return undefined;
  if (number < IPV4_END) return new IpAddress(4, [Number(number)]);
  return new IpAddress(
    6,
    [96n, 64n, 32n, 0n].map((shift) => Number((number >> shift) & 0xffffffffn)),
  );
}

/** Returns the fewest networks that make up a range: at most 254. Undefined if the range is invalid. */
export function networksBetween(
  first: IpAddress | undefined,
  last: IpAddress | undefined,
): Prefix[] | undefined {
  if (first === undefined || last === undefined || first.family !== last.family) return undefined;
  const { family } = first;
  const [a, b] = [first.words, last.words];
  const differing = a.findIndex((word, k) => word !== b[k]);
  if (differing >= 0 && a[differing]! > b[differing]!) return undefined;
  const range = new RangeColumns(family, 3);
  const append = (words: Uint32Array, value: number) =>
    range.append(words[0]!, words[1]!, words[2]!, words[3]!, value);
  if (a.some((word) => word !== 0)) append(new Uint32Array(4), 0);
  append(a, 1);
  const next = b.slice();
  if (addSize(next, family === 4 ? 32 : 128)) append(next, 0);
  return Array.from(networksOf(range), ({ words, bits }) => ({
    address: new IpAddress(family, words),
    bits,
  }));
}
