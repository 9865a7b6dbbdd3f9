// @inkling/server: the HTTP API, keys, limits and usage.

export type { DataActions, FeedFacts, Switched, UpdateState } from "./admin-data.ts";
export { isAdminToken } from "./admin-token.ts";
export * from "./adopt-key.ts";
export * from "./bucket.ts";
export type { DnsServer } from "./dns-client.ts";
export { formatDnsServer, parseDnsServer } from "./dns-servers.ts";
export { withAddressEvidence, withEmailEvidence } from "./evidence.ts";
export { readFeedsReport } from "./feeds-report.ts";
export * from "./key.ts";
export * from "./key-format.ts";
export * from "./keyring.ts";
export { LOG_LEVELS, type LogLevel } from "./log.ts";
export { lookUpAddress, lookUpEmail } from "./lookups.ts";
export {
  currentName,
  type LoadedRelease,
  openManifest,
  openRelease,
  ReleaseError,
  releaseId,
  releaseNames,
  verifyRelease,
} from "./open-release.ts";
export * from "./override.ts";
export { overrideEmail, overrideEntries, overrideReputation } from "./override-answers.ts";
export { type OverrideEvent, SNAPSHOT_FILE } from "./override-book.ts";
export { exportFile, type OverrideFile, readFile, readSnapshot } from "./override-file.ts";
export { Overrides } from "./overrides.ts";
export { type Problem, problem, problemBody } from "./problems.ts";
export { SANDBOX_ADDRESSES, SANDBOX_DOMAINS, SANDBOX_PROBLEMS } from "./sandbox.ts";
export { type RunningServer, type ServerOptions, StartError, startServer } from "./serve.ts";
export {
  type IssuedKey,
  openStore,
  type Store,
  type StoreOptions,
  type UsageBatch,
  type UsageEntry,
} from "./store.ts";
export * from "./store-error.ts";
export {
  type AuditEntry,
  auditJson,
  isAuditCursor,
  MAX_OVERRIDES,
  MAX_PAGE,
  OverrideConflictError,
  type OverrideWrite,
} from "./store-overrides.ts";
export * from "./usage.ts";
