// ip.ts: parses and formats IP addresses and networks, and lists the special-use networks. An address is stored as
// words, and every table is sorted by these words.
//
// There are three ways to read an address or network. test/address-readers.test.ts lists who uses which:
// - parseIp, parseIpInto, parseIpBytesInto, parsePrefix: whatever is looked up, listed or compared with a lookup. An
//   IPv4 address or network inside IPv6 becomes the IPv4 address or network, because lookups answer about that one.
// - parsePeer, parsePeerPrefix: the machine at the other end of a connection, and the networks that are trusted there.
//   Only IPv4-mapped addresses become IPv4. A tunnel address must not pass for the IPv4 address inside it: whoever
//   announces a part of 2002::/16 can choose that IPv4 address.
// - parseRawIp, parseRawIpInto: exactly the address that is written.
//
// in   "203.0.113.9", "2001:db8::1", "::ffff:203.0.113.9", as a string or as ASCII bytes
// out  IpAddress: a family, and its bits as big-endian uint32 words; undefined or false if the text is not an address
// src  RFC 4291 2.2 (text forms), RFC 6943 3.1.1 (no octal, no short forms), RFC 5952 (formatting)
// cost parsing into an existing IpAddress takes about 30 ns for IPv4 and 60 ns for IPv6 (bench/README.md). It allocates
//      nothing, except for a text such as ::ffff:203.0.113.9
// note Array reads use `!`, because indexes are masked, or bounded by the loop around them.

/** Maximum length of an address as text: `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255`. */
export const MAX_IP_TEXT = 45;

/**
 * One address. It is mutable, so that a lookup can reuse it and allocate nothing.
 * IPv4 uses only `words[0]`; IPv6 uses all four words, most significant first.
 */
export class IpAddress {
  family: 4 | 6;
  readonly words = new Uint32Array(4);

  /** @param words the first words; the others are 0 */
  constructor(family: 4 | 6 = 4, words?: ArrayLike<number>) {
    this.family = family;
    if (words !== undefined) this.words.set(words);
  }
}

declare const unwrapped: unique symbol;
/**
 * An address that is never an IPv4 address inside IPv6, because {@link parseIp} or {@link unwrapIpv4} has unwrapped it.
 * Lookups of visitors accept only this type.
 */
export type UnwrappedAddress = IpAddress & { readonly [unwrapped]: true };

const DOT = 0x2e;
const COLON = 0x3a;
const ZERO = 0x30;

/**
 * Parses one IP address, strictly, into `into`, and unwraps an IPv4 address inside IPv6. It refuses leading zeros in
 * IPv4, octal, hex and short forms, ports, zones, brackets, prefix lengths and white space.
 * @returns false if `text` is not exactly one address; the content of `into` is then unspecified
 */
export function parseIpInto(text: string, into: IpAddress): into is UnwrappedAddress {
  const value = parseIpv4Text(text);
  if (value >= 0) {
    into.family = 4;
    into.words[0] = value;
    return true;
  }
  if (!parseIpv6Text(text, into)) return false;
  unwrapIpv4(into);
  return true;
}

/** Like {@link parseIpInto}, but reads the ASCII characters of `bytes` from `start` up to, but not including, `end`. */
export function parseIpBytesInto(
  bytes: Uint8Array,
  start: number,
  end: number,
  into: IpAddress,
): into is UnwrappedAddress {
  const value = parseIpv4(bytes, start, end);
  if (value >= 0) {
    into.family = 4;
    into.words[0] = value;
    return true;
  }
  if (!parseIpv6(bytes, start, end, into)) return false;
  unwrapIpv4(into);
  return true;
}

/** Like {@link parseIpInto}, but returns a new address; undefined if the text is not an address. */
export function parseIp(text: string): UnwrappedAddress | undefined {
  const address = new IpAddress();
  return parseIpInto(text, address) ? address : undefined;
}

/** Like {@link parseIpInto}, but does not unwrap the address. */
export function parseRawIpInto(text: string, into: IpAddress): boolean {
  const value = parseIpv4Text(text);
  if (value >= 0) {
    into.family = 4;
    into.words[0] = value;
    return true;
  }
  return parseIpv6Text(text, into);
}

/** Like {@link parseIp}, but does not unwrap the address. */
export function parseRawIp(text: string): IpAddress | undefined {
  const address = new IpAddress();
  return parseRawIpInto(text, address) ? address : undefined;
}

