// @inkling/client: the client for an Inkling server.

export type * from "./answers.ts";
export type { AssessOptions, DecisionResult, WithLookups } from "./assess.ts";
export type { BatchResult } from "./batch.ts";
export { createClient, Inkling } from "./client.ts";
export type { DataName, DataState, WithData } from "./data-state.ts";
export { type ClientCode, type ErrorCode, InklingError, type ServerCode } from "./errors.ts";
export type * from "./generated.ts";
export type { BatchOptions, EmailOptions, LookupOptions, LookupResult, Lookups } from "./lookups.ts";
export type { TrustProxy } from "./middleware/caller-address.ts";
export type { Admitted, InvalidEmail } from "./middleware/protect.ts";
export type { Visitor, VisitorOptions } from "./middleware/visitor.ts";
export type { InklingOptions } from "./options.ts";
export { denies, type IfUnavailable, type OnUnavailable, Unavailable, type Verdict } from "./unavailable.ts";
