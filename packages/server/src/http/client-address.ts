// client-address.ts: finds the caller's address. `me` stands for this address, and a key's allowed networks must
// contain it.
//
// X-Forwarded-For is read from right to left. Each entry was written by the machine to its right, so an entry counts
// only if that machine is a trusted proxy. Entries forged by a visitor are further left and are never reached. If a
// trusted proxy sends no header, or an entry is unreadable, the result is undefined. The proxy's own address would be
// wrong: if a key's networks contain it, everyone behind the proxy would be allowed.

import { type IpAddress, type Prefix, parsePeer, parsePeerPrefix, prefixContains } from "@inkling/engine";

/**
 * Parses the networks in a setting.
 * @throws Error if a text is not a network, which cannot happen because settings are checked when they are read
 */
export function networksOf(texts: readonly string[]): Prefix[] {
  return texts.map((text) => {
    const prefix = parsePeerPrefix(text);
    if (prefix === undefined) throw new Error(`${JSON.stringify(text)} in a setting is not a network`);
    return prefix;
  });
}

/** Who sent a request. Each address is undefined if it is unknown. */
interface Senders {
  readonly caller: IpAddress | undefined;
  /**
   * The visitor that a trusted proxy asks about. If the sender is not a trusted proxy, it does not count as the visitor.
   */
  readonly visitor: IpAddress | undefined;
  /**
   * The proxy that asks about a visitor. In a chain of proxies, this is the proxy that reported the visitor. If no
   * trusted proxy sends a visitor, it is the machine at the other end of the connection.
   */
  readonly proxy: IpAddress | undefined;
}

interface Named {
  readonly address: IpAddress;
  /** The machine that reported the address: a trusted proxy, or the machine at the other end of the connection. */
  readonly by: IpAddress;
}

/**
 * @param peer the connection's address, from the socket
 * @param forwardedFor the lines of X-Forwarded-For joined by ","; null if the header is missing
 */
export function sendersOf(
  peer: string | undefined,
  forwardedFor: string | null,
  trusted: readonly Prefix[],
): Senders {
  const first = peer === undefined ? undefined : parseHop(peer);
  const named = first && findNamed(first, forwardedFor, trusted);
  const visitor = named?.address === named?.by ? undefined : named?.address;
  return { caller: named?.address, visitor, proxy: named?.by ?? first };
}

function findNamed(
  first: IpAddress,
  forwardedFor: string | null,
  trusted: readonly Prefix[],
): Named | undefined {
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

/** Parses one address. Some proxies add a port, as in "203.0.113.9:1234" or "[2001:db8::1]:1234", or a zone. */
function parseHop(text: string): IpAddress | undefined {
  return parsePeer(bareAddress(text));
}

const WITH_PORT = /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/;

function bareAddress(text: string): string {
  const match = WITH_PORT.exec(text);
  const address = match === null ? text : (match[1] ?? match[2] ?? text);
  const zone = address.indexOf("%");
  return zone < 0 ? address : address.slice(0, zone);
}
