// caller-address.ts: finds the visitor's address behind any number of proxies.
//
// X-Forwarded-For is read from the right, where trusted proxies append. Entries that a visitor sends are further left
// and are never reached. Without trusted proxies, the header is not read at all.

import { formatIp, type Ip, isIn, type Network, parseIp, parseNetwork } from "../ip.ts";
import { wrong } from "../options.ts";

/**
 * The proxies in front of the application: their number, or a list of networks. A network is a prefix such as
 * "10.0.0.0/8", or "loopback", or "private" (RFC 1918 and RFC 4193).
 */
export type TrustProxy = number | readonly string[];

export type ReadTrust = number | readonly Network[];

const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ["127.0.0.0/8", "::1/128"],
  private: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
};
const LOOPBACK = NAMED.loopback!.map((text) => parseNetwork(text)!);
const MAX_HOPS = 32;

/** @throws TypeError */
export function readTrust(trust: TrustProxy): ReadTrust {
  if (typeof trust === "number" && Number.isInteger(trust) && trust >= 0 && trust <= MAX_HOPS) return trust;
  if (!Array.isArray(trust))
    throw wrong("trustProxy", 'must be a number of proxies, or a list such as ["loopback", "10.0.0.0/8"]');
  return trust.flatMap((text: unknown) => {
    const networks = (typeof text === "string" && (NAMED[text] ?? [text])) || [""];
    return networks.map((network) => {
      const parsed = parseNetwork(network);
      if (parsed === undefined)
        throw wrong("trustProxy", `contains ${JSON.stringify(text)}, which is not a network`);
      return parsed;
    });
  });
}

/**
 * @param peer the connection's address, or undefined if the runtime does not provide it
 * @param forwardedFor the header, or its lines joined by ","
 * @returns the address in normal form
 */
export function callerAddress(
  peer: string | undefined,
  forwardedFor: string | undefined,
  trust: ReadTrust,
): string | undefined {
  const entries = forwardedFor === undefined ? [] : forwardedFor.split(",");
  const caller = typeof trust === "number" ? byHops(peer, entries, trust) : byNetworks(peer, entries, trust);
  return caller === undefined ? undefined : formatIp(caller);
}

function byHops(peer: string | undefined, entries: readonly string[], hops: number): Ip | undefined {
  if (hops === 0 || entries.length === 0) return parseHop(peer);
  return parseHop(entries[Math.max(0, entries.length - hops)]);
}

function byNetworks(
  peer: string | undefined,
  entries: readonly string[],
  trusted: readonly Network[],
): Ip | undefined {
  let caller = parseHop(peer);
  for (let i = entries.length - 1; i >= 0; i--) {
    const hop = caller;
    if (hop === undefined || !trusted.some((network) => isIn(network, hop))) break;
    caller = parseHop(entries[i]);
  }
  return caller;
}

const WITH_PORT = /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/;

/**
 * Parses one address. Also accepts a port ("203.0.113.9:1234", "[2001:db8::1]:1234") or a zone, which some
 * proxies add.
 */
function parseHop(text: string | undefined): Ip | undefined {
  if (text === undefined) return undefined;
  const trimmed = text.trim();
  const match = WITH_PORT.exec(trimmed);
  const [address = ""] = (match?.[1] ?? match?.[2] ?? trimmed).split("%");
  return parseIp(address);
}

/** Is this the address of this machine itself? */
export function isLoopback(address: string): boolean {
  const ip = parseIp(address);
  return ip !== undefined && LOOPBACK.some((network) => isIn(network, ip));
}
