// resolve.ts: asks DNS whether a host can receive mail.
//
// Source: RFC 5321 5.1 (no MX: the address is the mail host), RFC 7505 (null MX). Cost: one question; two or three if
// there is no MX record.

import type { MxOutcome } from "@inkling/contract";
import type { DnsOutcome, Resolver } from "./dns-client.ts";
import type { MxRecord } from "./dns-message.ts";
import { knownHosts, type MxHost } from "./hosts.ts";

export interface MxFinding {
  readonly outcome: MxOutcome;
  /**
   * Rows that cover the most preferred MX hosts. The hosts themselves are not kept, because a domain may have any
   * number of them.
   */
  readonly known: readonly MxHost[];
}

export interface Resolved {
  readonly finding: MxFinding;
  /** Undefined if DNS returned no TTL. */
  readonly ttlSeconds: number | undefined;
}

export const FAILURE: Resolved = withoutHosts("failed", 0);
const TIMEOUT: Resolved = withoutHosts("timeout", 0);

export async function resolveMx(dns: Resolver, host: string, signal: AbortSignal): Promise<Resolved> {
  const reply = await dns.resolve(host, "mx", signal);
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
      return resolveAddress(dns, host, reply.ttlSeconds, signal);
  }
}

/**
 * Returns the finding about MX records. A null MX must be the only record (RFC 7505 3). Next to other records, a null
 * MX is a mistake and is ignored.
 */
function fromRecords(records: readonly MxRecord[], ttlSeconds: number): Resolved {
  const hosts = records.filter(({ host }) => host !== "");
  if (hosts.length === 0) return withoutHosts("null", ttlSeconds);
  const best = Math.min(...hosts.map(({ preference }) => preference));
  const preferred = hosts.filter(({ preference }) => preference === best).map(({ host }) => host);
  return { finding: { outcome: "found", known: knownHosts(preferred) }, ttlSeconds };
}

async function resolveAddress(
  dns: Resolver,
  host: string,
  noMxSeconds: number | undefined,
  signal: AbortSignal,
): Promise<Resolved> {
  const kinds: DnsOutcome["kind"][] = [];
  for (const type of ["a", "aaaa"] as const) {
    const reply = await dns.resolve(host, type, signal);
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

function withoutHosts(outcome: MxOutcome, ttlSeconds: number | undefined): Resolved {
  return { finding: { outcome, known: [] }, ttlSeconds };
}
