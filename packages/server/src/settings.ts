// settings.ts: checks of settings, as its own module: the command line runs them before it loads the server.

export { isWellFormedToken } from "./keys/token.ts";
export type { DnsServer } from "./mx/dns-servers.ts";
export { formatDnsServer, parseDnsServer } from "./mx/dns-servers.ts";
