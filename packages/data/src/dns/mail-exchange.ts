// mail-exchange.ts: asks DNS which hosts receive the mail of a domain.
//
// Source: RFC 5321 5.1 (no MX: the address is the mail host), RFC 7505 (null MX). Cost: one question; two or three if
// there is no MX record.

import type { DnsOutcome, Resolver } from "./client.ts";
import type { MxRecord } from "./message.ts";

export interface MailExchange {
  /** docs/email.md explains each outcome. */
  readonly outcome: "found" | "implicit" | "none" | "null" | "nxdomain" | "timeout" | "failed";
  /** The hosts of the most preferred MX records. A domain may have any number of them. */
  readonly hosts: readonly string[];
  /** Undefined if DNS returned no TTL. */
  readonly ttlSeconds: number | undefined;
}

export const FAILURE = withoutHosts("failed", 0);
const TIMEOUT = withoutHosts("timeout", 0);

export async function findMailExchange(
  dns: Resolver,
  domain: string,
  signal: AbortSignal,
): Promise<MailExchange> {
  const reply = await dns.resolve(domain, "mx", signal);
  switch (reply.kind) {
    case "timeout":
      return TIMEOUT;
    case "failed":
      return FAILURE;
    case "nxdomain":
      return withoutHosts("nxdomain", reply.ttlSeconds);
    case "records":
      return fromRecords(reply.mx, reply.ttlSeconds);
    case "none":
      return findAddress(dns, domain, reply.ttlSeconds, signal);
  }
}

/** A null MX must be the only record (RFC 7505 3). Next to other records, a null MX is a mistake and is ignored. */
function fromRecords(records: readonly MxRecord[], ttlSeconds: number): MailExchange {
  const named = records.filter(({ host }) => host !== "");
  if (named.length === 0) return withoutHosts("null", ttlSeconds);
  const best = Math.min(...named.map(({ preference }) => preference));
  const hosts = named.filter(({ preference }) => preference === best).map(({ host }) => host);
  return { outcome: "found", hosts, ttlSeconds };
}

async function findAddress(
  dns: Resolver,
  domain: string,
  noMxSeconds: number | undefined,
  signal: AbortSignal,
): Promise<MailExchange> {
  const kinds: DnsOutcome["kind"][] = [];
  for (const type of ["a", "aaaa"] as const) {
    const reply = await dns.resolve(domain, type, signal);
    if (reply.kind === "records") {
      const ttl = noMxSeconds === undefined ? undefined : Math.min(noMxSeconds, reply.ttlSeconds);
      return withoutHosts("implicit", ttl);
    }
    kinds.push(reply.kind);
  }
  if (kinds.includes("timeout")) return TIMEOUT;
  if (kinds.includes("failed")) return FAILURE;
  // Some servers reply NXDOMAIN for types that they do not implement. The reply about MX has shown that the name
  // exists.
  return withoutHosts("none", noMxSeconds);
}

function withoutHosts(outcome: MailExchange["outcome"], ttlSeconds: number | undefined): MailExchange {
  return { outcome, hosts: [], ttlSeconds };
}
