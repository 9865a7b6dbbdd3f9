// live-keys.ts: keeps a keyring in step with the store.
//
// If the store is unreachable, or unexpectedly empty, the keyring keeps its keys; see the keyring's `state`.

import { join } from "node:path";
import { DATA_FOLDER, isEmptyStamp, Live, storeSource } from "@inkling/data";
import type { EpochMs } from "./key.ts";
import { holdsMadeKeys, keyCopy } from "./key-copy.ts";
import { KeyTable, type KeyUpdate } from "./key-table.ts";
import type { Keyring } from "./keyring.ts";

export interface KeySource {
  /** Changes whenever a key or token changes. */
  readKeyStamp(): Promise<string>;
  /**
   * Loads the keys that are not revoked.
   * @param since the stamp of known keys; if possible, only what has changed since then is loaded
   */
  loadKeys(since?: string): Promise<KeyUpdate>;
}

export interface LiveKeysOptions {
  readonly store: KeySource;
  readonly keyring: Pick<Keyring, "table" | "replace" | "recordCheck" | "recordFailure" | "stale">;
  readonly now?: () => EpochMs;
  /** Milliseconds between two checks of the store. */
  readonly refreshMs?: number;
  /**
   * Milliseconds for which the store may be unreachable before every key is refused; by default, there is no limit.
   */
  readonly maxStaleMs?: number | undefined;
  /** The data folder, which has a copy of the keys; without it, there is no copy. */
  readonly dataDir?: string;
  readonly host?: Partial<KeyHost>;
}

export type KeyEvent =
  /** The copy is active, because the store is unreachable or empty. */
  | { readonly type: "from-copy"; readonly keys: number; readonly age_seconds: number }
  /** The copy cannot be read or written. */
  | { readonly type: "copy-failed"; readonly reason: string }
  /** The store is unreachable or, with an EmptyDatabaseError, empty. */
  | { readonly type: "lost"; readonly error: Error }
  | { readonly type: "back" }
  /** The keyring starts or stops refusing every key. */
  | { readonly type: "stale" | "fresh" };

/** The server that uses the keys. */
export interface KeyHost {
  /**
   * Creates the key in INKLING_API_KEY. It runs before the first load until it succeeds, and again after the store was
   * found empty. It does not run while an empty store has replaced a store with keys, because the new key would hide
   * the loss.
   */
  prepare(): Promise<void>;
  /** Writes down what the store has revoked, before newly loaded keys become active. */
  review(): Promise<void>;
  /** Activates an update in the keyring; by default `keyring.replace`. If it throws, the check counts as failed. */
  activate(update: KeyUpdate): void;
  report(event: KeyEvent): void;
}

export type LiveKeys = Live<KeyUpdate | undefined>;

const REFRESH_MS = 1_000;
/** Milliseconds after which all keys are read again, for rows edited by hand. Reading 100,000 keys takes a second. */
const RELOAD_MS = 600_000;

export function liveKeys(options: LiveKeysOptions): LiveKeys {
  const { store, keyring, dataDir, host = {}, now = Date.now } = options;
  let isPrepared = false;
  return new Live<KeyUpdate | undefined>({
    initial: undefined,
    source: storeSource<KeyUpdate | undefined>({
      readStamp: async () => {
        const stamp = await store.readKeyStamp();
        isPrepared &&= !isEmptyStamp(stamp); // even if this store is refused: the next one may be a different store
        return stamp;
      },
      load: async (active, isWhole) => {
        const value = await store.loadKeys(isWhole ? undefined : active?.value?.stamp);
        const { table } = keyring;
        const isKnown = isWhole && active?.value?.stamp === table.stamp && table.hasOnly(value.lines);
        const nothing = { stamp: value.stamp, from: table.stamp, lines: new Uint8Array(0) };
        return { version: value.stamp, value: isKnown ? nothing : value };
      },
      // Losing a store whose only key came from settings does not matter, because the server creates that key again.
      countLost: (known) => {
        const table = known?.from === undefined ? new KeyTable(known) : keyring.table;
        return holdsMadeKeys(table) ? table.size : 0;
      },
      what: "a key",
      beforeLoad: async () => {
        if (!isPrepared) await host.prepare?.();
        isPrepared = true;
      },
    }),
    apply: async (update, { from, isOtherOrigin, ageMs }) => {
      if (update === undefined) return;
      if (from === "source") await host.review?.();
      if (host.activate === undefined) keyring.replace(update);
      else host.activate(update);
      if (from === "source" || !isOtherOrigin) return;
      const age_seconds = Math.round(ageMs / 1_000);
      host.report?.({ type: "from-copy", keys: keyring.table.size, age_seconds });
    },
    onChecked: (error, before) => {
      if (error === undefined) keyring.recordCheck(now());
      else keyring.recordFailure(error.message);
      if (error?.name !== before?.name)
        host.report?.(error === undefined ? { type: "back" } : { type: "lost", error });
    },
    onStale: (isStale) => {
      keyring.stale = isStale;
      host.report?.({ type: isStale ? "stale" : "fresh" });
    },
    pollMs: options.refreshMs ?? REFRESH_MS,
    reloadMs: RELOAD_MS,
    ...(dataDir !== undefined && {
      snapshot: keyCopy(
        {
          path: join(dataDir, DATA_FOLDER.keys),
          now,
          onFailure: (reason) => host.report?.({ type: "copy-failed", reason }),
        },
        () => keyring.table,
      ),
    }),
    maxStaleMs: options.maxStaleMs,
    now,
  });
}