/**
 * Like {@link parseIp}, but unwraps only IPv4-mapped addresses: a socket that listens on both families reports IPv4
 * addresses in this form.
 */
export function parsePeer(text: string): IpAddress | undefined {
  const address = parseRawIp(text);
  return address && withoutMapping(address, address.family === 4 ? 32 : 128).address;
}

/**
 * Values of octets. The hex digits of the index are the octet's digits, each plus one. The value is -1 if the digits
 * are not an octet; "01" is refused because some parsers read it as octal. One table read replaces branches that
 * processors cannot predict.
 */
const OCTETS = new Int16Array(4096).fill(-1);
for (let value = 0; value < 256; value++) {
  OCTETS[[...String(value)].reduce((code, digit) => code * 16 + Number(digit) + 1, 0)] = value;
}

/** Parses a dotted quad from `start` up to, but not including, `end`; returns -1 if the bytes are not a dotted quad. */
function parseIpv4(bytes: Uint8Array, start: number, end: number): number {
  let value = 0;
  let code = 0;
  let dots = 0;
  let wrong = 0; // negative as soon as any part is wrong
  for (let i = start; i < end; i++) {
    const digit = bytes[i]! - ZERO;
    if (digit === DOT - ZERO) {
      const octet = OCTETS[code & 4095]!;
      wrong |= octet | (4095 - code);
      value = (value << 8) | octet;
      code = 0;
      dots++;
    } else {
      if (digit < 0 || digit > 9 || code > 4095) return -1;
      code = (code << 4) | (digit + 1);
    }
  }
  const octet = OCTETS[code & 4095]!;
  return dots === 3 && (wrong | octet | (4095 - code)) >= 0 ? ((value << 8) | octet) >>> 0 : -1;
}

/**
 * Does the same as {@link parseIpv4}, but for a string. Copying the string to bytes first would take 50% longer
 * (bench/README.md).
 */
function parseIpv4Text(text: string): number {
  const { length } = text;
  let value = 0;
  let code = 0;
  let dots = 0;
  let wrong = 0;
  for (let i = 0; i < length; i++) {
    const digit = text.charCodeAt(i) - ZERO;
    if (digit === DOT - ZERO) {
      const octet = OCTETS[code & 4095]!;
      wrong |= octet | (4095 - code);
      value = (value << 8) | octet;
      code = 0;
      dots++;
    } else {
      if (digit < 0 || digit > 9 || code > 4095) return -1;
      code = (code << 4) | (digit + 1);
    }
  }
  const octet = OCTETS[code & 4095]!;
  return dots === 3 && (wrong | octet | (4095 - code)) >= 0 ? ((value << 8) | octet) >>> 0 : -1;
}

/** Value of each hex digit, by character code; 16 for any other character. */
const HEX = new Uint8Array(256).fill(16);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  HEX[digit.charCodeAt(0)] = value;
  HEX[digit.toUpperCase().charCodeAt(0)] = value;
}

/**
 * The groups of the address that is being parsed. All calls share this array, because parsing is synchronous.
 * Collecting the groups in the words of `into` would take 10 ns longer for "2a02:1:2::3", which is 5% of the lookup
 * time.
 */
const groups = new Uint16Array(8);

function parseIpv6(bytes: Uint8Array, start: number, end: number, into: IpAddress): boolean {
  if (end - start < 2 || end - start > MAX_IP_TEXT) return false;
  let count = 0; // number of groups read
  let gap = -1; // number of groups before "::"
  let i = start;
  if (bytes[i] === COLON) {
    if (bytes[i + 1] !== COLON) return false;
    gap = 0;
    i += 2;
  }
  let from = i; // start of the current group
  let group = 0;
  for (; i < end; i++) {
    const c = bytes[i]!;
    const digit = HEX[c]!;
    if (digit < 16) {
      group = (group << 4) | digit;
      continue;
    }
    if (c === DOT) {
      const tail = parseIpv4(bytes, from, end);
      if (tail < 0 || count > 6) return false;
      groups[count++] = tail >>> 16;
      group = tail & 0xffff;
      from = end - 1; // the loop ends with one group left to store
      break;
    }
    if (c !== COLON || i === from || i - from > 4 || count === 7) return false;
    groups[count++] = group;
    group = 0;
    from = i + 1;
    if (from < end && bytes[from] === COLON) {
      if (gap >= 0) return false;
      gap = count;
      from = ++i + 1;
    }
  }
  if (from < end) {
    if (end - from > 4) return false;
    groups[count++] = group;
  } else if (gap !== count) return false; // a single trailing colon
  return storeGroups(count, gap, into);
}

