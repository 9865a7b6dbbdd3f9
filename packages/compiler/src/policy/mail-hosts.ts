// mail-hosts.ts: what a listed domain's mail host says about the domain.
//
// A working mail server proves nothing, because ordinary domains have one. Only a host that receives mail for a single
// disposable-email service confirms a listing. A host at which customers pay for their mailboxes counts against it.

import { businessHost, disposableHost, knownHosts } from "@inkling/engine";
import type { DomainClaims } from "../catalog/claims.ts";

interface MailHosts {
  /** Maps a domain to the disposable-email service that receives its mail. */
  readonly confirmed: ReadonlyMap<string, string>;
  /** Maps a domain to the provider of its mailboxes. */
  readonly acquitted: ReadonlyMap<string, string>;
}

/** The feed of mail hosts, also in evidence. */
export const MAIL_HOSTS = "mail-hosts";

export function mailHostsOf(claims: readonly DomainClaims[]): MailHosts {
  const confirmed = new Map<string, string>();
  const acquitted = new Map<string, string>();
  for (const { subject, domains } of claims) {
    if (subject !== "mail_host") continue;
    for (const [domain, text] of domains) {
      const [, ...hosts] = text.split(" ");
      const known = knownHosts(hosts);
      const disposable = disposableHost(known);
      const business = businessHost(known);
      if (disposable !== undefined) confirmed.set(domain, disposable.service);
      if (business !== undefined) acquitted.set(domain, business.service);
    }
  }
  return { confirmed, acquitted };
}
