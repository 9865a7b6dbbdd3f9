// subjects.ts: determines what kind of value a word on the command line is: an address, a network, an AS, a domain or
// an email address.

import { kindOf } from "@inkling/bulk/values";
import { type Prefix, toAsciiDomain } from "@inkling/engine";
import { readAsn, readNetwork } from "@inkling/server/network-summary";

export type Subject =
  | { readonly kind: "ip" | "email" }
  | { readonly kind: "network"; readonly network: Prefix }
  | { readonly kind: "as"; readonly asn: number }
  | { readonly kind: "domain"; readonly domain: string };

/** Returns undefined if the word is not a value. The lookup decides whether an email address is valid. */
export function subjectOf(value: string): Subject | undefined {
  const kind = kindOf(value);
  if (kind !== undefined) return { kind };
  const asn = readAsn(value);
  if (asn !== undefined) return { kind: "as", asn };
  if (value.includes("/")) {
    const network = readNetwork(value);
    return network && { kind: "network", network };
  }
  // A domain's last label is not a number, so 8.8.8.8.8 is a mistyped address.
  const domain = /\.[^.]*[^.\d][^.]*$/.test(value) ? toAsciiDomain(value) : undefined;
  return domain === undefined ? undefined : { kind: "domain", domain };
}
