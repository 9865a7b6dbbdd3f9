// @inkling/local: the three lookups in the application's own process, from a data folder or a channel.

export type * from "@inkling/client";
export { denies, InklingError, Unavailable } from "@inkling/client";
export { createLocal, type LocalInkling, type LookupBytes } from "./local.ts";
export type { LocalOptions } from "./options.ts";
