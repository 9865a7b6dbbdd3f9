// destination.ts: where a webhook may be: an https address on the public internet, unless an operator allows an inner one.
//
// in   a URL as an operator writes it; the addresses that its host name has now
// out  the URL in its normal form; the addresses that a connection may be made to
// err  a text that says what is wrong
//
// Whoever may add webhooks must not reach what only this host reaches: a cloud's metadata, a database, the admin API. A
// name can point elsewhere at each look, so the connection is made to the addresses that were checked, not to the name.

import { lookup } from "node:dns/promises";
import { parseIp, specialUse, unwrapIpv4 } from "@inkling/engine";

export const MAX_WEBHOOK_URL = 2_048;

/** An address, and 4 or 6. */
export interface CheckedAddress {
  readonly address: string;
  readonly family: number;
}

/** Finds the addresses of a host name. @throws what node:dns throws */
export type Resolve = (host: string) => Promise<readonly CheckedAddress[]>;

export const systemResolve: Resolve = (host) => lookup(host, { all: true });

/** Reads the URL of a webhook. @returns what is wrong with it as `problem` */
export function readWebhookUrl(
  text: string,
  allowInner: boolean,
): { readonly url: string } | { readonly problem: string } {
  if (text.length > MAX_WEBHOOK_URL) return { problem: `must have at most ${MAX_WEBHOOK_URL} characters` };
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:"))
    return { problem: "must be a URL such as https://example.com/hooks/inkling" };
  if (url.protocol === "http:" && !allowInner) return { problem: "must begin with https://" };
  if (url.username !== "" || url.password !== "")
    return { problem: "must not have a user or password: verify the signature instead" };
  if (url.hash !== "" || text.includes("#")) return { problem: 'must not have a fragment ("#…")' };
  const problem = allowInner ? undefined : innerUse(hostOf(url));
  if (problem !== undefined) return { problem };
  return { url: url.href };
}

/** Without the brackets of an IPv6 address. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1");

/**
 * The addresses that a connection may be made to.
 * @returns why there are none as `problem`
 */
export async function addressesOf(
  host: string,
  allowInner: boolean,
  resolve: Resolve,
): Promise<{ readonly addresses: readonly CheckedAddress[] } | { readonly problem: string }> {
  const literal = parseIp(host);
  let addresses: readonly CheckedAddress[] = [];
  try {
    addresses = literal === undefined ? await resolve(host) : [{ address: host, family: literal.family }];
  } catch {
    return { problem: "its host name has no address" };
  }
  if (addresses.length === 0) return { problem: "its host name has no address" };
  if (!allowInner) {
    for (const { address } of addresses) {
      const problem = innerUse(address, true);
      if (problem !== undefined) return { problem };
    }
  }
  return { addresses };
}

/** What is wrong with an address that is not public. @param mustBeAddress a name is refused as well */
function innerUse(text: string, mustBeAddress = false): string | undefined {
  const address = parseIp(text);
  if (address === undefined)
    return mustBeAddress ? "its host name has an address that cannot be read" : undefined;
  const own = specialUse(address);
  unwrapIpv4(address); // an IPv4 address inside IPv6 is that IPv4 address
  const found = specialUse(address) ?? (own?.use === "reserved" ? undefined : own);
  if (found === undefined) return undefined;
  return `its address is ${found.use} and not public: allow inner addresses for this webhook if that is meant`;
}
