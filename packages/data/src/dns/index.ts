// @inkling/data/dns: the DNS client of servers and of builds. It runs on Bun only.

export {
  DnsClient,
  type DnsOutcome,
  ExpiringMap,
  makeResolver,
  NXDOMAIN_TRUST_SECONDS,
  type Resolver,
} from "./client.ts";
export { FAILURE, findMailExchange, type MailExchange } from "./mail-exchange.ts";
export { type DnsServer, dnsServersOf, formatDnsServer, parseDnsServer } from "./servers.ts";