/** Does the same as {@link parseIpv6}, but for a string. Copying the string to bytes first would take 50% longer. */
function parseIpv6Text(text: string, into: IpAddress): boolean {
  const { length } = text;
  if (length < 2 || length > MAX_IP_TEXT) return false;
  let count = 0;
  let gap = -1;
  let i = 0;
  if (text.charCodeAt(0) === COLON) {
    if (text.charCodeAt(1) !== COLON) return false;
    gap = 0;
    i = 2;
  }
  let from = i;
  let group = 0;
  for (; i < length; i++) {
    const c = text.charCodeAt(i);
    if (c > 127) return false;
    const digit = HEX[c]!;
    if (digit < 16) {
      group = (group << 4) | digit;
      continue;
    }
    if (c === DOT) {
      const tail = parseIpv4Text(text.slice(from));
      if (tail < 0 || count > 6) return false;
      groups[count++] = tail >>> 16;
      group = tail & 0xffff;
      from = length - 1;
      break;
    }
    if (c !== COLON || i === from || i - from > 4 || count === 7) return false;
    groups[count++] = group;
    group = 0;
    from = i + 1;
    if (from < length && text.charCodeAt(from) === COLON) {
      if (gap >= 0) return false;
      gap = count;
      from = ++i + 1;
    }
  }
  if (from < length) {
    if (length - from > 4) return false;
    groups[count++] = group;
  } else if (gap !== count) return false; // a single trailing colon
  return storeGroups(count, gap, into);
}

/**
 * Stores the first `count` groups in `into`. For the missing groups, it inserts zeros after the first `gap` groups.
 * @returns false if there are too many or too few groups
 */
function storeGroups(count: number, gap: number, into: IpAddress): boolean {
  if (gap < 0 ? count !== 8 : count > 7) return false;
  if (gap >= 0) {
    const zeros = 8 - count;
    for (let k = count - 1; k >= gap; k--) groups[k + zeros] = groups[k]!;
    for (let k = gap; k < gap + zeros; k++) groups[k] = 0;
  }
  into.family = 6;
  const { words } = into;
  words[0] = (groups[0]! << 16) | groups[1]!;
  words[1] = (groups[2]! << 16) | groups[3]!;
  words[2] = (groups[4]! << 16) | groups[5]!;
  words[3] = (groups[6]! << 16) | groups[7]!;
  return true;
}

/**
 * If an IPv6 address contains an IPv4 address, replaces it in place with the IPv4 address:
 * IPv4-mapped ::ffff:0:0/96 (RFC 4291), 6to4 2002::/16 (RFC 3056),
 * Teredo 2001::/32 (RFC 4380: the client, last 32 bits inverted), NAT64 64:ff9b::/96 (RFC 6052).
 */
export function unwrapIpv4(address: IpAddress): asserts address is UnwrappedAddress {
  if (address.family === 4) return;
  const w = address.words;
  const first = w[0]!;
  let ipv4: number;
  if (first === 0 && w[1] === 0 && w[2] === 0xffff) ipv4 = w[3]!;
  else if (first >>> 16 === 0x2002) ipv4 = (first << 16) | (w[1]! >>> 16);
  else if (first === 0x20010000) ipv4 = ~w[3]!;
  else if (first === 0x0064ff9b && w[1] === 0 && w[2] === 0) ipv4 = w[3]!;
  else return;
  address.family = 4;
  w[0] = ipv4;
}

