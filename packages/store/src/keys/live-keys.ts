// live-keys.ts: keeps a keyring in step with the store.
//
// If the store is unreachable, or unexpectedly empty, the keyring keeps its keys; see the keyring's `state`.

import { isEmptyStamp, Live, type SnapshotFile, storeSource } from "@inkling/data";
import type { EpochMs } from "./key.ts";
import { holdsMadeKeys } from "./key-copy.ts";
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
   * Creates the key in INKLING_API_KEY. It runs before the first load until it succeeds, and again after the store was
   * found empty. It does not run while an empty store has replaced a store with keys, because the new key would hide
   * the loss.
   */
  readonly beforeFirstLoad?: () => Promise<void>;
  /**
   * Milliseconds for which the store may be unreachable before every key is refused; by default, there is no limit.
   */
  readonly maxStaleMs?: number | undefined;
  /** Called when the keyring starts or stops refusing every key. */
  readonly onStale?: (isStale: boolean) => void;
  /** The copy in the data folder. */
  readonly copy?: SnapshotFile<KeyUpdate | undefined>;
  /** Called when the copy becomes active because the store is unreachable or empty. */
  readonly onCopy?: (keys: number, ageMs: number) => void;
  /** Activates an update in the keyring; by default `keyring.replace`. If it throws, the check counts as failed. */
  readonly activate?: (update: KeyUpdate) => void;
  /** Called before newly loaded keys become active, to write down what the store has revoked. */
  readonly review?: () => Promise<void>;
  /**
   * Called when the store becomes unreachable, is found empty (EmptyDatabaseError), or is available again (undefined).
   */
  readonly onStoreChange?: (error: Error | undefined) => void;
  /** Called after each check of the store. */
  readonly onChecked?: () => void;
}

export type LiveKeys = Live<KeyUpdate | undefined>;

const REFRESH_MS = 1_000;
/** Milliseconds after which all keys are read again, for rows edited by hand. Reading 100,000 keys takes a second. */
const RELOAD_MS = 600_000;

export function liveKeys(options: LiveKeysOptions): LiveKeys {
  const { store, keyring, copy, beforeFirstLoad, review, onCopy, onStale, onStoreChange } = options;
  const { activate = (update) => keyring.replace(update) } = options;
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
        if (!isPrepared) await beforeFirstLoad?.();
        isPrepared = true;
      },
    }),
    apply: async (update, { from, isOtherOrigin, ageMs }) => {
      if (update === undefined) return;
      if (from === "source") await review?.();
      activate(update);
      if (from === "snapshot" && isOtherOrigin) onCopy?.(keyring.table.size, ageMs);
    },
    onChecked: (error, before) => {
      if (error === undefined) keyring.recordCheck((options.now ?? Date.now)());
      else keyring.recordFailure(error.message);
      if (error?.name !== before?.name) onStoreChange?.(error);
      options.onChecked?.();
    },
    onStale: (isStale) => {
      keyring.stale = isStale;
      onStale?.(isStale);
    },
    pollMs: options.refreshMs ?? REFRESH_MS,
    reloadMs: RELOAD_MS,
    ...(copy !== undefined && { snapshot: copy }),
    maxStaleMs: options.maxStaleMs,
    ...(options.now !== undefined && { now: options.now }),
  });
}
