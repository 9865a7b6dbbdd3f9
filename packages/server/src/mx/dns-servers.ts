// dns-servers.ts: which DNS servers are asked.
//
// in   "192.0.2.53", "192.0.2.53:5353", "2001:db8::53", "[2001:db8::53]:5353"; or what this machine is set to use
// out  address and port; somebody who asks them
// err  none thrown: undefined means "not the address of a server"

import { parseIp } from "@inkling/engine";
import type { Asker } from "./check.ts";
import { DNS_PORT, DnsClient, type DnsServer } from "./dns-client.ts";

/** Reads the address of a DNS server, with a port where it is not 53. */
export function parseDnsServer(text: string): DnsServer | undefined {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::([0-9]{1,5}))?$/.exec(text) ?? [];
  const address = bracketed ?? plain ?? text;
  const port = digits === undefined ? DNS_PORT : Number(digits);
  const family = parseIp(address)?.family;
  if (family === undefined || port < 1 || port > 65535) return undefined;
  return bracketed !== undefined && family !== 6 ? undefined : { address, port };
}

/** As {@link parseDnsServer} reads it. */
export function formatDnsServer({ address, port }: DnsServer): string {
  if (port === DNS_PORT) return address;
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

/** The servers that this machine is set to use. */
export async function systemDnsServers(): Promise<DnsServer[]> {
  const { getServers } = await import("node:dns");
  return getServers()
    .map(parseDnsServer)
    .filter((server) => server !== undefined);
}

const newId = () => crypto.getRandomValues(new Uint16Array(1))[0]!;
const elapsed = () => performance.now();

/**
 * Asks the servers that were chosen, or the system's. Those are read once, at the first question: a later change
 * needs a restart.
 */
export function makeAsker(chosen: readonly DnsServer[]): Asker {
  const open = async () =>
    new DnsClient({ servers: chosen.length > 0 ? chosen : await systemDnsServers(), newId, elapsed });
  let client: Promise<DnsClient> | undefined;
  return {
    ask: async (host, type, signal) => {
      client ??= open();
      return (await client).ask(host, type, signal);
    },
  };
}
