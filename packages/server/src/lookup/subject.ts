// subject.ts: reads what an operator looks up, on the command line or in the admin API.

import { type Prefix, parseIp, parsePrefixAround, toAsciiDomain } from "@inkling/engine";

export type Subject =
  | { readonly kind: "address" | "email" }
  | { readonly kind: "network"; readonly network: Prefix }
  | { readonly kind: "as"; readonly asn: number }
  /** `mailbox` stands for any mailbox of the domain, and no override is about it. */
  | { readonly kind: "domain"; readonly mailbox: string };

/**
 * Returns what kind of value a text is; undefined if it is none. The lookup decides whether an email address is valid.
 */
export function subjectOf(value: string): Subject | undefined {
  if (value.includes("@")) return { kind: "email" };
  if (parseIp(value) !== undefined) return { kind: "address" };
  const network = readNetwork(value);
  if (network !== undefined) return { kind: "network", network };
  const asn = readAsn(value);
  if (asn !== undefined) return { kind: "as", asn };
  const domain = toAsciiDomain(value);
  return domain === undefined
    ? undefined
    : { kind: "domain", mailbox: `any-mailbox-of-this-domain@${domain}` };
}

/** Parses a network that is given by any of its addresses: "203.0.113.9/24" becomes 203.0.113.0/24. */
export function readNetwork(text: string): Prefix | undefined {
  return text.includes("/") ? parsePrefixAround(text) : undefined;
}

export const MAX_ASN = 2 ** 32 - 1;

/** Parses an AS number: "AS60729" becomes 60729. */
export function readAsn(text: string): number | undefined {
  const asn = Number(/^as(\d{1,10})$/i.exec(text)?.[1]);
  return asn <= MAX_ASN ? asn : undefined;
}
