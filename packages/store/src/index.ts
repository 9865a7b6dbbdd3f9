// @inkling/store: keys, overrides, rulesets, decisions, usage and audit on SQLite or PostgreSQL.

export { isAdminToken, type ReplacedAdminTokens } from "./admin-token.ts";
export * from "./adopt-key.ts";
export type { Author, HostEntry } from "./audit.ts";
export type { RowCounts } from "./copy.ts";
export { decisionJson, pastDecision } from "./decisions/record.ts";
export * from "./error.ts";
export * from "./keys/key.ts";
export { holdsMadeKeys, readKeyCopy } from "./keys/key-copy.ts";
export * from "./keys/key-input.ts";
export { KeyTable } from "./keys/key-table.ts";
export * from "./keys/keyring.ts";
export * from "./keys/revoked-file.ts";
export * from "./keys/token.ts";
export * from "./overrides/override.ts";
export * from "./overrides/record.ts";
export type { PublishedRuleset } from "./rulesets/record.ts";
export { openStore, type Store } from "./store.ts";
