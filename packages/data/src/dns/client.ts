// client.ts: resolves one question with several DNS servers, and parses and prints the servers' addresses.
//
// Cost: one question; a second one after NXDOMAIN, unless that server was recently asked about the top-level domain.
// node:dns of Bun 1.4.5 reports ENOTFOUND both for a name without such a record (NODATA) and for a name that does not
// exist (NXDOMAIN). It reports no TTL for MX records or negative answers, and waits at least a second before it queries
// the next server.
//
// After NEXT_SERVER_MS without a reply, the client also queries the next server, and the first reply wins. It queries
// the next server immediately after SERVFAIL, REFUSED or a malformed reply, and after NXDOMAIN from a server that does
// not resolve the top-level domain.

import { parseIp, urlHost } from "@inkling/engine";
import type { RecordType } from "./message.ts";
import { type Attempt, type DnsServer, queryServer, type WholeReply } from "./transport.ts";

interface DnsClientOptions {
  /** In order of preference. Servers beyond MAX_SERVERS are not used. */
  readonly servers: readonly DnsServer[];
  /** Returns an unpredictable id from 0 to 65535. */
  readonly newId: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly elapsed: () => number;
  readonly nextServerMs?: number;
}

export type DnsOutcome = WholeReply | { readonly kind: "timeout" };

export interface Resolver {
  resolve(host: string, type: RecordType, signal: AbortSignal): Promise<DnsOutcome>;
}

/**
 * Seconds for which a check of a server's NXDOMAIN is valid for a top-level domain. A server may turn bad or good at
 * any time.
 */
export const NXDOMAIN_TRUST_SECONDS = 1;
/** Enough for three servers and about 1,500 top-level domains, few of which are in use at the same time. */
const MAX_TRUSTED = 1_000;
const MAX_SERVERS = 3;
const NEXT_SERVER_MS = 200;

export class DnsClient implements Resolver {
  private readonly options: DnsClientOptions;
  /** One server per attempt. */
  private readonly attemptServers: readonly DnsServer[];
  /** By server and top-level domain: did the server have the top-level domain's SOA record? */
  private readonly trusted: ExpiringMap<boolean>;

  constructor(options: DnsClientOptions) {
    this.options = options;
    this.trusted = new ExpiringMap(options.elapsed, MAX_TRUSTED);
    const servers = options.servers.slice(0, MAX_SERVERS);
    this.attemptServers = servers.length === 1 ? [...servers, ...servers] : servers; // datagrams may get lost
  }

  resolve(host: string, type: RecordType, signal: AbortSignal): Promise<DnsOutcome> {
    const { promise, resolve } = Promise.withResolvers<DnsOutcome>();
    const attempts: Attempt[] = [];
    let failed = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let settled = false;

    const settle = (outcome: DnsOutcome) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      for (const attempt of attempts) attempt.stop();
      resolve(outcome);
    };
    const onAbort = () => settle({ kind: "timeout" });
    const onReply = (reply: WholeReply) => {
      if (settled) return;
      if (reply.kind !== "failed" || ++failed === this.attemptServers.length) settle(reply);
      else if (failed === attempts.length) next();
    };
    const next = () => {
      clearTimeout(timer);
      const server = this.attemptServers[attempts.length];
      if (server === undefined) return;
      timer = setTimeout(next, this.options.nextServerMs ?? NEXT_SERVER_MS);
      attempts.push(this.attempt(server, host, type, onReply));
    };

