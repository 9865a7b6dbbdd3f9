// webhook-destination.ts: checks where a webhook's URL may lead: to an https address on the public internet, unless an
// operator allows an internal address.
//
// Someone who may add webhooks must not be able to reach services that only this host can reach, such as a cloud's
// metadata, a database or the admin API. A host name can resolve differently each time, so the connection uses the
// checked addresses instead of the name.

import { lookup } from "node:dns/promises";
import { parseRawIp, specialUse, unwrapIpv4 } from "@inkling/engine";

export const MAX_WEBHOOK_URL = 2_048;

/** An IP address and its family, 4 or 6. */
export interface CheckedAddress {
  readonly address: string;
  readonly family: number;
}

/** Finds the addresses of a host name. @throws the errors of node:dns */
export type Resolve = (host: string) => Promise<readonly CheckedAddress[]>;

export const systemResolve: Resolve = (host) => lookup(host, { all: true });

/** Reads the URL of a webhook. @returns the URL, or a `problem` that describes what is wrong with it */
export function readWebhookUrl(
  text: string,
  allowPrivate: boolean,
): { readonly url: string } | { readonly problem: string } {
  if (text.length > MAX_WEBHOOK_URL) return { problem: `must have at most ${MAX_WEBHOOK_URL} characters` };
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:"))
    return { problem: "must be a URL such as https://example.com/hooks/inkling" };
  if (url.protocol === "http:" && !allowPrivate) return { problem: "must begin with https://" };
  if (url.username !== "" || url.password !== "")
    return { problem: "must not have a user or password: verify the signature instead" };
  if (url.hash !== "" || text.includes("#")) return { problem: 'must not have a fragment ("#…")' };
  const problem = allowPrivate ? undefined : innerUse(hostOf(url));
  if (problem !== undefined) return { problem };
  return { url: url.href };
}

/** Returns the host name, without the brackets of an IPv6 address. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1");

/**
 * Finds the addresses to which a connection may be opened.
 * @returns the addresses, or a `problem` that explains why no connection is allowed
 */
export async function addressesOf(
  host: string,
  allowPrivate: boolean,
  resolve: Resolve,
): Promise<{ readonly addresses: readonly CheckedAddress[] } | { readonly problem: string }> {
  const literal = parseRawIp(host);
  let addresses: readonly CheckedAddress[] = [];
  try {
    addresses = literal === undefined ? await resolve(host) : [{ address: host, family: literal.family }];
  } catch {
    return { problem: "its host name has no address" };
  }
  if (addresses.length === 0) return { problem: "its host name has no address" };
  if (!allowPrivate) {
    for (const { address } of addresses) {
      const problem = innerUse(address, true);
      if (problem !== undefined) return { problem };
    }
  }
  return { addresses };
}

/**
 * Describes what is wrong with an address that is not public; undefined for a public address.
 * @param mustBeAddress whether to refuse host names as well
 */
function innerUse(text: string, mustBeAddress = false): string | undefined {
  const address = parseRawIp(text);
  if (address === undefined) return mustBeAddress ? "its host name has an invalid address" : undefined;
  const own = specialUse(address);
  unwrapIpv4(address); // an IPv4 address inside IPv6 is treated as the IPv4 address
  const found = specialUse(address) ?? (own?.use === "reserved" ? undefined : own);
  if (found === undefined) return undefined;
  return `its address is ${found.use} and not public: if that is intended, allow private addresses for this webhook`;
}
