// @inkling/client: the client of an Inkling server.

export type * from "./answers.ts";
export type { BatchResult } from "./batch.ts";
export type { TrustProxy } from "./caller-address.ts";
export { type BatchOptions, type EmailOptions, Inkling, type LookupOptions } from "./client.ts";
export { type ClientCode, type ErrorCode, InklingError, type ServerCode } from "./errors.ts";
export type { InklingOptions } from "./options.ts";
export { denies, type IfUnavailable, type OnUnavailable, Unavailable } from "./unavailable.ts";
export type { Visitor, VisitorOptions } from "./visitor.ts";
