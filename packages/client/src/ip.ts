// ip.ts: parses addresses and networks, to distinguish proxies from visitors.
//
// Source: RFC 4291 2.2; no leading zeros, no short forms. The server's parser behaves the same, and a test compares
// them.

export interface Ip {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

export interface Network {
  readonly ip: Ip;
  /** Prefix length: 0 to 32 for IPv4, or 0 to 128 for IPv6. */
  readonly prefix: number;
}

const MAPPED = 0xffffn;
const QUAD = /^(?:(?:0|[1-9]\d{0,2})\.){3}(?:0|[1-9]\d{0,2})$/;

/** Parses exactly one address, without port, zone, brackets or white space. */
export function parseIp(text: string): Ip | undefined {
  if (!text.includes(":")) {
    const value = parseQuad(text);
    return value === undefined ? undefined : { bits: 32, value };
  }
  const groups = parseGroups(text);
  if (groups === undefined) return undefined;
  const value = groups.reduce((sum, group) => (sum << 16n) | BigInt(group), 0n);
  return value >> 32n === MAPPED ? { bits: 32, value: value & 0xffffffffn } : { bits: 128, value };
}

function parseQuad(text: string): bigint | undefined {
  if (!QUAD.test(text)) return undefined;
  const parts = text.split(".").map(Number);
  return parts.every((part) => part < 256)
    ? parts.reduce((sum, part) => (sum << 8n) | BigInt(part), 0n)
    : undefined;
}

function parseGroups(text: string): number[] | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map((half, i) => parseHalf(half, i === halves.length - 1));
  if (head === undefined) return undefined;
  if (halves.length === 1) return head.length === 8 ? head : undefined;
  if (tail === undefined || head.length + tail.length > 7) return undefined;
  return [...head, ...new Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}

/** @param mayEndInQuad true for the second half, because only the end of an address may be written as IPv4 */
function parseHalf(text: string, mayEndInQuad: boolean): number[] | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [i, part] of parts.entries()) {
    if (/^[0-9a-fA-F]{1,4}$/.test(part)) {
      groups.push(Number.parseInt(part, 16));
      continue;
    }
    const quad = mayEndInQuad && i === parts.length - 1 ? parseQuad(part) : undefined;
    if (quad === undefined) return undefined;
    groups.push(Number(quad >> 16n), Number(quad & 0xffffn));
  }
  return groups;
}

/** Parses "10.0.0.0/8" or a single address. Also returns undefined if host bits are set. */
export function parseNetwork(text: string): Network | undefined {
  const [address = "", length, ...more] = text.split("/");
  const ip = parseIp(address);
  if (ip === undefined || more.length > 0) return undefined;
  if (length === undefined) return { ip, prefix: ip.bits };
  if (!/^(?:0|[1-9]\d{0,2})$/.test(length)) return undefined;
  const isMapped = ip.bits === 32 && address.includes(":");
  const prefix = Number(length) - (isMapped ? 96 : 0);
  if (prefix < 0 || prefix > ip.bits) return undefined;
  return (ip.value & ((1n << BigInt(ip.bits - prefix)) - 1n)) === 0n ? { ip, prefix } : undefined;
}

export function isIn({ ip: network, prefix }: Network, ip: Ip): boolean {
  const rest = BigInt(network.bits - prefix);
  return network.bits === ip.bits && network.value >> rest === ip.value >> rest;
}

/**
 * Formats IPv4 as a dotted quad, and IPv6 as eight groups without shortening zeros. For requests, not for
 * people.
 */
export function formatIp({ bits, value }: Ip): string {
  const parts = bits === 32 ? 4 : 8;
  const width = BigInt(bits / parts);
  const mask = (1n << width) - 1n;
  const part = (i: number) => (value >> (width * BigInt(parts - 1 - i))) & mask;
  const texts = Array.from({ length: parts }, (_, i) => part(i).toString(bits === 32 ? 10 : 16));
  return texts.join(bits === 32 ? "." : ":");
}
