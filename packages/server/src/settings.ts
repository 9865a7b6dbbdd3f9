// settings.ts: exports the functions that check settings. They have their own module, because the command line checks
// settings before it loads the server.

export { isWellFormedToken } from "@inkling/store/keys/token";
export type { DnsServer } from "./mx/dns-servers.ts";
export { formatDnsServer, parseDnsServer } from "./mx/dns-servers.ts";