/** Formats IPv4 as a dotted quad, and IPv6 by RFC 5952 (lower case, longest run of zeros as "::"). */
export function formatIp(address: IpAddress): string {
  const w = address.words;
  if (address.family === 4) {
    const a = w[0]!;
    return `${a >>> 24}.${(a >>> 16) & 255}.${(a >>> 8) & 255}.${a & 255}`;
  }
  if (w[0] === 0 && w[1] === 0 && w[2] === 0xffff) {
    const mapped = new IpAddress();
    mapped.words[0] = w[3]!;
    return `::ffff:${formatIp(mapped)}`;
  }
  const parts: number[] = [];
  for (let k = 0; k < 4; k++) parts.push(w[k]! >>> 16, w[k]! & 0xffff);
  let bestStart = -1;
  let bestLength = 1; // a single zero group is not shortened (RFC 5952 4.2.2)
  for (let k = 0; k < 8; k++) {
    let end = k;
    while (end < 8 && parts[end] === 0) end++;
    if (end - k > bestLength) {
      bestStart = k;
      bestLength = end - k;
    }
    if (end > k) k = end;
  }
  const hex = parts.map((part) => part.toString(16));
  if (bestStart < 0) return hex.join(":");
  return `${hex.slice(0, bestStart).join(":")}::${hex.slice(bestStart + bestLength).join(":")}`;
}

/** Returns a host as it is written in a URL, with brackets if it is an IPv6 address. */
export const urlHost = (host: string): string => (host.includes(":") ? `[${host}]` : host);

/** A network: an address whose bits after `bits` are zero. `bits` is 0-32 for IPv4 and 0-128 for IPv6. */
export interface Prefix {
  readonly address: IpAddress;
  readonly bits: number;
}

/**
 * Parses a network as feeds write it: "203.0.113.0/24", "2001:db8::/32", or a single address, which gets its full
 * length. An IPv6 network that contains IPv4 addresses becomes the IPv4 network ({@link unwrapNetwork}).
 * @returns undefined if the text is neither a network nor an address, or if host bits are set
 */
export function parsePrefix(text: string): Prefix | undefined {
  const prefix = parseRawPrefix(text);
  return prefix && !hasHostBits(prefix.address, prefix.bits) ? unwrapNetwork(prefix) : undefined;
}

/** Like {@link parsePrefix}, but unwraps only IPv4-mapped networks, as {@link parsePeer} does. */
export function parsePeerPrefix(text: string): Prefix | undefined {
  const prefix = parseRawPrefix(text);
  return prefix && !hasHostBits(prefix.address, prefix.bits)
    ? withoutMapping(prefix.address, prefix.bits)
    : undefined;
}

/** Like {@link parsePrefix}, but clears host bits: "203.0.113.9/24" becomes 203.0.113.0/24. */
export function parsePrefixAround(text: string): Prefix | undefined {
  const prefix = parseRawPrefix(text);
  if (prefix === undefined) return undefined;
  clearHostBits(prefix.address, prefix.bits);
  return unwrapNetwork(prefix);
}

/** Parses a network as it is written, with its host bits. */
function parseRawPrefix(text: string): Prefix | undefined {
  const slash = text.indexOf("/");
  const address = parseRawIp(slash < 0 ? text : text.slice(0, slash));
  if (address === undefined) return undefined;
  const width = address.family === 4 ? 32 : 128;
  if (slash < 0) return { address, bits: width };
  const digits = text.slice(slash + 1);
  const bits = Number(digits);
  return /^(0|[1-9][0-9]{0,2})$/.test(digits) && bits <= width ? { address, bits } : undefined;
}

/** Returns the network with this prefix length around an address. It clears the host bits of `address` itself. */
export function networkAround(address: IpAddress, bits: number): Prefix {
  clearHostBits(address, bits);
  return withoutMapping(address, bits);
}

/** Converts an IPv4-mapped IPv6 network to the IPv4 network. */
function withoutMapping(address: IpAddress, bits: number): Prefix {
  const w = address.words;
  const isMapped = address.family === 6 && bits >= 96 && w[0] === 0 && w[1] === 0 && w[2] === 0xffff;
  if (!isMapped) return { address, bits };
  unwrapIpv4(address);
  return { address, bits: bits - 96 };
}

/**
 * The widest IPv4 network that a 6to4, Teredo or NAT64 network becomes. A wider one stands for a kind of tunnel, such
 * as 2002::/16, and not for an IPv4 network.
 */
const MIN_TUNNEL_BITS = 8;

/**
 * Converts an IPv6 network of the kinds that {@link unwrapIpv4} unwraps to the IPv4 network that it contains. A 6to4
 * network of more than 48 bits is a part of one IPv4 address, so it becomes this address. Other networks, and those for
 * which {@link holdsIpv4} remains true, are returned as they are. Uses the object `prefix.address` itself.
 */
