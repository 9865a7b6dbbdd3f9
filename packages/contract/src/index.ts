// @inkling/contract: the rows that several packages must agree on. This package does not import any other package, and
// rows never refer to other rows by position or count.

export * from "./admin.ts";
export * from "./admin-problems.ts";
export * from "./assess.ts";
export * from "./countries.ts";
export * from "./facts.ts";
export * from "./fields.ts";
export * from "./flags.ts";
export * from "./log-events.ts";
export * from "./metrics.ts";
export {
  COMMON_HEADERS,
  type Content,
  type Contents,
  type JsonSchema,
  KEYED_HEADERS,
  PATH_VALUES,
  type ParameterRow,
  REQUEST_HEADERS,
  type SchemaName,
} from "./operation-parts.ts";
export * from "./operations.ts";
export * from "./own-feeds.ts";
export * from "./problems.ts";
export * from "./sandbox.ts";
export * from "./settings.ts";
export * from "./shapes.ts";
export * from "./starter-ruleset.ts";
export * from "./tables.ts";
export * from "./webhooks.ts";
