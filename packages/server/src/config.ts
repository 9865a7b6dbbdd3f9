// config.ts: what the settings of a server are checked with. A door of its own: the command line reads the settings
// before it loads the server.

export { isWellFormedToken } from "./keys/token.ts";
export type { DnsServer } from "./mx/dns-servers.ts";
export { parseDnsServer } from "./mx/dns-servers.ts";
export { LOG_LEVELS } from "./telemetry/log.ts";
