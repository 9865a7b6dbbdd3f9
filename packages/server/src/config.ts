// config.ts: what the command line checks settings with, before it loads the server.

export { isWellFormedToken } from "./keys/token.ts";
export type { DnsServer } from "./mx/dns-servers.ts";
export { parseDnsServer } from "./mx/dns-servers.ts";
export { LOG_LEVELS } from "./telemetry/log.ts";
