// settings-words.ts: what the settings of a server are checked with. A door of its own: the command line reads the settings
// before it loads the server.

export type { DnsServer } from "./dns-client.ts";
export { parseDnsServer } from "./dns-servers.ts";
export { isWellFormedToken } from "./key-format.ts";
export { LOG_LEVELS } from "./log.ts";
