// @inkling/store: keys, overrides, rulesets, decisions, usage and audit on SQLite or PostgreSQL.

export { isAdminToken, type ReplacedAdminTokens } from "./admin-token.ts";
export * from "./adopt-key.ts";
export { type AuditEntry, auditJson, type NewAuditEntry } from "./audit.ts";
export { AUDIT_SOURCES, type Author } from "./author.ts";
export type { RowCounts } from "./copy.ts";
export {
  type DecisionJson,
  decisionJson,
  pastDecision,
  type StoredRow,
} from "./decisions/record.ts";
export { replayStored } from "./decisions/replay-stored.ts";
export type { DecisionFilter, Deletion } from "./decisions.ts";
export {
  type Attempt,
  attemptJson,
  type Delivery,
  deliveryJson,
  healthJson,
  type WebhookHealth,
} from "./deliveries.ts";
export * from "./error.ts";
export { type HostEntry, withEntry } from "./host-entry.ts";
export { type AdminToken, adminTokenJson } from "./keys/admin-token.ts";
export { dayOf } from "./keys/day.ts";
export * from "./keys/key.ts";
export * from "./keys/key-input.ts";
export * from "./keys/keyring.ts";
export * from "./keys/revoked-file.ts";
export { holdsMadeKeys, readKeySnapshot } from "./keys/snapshot.ts";
export * from "./keys/token.ts";
export * from "./overrides/override.ts";
export * from "./overrides/record.ts";
export { type PublishedRuleset, rulesetJson } from "./rulesets/record.ts";
export { RulesetConflictError } from "./rulesets.ts";
export { type IssuedKey, openStore, type Store } from "./store.ts";
export { MAX_PAGE } from "./tables.ts";
export type { UsageBatch, UsageEntry } from "./usage.ts";
export { type IssuedWebhook, type Webhook, webhookJson } from "./webhooks.ts";
