// @inkling/server: the server with its HTTP API and admin API, and the store that servers and commands use.

export type { Geolocation } from "@inkling/contract";
export type { DataActions, FeedFacts, UpdateState } from "./admin/handler.ts";
export {
  type DecisionJson,
  decisionJson,
  pastDecision,
  type StoredRow,
} from "./decisions/record.ts";
export { replayStored } from "./decisions/replay-stored.ts";
export { type Problem, problem, problemBody } from "./http/problems.ts";
export { type Actor, WAYS } from "./keys/actor.ts";
export { type AdminToken, adminTokenJson } from "./keys/admin-token.ts";
export { dayOf } from "./keys/day.ts";
export * from "./keys/key.ts";
export * from "./keys/key-input.ts";
export * from "./keys/keyring.ts";
export * from "./keys/revocation-file.ts";
export { holdsMadeKeys, readKeySnapshot } from "./keys/snapshot.ts";
export * from "./keys/token.ts";
export { HOST_SILENT_MS, hostJson, type ListedHost, listHosts } from "./limits/hosts.ts";
export { problemOf } from "./lookup/failures.ts";
export type { DnsServer } from "./mx/dns-servers.ts";
export { formatDnsServer, parseDnsServer } from "./mx/dns-servers.ts";
export { exportFile, parseOverrideFile, readSnapshot } from "./overrides/file.ts";
export * from "./overrides/override.ts";
export * from "./overrides/record.ts";
export { type PublishedRuleset, rulesetJson } from "./rulesets/record.ts";
export { type RunningServer, type ServerOptions, StartError, startServer } from "./server.ts";
export { isAdminToken } from "./store/admin-token.ts";
export * from "./store/adopt-copies.ts";
export * from "./store/adopt-key.ts";
export { type AuditEntry, auditJson, type NewAuditEntry } from "./store/audit.ts";
export type { DecisionFilter, Deletion } from "./store/decisions.ts";
export {
  type Attempt,
  attemptJson,
  type Delivery,
  deliveryJson,
  healthJson,
  type WebhookHealth,
} from "./store/deliveries.ts";
export { DUMPED, type DumpedRow, type DumpedRows, fits } from "./store/dump.ts";
export * from "./store/error.ts";
export { judge, readRemembered } from "./store/history.ts";
export { OverrideConflictError } from "./store/overrides.ts";
export { RulesetConflictError } from "./store/rulesets.ts";
export { type IssuedKey, openStore, type Store } from "./store/store.ts";
export { MAX_PAGE } from "./store/tables.ts";
export type { UsageBatch, UsageEntry } from "./store/usage.ts";
export { type HostEntry, storeWaiting, withEntry } from "./store/waiting-entries.ts";
export { type IssuedWebhook, type Webhook, webhookJson } from "./store/webhooks.ts";
export { readWebhookUrl } from "./webhooks/destination.ts";
export { sendTest } from "./webhooks/sender.ts";
