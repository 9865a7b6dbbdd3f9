// @inkling/server: the HTTP API, keys, limits and usage.

export * from "./adopt-key.ts";
export * from "./bucket.ts";
export * from "./key.ts";
export * from "./key-format.ts";
export * from "./keyring.ts";
export {
  type IssuedKey,
  openStore,
  type Store,
  type StoreOptions,
  type UsageBatch,
  type UsageEntry,
} from "./store.ts";
export * from "./store-error.ts";
export * from "./usage.ts";