function unwrapNetwork({ address, bits }: Prefix): Prefix {
  if (!holdsIpv4({ address, bits })) return withoutMapping(address, bits);
  const before = address.words[0]! >>> 16 === 0x2002 ? 16 : 96;
  if (bits < before + MIN_TUNNEL_BITS) return { address, bits };
  unwrapIpv4(address);
  const width = Math.min(32, bits - before);
  clearHostBits(address, width); // Teredo inverts the address, host bits included
  return { address, bits: width };
}

/**
 * Returns whether this is a 6to4, Teredo or NAT64 network. Lookups use the IPv4 addresses inside the addresses of such
 * a network, so the network itself has no answer. {@link parsePrefix} returns it only if it does not stand for one IPv4
 * network.
 */
export function holdsIpv4({ address, bits }: Prefix): boolean {
  const [a, b, c] = address.words as unknown as [number, number, number];
  return (
    address.family === 6 &&
    ((bits >= 16 && a >>> 16 === 0x2002) ||
      (bits >= 32 && a === 0x20010000) ||
      (bits >= 96 && a === 0x0064ff9b && b === 0 && c === 0))
  );
}

/** What {@link holdsIpv4} means for whoever wrote the network. Fits after "2002::/16 ". */
export const HOLDS_IPV4 =
  "contains IPv4 addresses in IPv6, which Inkling looks up as IPv4: write the IPv4 network instead";

/** Clears all bits of an address after the first `bits`. */
export function clearHostBits({ family, words }: IpAddress, bits: number): void {
  for (let k = 0; k < (family === 4 ? 1 : 4); k++) {
    const kept = Math.min(32, Math.max(0, bits - 32 * k));
    words[k] = kept === 0 ? 0 : words[k]! & (0xffffffff << (32 - kept));
  }
}

/**
 * Returns the network without its host bits: "10.0.0.0/8" for "10.0.0.1/8". Undefined if the text is not a network or
 * has no host bits set.
 */
export function withoutHostBits(text: string): string | undefined {
  const prefix = parseRawPrefix(text);
  if (prefix === undefined || !hasHostBits(prefix.address, prefix.bits)) return undefined;
  return formatPrefix(networkAround(prefix.address, prefix.bits));
}

/** Returns whether any bits are set after the first `bits`. */
export function hasHostBits(address: IpAddress, bits: number): boolean {
  const words = address.family === 4 ? 1 : 4;
  for (let k = 0; k < words; k++) {
    const kept = Math.min(32, Math.max(0, bits - 32 * k));
    const hostMask = kept === 32 ? 0 : 0xffffffff >>> kept;
    if ((address.words[k]! & hostMask) !== 0) return true;
  }
  return false;
}

/** Formats a network as "203.0.113.0/24"; a single address keeps its "/32" or "/128". */
export function formatPrefix(prefix: Prefix): string {
  return `${formatIp(prefix.address)}/${prefix.bits}`;
}

const masked = new IpAddress();

/**
 * Returns the text of the network with this prefix length around an address. The result is "" if the address has fewer
 * bits, which happens only if a prefix length comes from a damaged file.
 */
export function networkText({ family, words }: IpAddress, bits: number): string {
  if (bits > (family === 4 ? 32 : 128)) return "";
  masked.family = family;
  masked.words.set(words);
  clearHostBits(masked, bits);
  return `${formatIp(masked)}/${bits}`;
}

/** Prefix length of the network that stands for a visitor in counts and stored decisions. */
const visitorBits = ({ family }: IpAddress) => (family === 4 ? 24 : 48);

/** Returns the network that stands for a visitor: the /24 (IPv4) or /48 (IPv6) around the address. */
export function visitorNetwork(address: UnwrappedAddress): string {
  return networkText(address, visitorBits(address));
}

/**
 * Returns the network that stands for an address in decisions.
 * @param text an address; its /24 (IPv4) or /48 (IPv6); or a network inside that /24 or /48
 * @returns "81.2.69.0/24"; undefined for any other text, such as a wider network
 */
export function visitorNetworkOf(text: string): string | undefined {
  const prefix = parsePrefix(text);
  if (prefix === undefined || holdsIpv4(prefix)) return undefined;
  const bits = visitorBits(prefix.address);
  return prefix.bits < bits ? undefined : networkText(prefix.address, bits);
}

