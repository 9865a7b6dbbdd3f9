// subjects.ts: what a word of the command line is that can be looked up: an address, a network, an AS, a domain or an email
// address.

import { kindOf } from "@inkling/bulk/values";
import { type Prefix, toAsciiDomain } from "@inkling/engine";
import { readAsn, readNetwork } from "@inkling/server/network-summary";

export type Subject =
  | { readonly kind: "ip" | "email" }
  | { readonly kind: "network"; readonly network: Prefix }
  | { readonly kind: "as"; readonly asn: number }
  | { readonly kind: "domain"; readonly domain: string };

/** undefined: none. Whether an email address is valid is for its lookup to say. */
export function subjectOf(value: string): Subject | undefined {
  const kind = kindOf(value);
  if (kind !== undefined) return { kind };
  const asn = readAsn(value);
  if (asn !== undefined) return { kind: "as", asn };
  if (value.includes("/")) {
    const network = readNetwork(value);
    return network && { kind: "network", network };
  }
  // The last label of a domain is no number: 8.8.8.8.8 is a mistyped address.
  const domain = /\.[^.]*[^.\d][^.]*$/.test(value) ? toAsciiDomain(value) : undefined;
  return domain === undefined ? undefined : { kind: "domain", domain };
}
