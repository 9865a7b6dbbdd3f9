// servers.ts: parses and prints addresses of DNS servers, and reads the system's servers.

import { parseIp, urlHost } from "@inkling/engine";

export interface DnsServer {
  /** An IP address. */
  readonly address: string;
  readonly port: number;
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