/** Returns whether `address` is inside `prefix`. Addresses of different families never match. */
export function prefixContains(prefix: Prefix, address: IpAddress): boolean {
  if (prefix.address.family !== address.family) return false;
  const words = address.family === 4 ? 1 : 4;
  for (let k = 0; k < words; k++) {
    const kept = Math.min(32, Math.max(0, prefix.bits - 32 * k));
    if (kept === 0) return true;
    const mask = kept === 32 ? 0xffffffff : ~(0xffffffff >>> kept);
    if (((prefix.address.words[k]! ^ address.words[k]!) & mask) !== 0) return false;
  }
  return true;
}

/** A reserved network. `use` fits into the sentence "… is a <use> address". */
interface SpecialUse {
  readonly prefix: Prefix;
  readonly use: string;
}

/**
 * Networks that never belong to a visitor on the public internet. Networks in these registries that a protocol makes
 * globally reachable (AS112, AMT) count as public. 192.0.0.0/24 and 2001::/23 are refused as a whole, because no
 * visitor has such an address.
 *
 * Source: IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890), IPv4 and IPv6 multicast, RFC 4291 2.4 (::/8
 * is reserved by the IETF; IPv4 inside it is unwrapped first).
 */
const SPECIAL_USE_ROWS: readonly (readonly [network: string, use: string])[] = [
  ["0.0.0.0/8", "this-network"],
  ["10.0.0.0/8", "private"],
  ["100.64.0.0/10", "carrier-grade NAT"],
  ["127.0.0.0/8", "loopback"],
  ["169.254.0.0/16", "link-local"],
  ["172.16.0.0/12", "private"],
  ["192.0.0.0/24", "IETF protocol"],
  ["192.0.2.0/24", "documentation"],
  ["192.88.99.0/24", "6to4 relay anycast"],
  ["192.168.0.0/16", "private"],
  ["198.18.0.0/15", "benchmarking"],
  ["198.51.100.0/24", "documentation"],
  ["203.0.113.0/24", "documentation"],
  ["224.0.0.0/4", "multicast"],
  ["240.0.0.0/4", "reserved"],
  ["::/128", "unspecified"],
  ["::1/128", "loopback"],
  ["64:ff9b:1::/48", "local-use NAT64"],
  ["::/8", "reserved"],
  ["100::/64", "discard-only"],
  ["100:0:0:1::/64", "dummy"],
  ["2001::/23", "IETF protocol"],
  ["2001:db8::/32", "documentation"],
  ["3fff::/20", "documentation"],
  ["5f00::/16", "segment routing"],
  ["fc00::/7", "private"],
  ["fe80::/10", "link-local"],
  ["fec0::/10", "site-local"],
  ["ff00::/8", "multicast"],
];

/** All special-use networks. If two of them contain an address, the smaller network is listed first. */
export const SPECIAL_USE: readonly SpecialUse[] = SPECIAL_USE_ROWS.map(([network, use]) => {
  const prefix = parsePrefix(network);
  if (prefix === undefined) throw new Error(`${network} is not a network`);
  return { prefix, use };
});

// For each first octet, the networks that may contain an address that begins with it. For nearly every public address,
// reading this table is enough.
const byOctet4 = byFirstOctet(4);
const byOctet6 = byFirstOctet(6);

function byFirstOctet(family: 4 | 6): readonly (readonly SpecialUse[])[] {
  const rows = SPECIAL_USE.filter(({ prefix }) => prefix.address.family === family);
  return Array.from({ length: 256 }, (_, octet) =>
    rows.filter(({ prefix }) => {
      const from = prefix.address.words[0]! >>> 24;
      const count = prefix.bits >= 8 ? 1 : 1 << (8 - prefix.bits);
      return octet >= from && octet < from + count;
    }),
  );
}

/**
 * Returns the special-use network that contains `address`; undefined if the address is public. The function ignores an
 * IPv4 address inside an IPv6 address, so a visitor's address must be unwrapped first.
 */
export function specialUse(address: IpAddress): SpecialUse | undefined {
  const octet = address.words[0]! >>> 24;
  for (const row of (address.family === 4 ? byOctet4 : byOctet6)[octet]!) {
    if (prefixContains(row.prefix, address)) return row;
  }
  return undefined;
}