    if (this.attemptServers.length === 0) settle({ kind: "failed" });
    else if (signal.aborted) onAbort();
    else {
      signal.addEventListener("abort", onAbort);
      next();
    }
    return promise;
  }

  /**
   * Queries one server. NXDOMAIN counts as a failure unless the server resolves the top-level domain (RFC 8020 2).
   * Captive portals, and resolvers in networks without internet access, reply NXDOMAIN to all or nearly all names.
   */
  private attempt(
    server: DnsServer,
    host: string,
    type: RecordType,
    onReply: (reply: WholeReply) => void,
  ): Attempt {
    const { newId } = this.options;
    const topLevel = host.slice(host.lastIndexOf(".") + 1);
    const trust = `${server.address} ${server.port} ${topLevel}`;
    let current = queryServer(server, newId(), host, type, (reply) => {
      if (reply.kind !== "nxdomain") return onReply(reply);
      const finish = (isTrusted: boolean) => onReply(isTrusted ? reply : { kind: "failed" });
      const known = this.trusted.get(trust);
      if (known !== undefined) return finish(known);
      // Every top-level domain has an SOA record. In networks with an invented internal "com", servers reply that there
      // is no such record.
      current = queryServer(server, newId(), topLevel, "soa", ({ kind }) => {
        this.trusted.set(trust, kind === "records", NXDOMAIN_TRUST_SECONDS);
        finish(kind === "records");
      });
    });
    return { stop: () => current.stop() };
  }
}

const newId = () => crypto.getRandomValues(new Uint16Array(1))[0]!; // the array has one element
const elapsed = () => performance.now();

/**
 * Creates a resolver that uses the given servers. Without given servers, it reads the system's servers once, when the
 * first question is asked.
 */
export function makeResolver(given: readonly DnsServer[]): Resolver {
  const open = async () =>
    new DnsClient({ servers: given.length > 0 ? given : await systemDnsServers(), newId, elapsed });
  let client: Promise<DnsClient> | undefined;
  return {
    resolve: async (host, type, signal) => {
      client ??= open();
      return (await client).resolve(host, type, signal);
    },
  };
}

interface Entry<Value> {
  readonly value: Value;
  readonly until: number;
}

/** A map whose entries expire. A full map drops its oldest entry to make room for a new one. */
export class ExpiringMap<Value> {
  private readonly elapsed: () => number;
  private readonly max: number;
  /** Entries, oldest first. */
  private readonly entries = new Map<string, Entry<Value>>();

  /** @param elapsed milliseconds of a monotonic clock */
  constructor(elapsed: () => number, max: number) {
    this.elapsed = elapsed;
    this.max = max;
  }

  get size(): number {
    return this.entries.size;
  }

  get(key: string): Value | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined || entry.until > this.elapsed()) return entry?.value;
    this.entries.delete(key);
    return undefined;
  }

  set(key: string, value: Value, seconds: number): void {
    this.entries.delete(key);
    const [oldest] = this.entries.keys();
    if (oldest !== undefined && this.entries.size >= this.max) this.entries.delete(oldest);
    this.entries.set(key, { value, until: this.elapsed() + seconds * 1000 });
  }
}

const DNS_PORT = 53;

/** Parses the address of a DNS server. The port is optional and defaults to 53. */
export function parseDnsServer(text: string): DnsServer | undefined {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::([0-9]{1,5}))?$/.exec(text) ?? [];
  const address = bracketed ?? plain ?? text;
  const port = digits === undefined ? DNS_PORT : Number(digits);
  const isIp = parseIp(address) !== undefined && (bracketed === undefined || address.includes(":"));
  return isIp && port >= 1 && port <= 65535 ? { address, port } : undefined;
}

/** Formats an address, as the inverse of {@link parseDnsServer}. */
export function formatDnsServer({ address, port }: DnsServer): string {
  return port === DNS_PORT ? address : `${urlHost(address)}:${port}`;
}

/**
 * Parses the DNS servers in a setting.
 * @throws Error if a text is not a server, which cannot happen because settings are checked when they are read
 */
export function dnsServersOf(texts: readonly string[]): DnsServer[] {
  return texts.map((text) => {
    const server = parseDnsServer(text);
    if (server === undefined) throw new Error(`${JSON.stringify(text)} in a setting is not a DNS server`);
    return server;
  });
}

/** Returns the servers that this machine is configured to use. */
export async function systemDnsServers(): Promise<DnsServer[]> {
  const { getServers } = await import("node:dns");
  return getServers()
    .map(parseDnsServer)
    .filter((server) => server !== undefined);
}
