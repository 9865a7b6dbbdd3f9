// settings.ts: checks settings. This is a separate module, because the command line checks settings before it loads the
// server.

export { isWellFormedToken } from "./keys/token.ts";
export type { DnsServer } from "./mx/dns-servers.ts";
export { formatDnsServer, parseDnsServer } from "./mx/dns-servers.ts";
