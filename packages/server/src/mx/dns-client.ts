// dns-client.ts: resolves one question with several DNS servers.
//
// in   a host, a record type, and a signal that ends the lookup
// out  the first usable reply; "failed" when every server failed; "timeout" when the signal came first
// err  none thrown
// cost one question; NXDOMAIN costs a second one, unless that server was asked about the top-level domain just before
// why  node:dns of Bun 1.4.5 reports a name without such a record (NODATA) as ENOTFOUND, as a name that does not exist
//      (NXDOMAIN); it tells no TTL of MX records, nor of a "no", and turns to the next server after a second at the earliest
//
// After NEXT_SERVER_MS of silence the next server is queried as well, and the first reply wins. SERVFAIL, REFUSED and
// malformed replies fail over at once, and so does NXDOMAIN from a server that does not resolve the top-level domain.

import type { RecordType } from "./dns-message.ts";
import { type DnsServer, systemDnsServers } from "./dns-servers.ts";
import { type Attempt, queryServer, type WholeReply } from "./dns-transport.ts";
import { ExpiringMap } from "./expiring-map.ts";

interface DnsClientOptions {
  /** In order of preference; those beyond MAX_SERVERS are not used. */
  readonly servers: readonly DnsServer[];
  /** An unpredictable number from 0 to 65535. */
  readonly newId: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly elapsed: () => number;
  readonly nextServerMs?: number;
}

export type DnsOutcome = WholeReply | { readonly kind: "timeout" };

export interface Resolver {
  resolve(host: string, type: RecordType, signal: AbortSignal): Promise<DnsOutcome>;
}

/** How long a server is trusted, or not, with NXDOMAIN below a top-level domain: it may turn bad or good at any time. */
export const NXDOMAIN_TRUST_SECONDS = 1;
/** Three servers and some 1,500 top-level domains, of which few are in use at once. */
const MAX_TRUSTED = 1_000;
const MAX_SERVERS = 3;
const NEXT_SERVER_MS = 200;

export class DnsClient implements Resolver {
  private readonly options: DnsClientOptions;
  /** One entry an attempt. */
  private readonly attemptServers: readonly DnsServer[];
  /** By server and top-level domain: did the server have its SOA record? */
  private readonly trusted: ExpiringMap<boolean>;

  constructor(options: DnsClientOptions) {
    this.options = options;
    this.trusted = new ExpiringMap(options.elapsed, MAX_TRUSTED);
    const servers = options.servers.slice(0, MAX_SERVERS);
    this.attemptServers = servers.length === 1 ? [...servers, ...servers] : servers; // datagrams get lost
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
   * Queries one server; its NXDOMAIN is a failure unless it resolves the top-level domain (RFC 8020 2): captive portals, and
   * resolvers of networks without internet, reply NXDOMAIN to everything, or to all but a few names.
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
      // Each has an SOA record. Networks that made up an inner "com" reply that there is no such record.
      current = queryServer(server, newId(), topLevel, "soa", ({ kind }) => {
        this.trusted.set(trust, kind === "records", NXDOMAIN_TRUST_SECONDS);
        finish(kind === "records");
      });
    });
    return { stop: () => current.stop() };
  }
}

const newId = () => crypto.getRandomValues(new Uint16Array(1))[0]!; // it has one element
const elapsed = () => performance.now();

/** Uses the given servers, or else the system's, which are read once, at the first question. */
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
