// client-address.ts: the caller's address: what `me` means, and what a key's allowed networks are compared with.
//
// in   the address of the connection, X-Forwarded-For, the proxies that the operator trusts
// out  the caller's address; undefined if a trusted proxy sent no address, or something that is none
// note X-Forwarded-For is read from the right: each entry was written by the machine to its right, so it counts only as
//      long as that is a trusted proxy. Entries that a visitor forges are further left and never reached. An unreadable
//      entry, or no header, gives undefined, not the proxy's own address: that might lie in a key's allowed networks, and
//      everyone whom the proxy lets through would be allowed.

import { IpAddress, type Prefix, parseIpInto, prefixContains } from "@inkling/engine";

interface Named {
  readonly address: IpAddress;
  /** The machine that named it: a trusted proxy, or the machine itself at the other end of the connection. */
  readonly by: IpAddress;
}

/**
 * @param peer address of the connection, from the socket
 * @param forwardedFor the header's lines joined by ",", or null
 */
export function callerAddress(
  peer: string | undefined,
  forwardedFor: string | null,
  trusted: readonly Prefix[],
): IpAddress | undefined {
  return findNamed(peer, forwardedFor, trusted)?.address;
}

/**
 * The visitor that a trusted proxy asks about.
 * @returns undefined also where no trusted proxy sent this: the machine itself is not the visitor
 */
export function visitorAddress(
  peer: string | undefined,
  forwardedFor: string | null,
  trusted: readonly Prefix[],
): IpAddress | undefined {
  const named = findNamed(peer, forwardedFor, trusted);
  return named?.address === named?.by ? undefined : named?.address;
}

/**
 * The proxy that asks about a visitor: where proxies stand between it and this server, the one that named the visitor.
 * @returns the machine at the other end of the connection where no trusted proxy names a visitor
 */
export function proxyAddress(
  peer: string | undefined,
  forwardedFor: string | null,
  trusted: readonly Prefix[],
): IpAddress | undefined {
  const named = findNamed(peer, forwardedFor, trusted);
  return named === undefined && peer !== undefined ? parseHop(peer) : named?.by;
}

function findNamed(
  peer: string | undefined,
  forwardedFor: string | null,
  trusted: readonly Prefix[],
): Named | undefined {
  const first = peer === undefined ? undefined : parseHop(peer);
  if (first === undefined) return undefined;
  if (!isTrusted(first, trusted)) return { address: first, by: first };
  let named: Named | undefined;
  let by = first;
  for (let rest = forwardedFor; rest !== null && isTrusted(by, trusted); ) {
    const comma = rest.lastIndexOf(",");
    const address = parseHop(rest.slice(comma + 1).trim());
    if (address === undefined) return undefined;
    named = { address, by };
    by = address;
    rest = comma < 0 ? null : rest.slice(0, comma);
  }
  return named;
}

function isTrusted(address: IpAddress, trusted: readonly Prefix[]): boolean {
  return trusted.some((prefix) => prefixContains(prefix, address));
}

/** One address, also as "203.0.113.9:1234" or "[2001:db8::1]:1234", which some proxies write, or with a zone. */
function parseHop(text: string): IpAddress | undefined {
  const address = new IpAddress();
  if (!parseIpInto(bareAddress(text), address)) return undefined;
  unmap(address);
  return address;
}

const WITH_PORT = /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/;

function bareAddress(text: string): string {
  const match = WITH_PORT.exec(text);
  const address = match === null ? text : (match[1] ?? match[2] ?? text);
  const zone = address.indexOf("%");
  return zone < 0 ? address : address.slice(0, zone);
}

/** Only IPv4-mapped: a socket that listens on both families reports IPv4 so. Tunnels are their own addresses. */
function unmap(address: IpAddress): void {
  const w = address.words;
  if (address.family === 6 && w[0] === 0 && w[1] === 0 && w[2] === 0xffff) {
    address.family = 4;
    w[0] = w[3]!;
  }
}
