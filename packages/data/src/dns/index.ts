// @inkling/data/dns: the DNS client of servers and of builds. It runs on Bun only.

export {
  DnsClient,
  type DnsOutcome,
  dnsServersOf,
  ExpiringMap,
  formatDnsServer,
  makeResolver,
  NXDOMAIN_TRUST_SECONDS,
  parseDnsServer,
  type Resolver,
} from "./client.ts";
export { FAILURE, findMailExchange, type MailExchange } from "./mail-exchange.ts";
export type { DnsServer } from "./transport.ts";
