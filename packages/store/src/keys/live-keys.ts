// live-keys.ts: keeps a keyring in step with the store.
//
// in   the store: a stamp every second, the changed keys if the stamp has changed, and all keys every ten minutes
// out  snapshots in the keyring; a copy in the data folder, from which a server starts while the store is unreachable
// err  none: if the store is unreachable, or unexpectedly empty, the keyring keeps its keys; see the keyring's `state`

import { isEmptyStamp, Live, type SnapshotFile, storeSource } from "@inkling/release-store";
import type { EpochMs } from "./key.ts";
import type { Keyring, KeySnapshot } from "./keyring.ts";
import { holdsMadeKeys } from "./snapshot.ts";

export interface KeySource {
  /** Changes whenever a key or token changes. */
  readKeyStamp(): Promise<string>;
  /** Loads all keys that are not revoked, with the hashes of their tokens. */
  loadKeys(known?: KeySnapshot, isWhole?: boolean): Promise<KeySnapshot>;
}

export interface LiveKeysOptions {
  readonly store: KeySource;
  readonly keyring: Pick<Keyring, "replace" | "recordCheck" | "recordFailure" | "stale">;
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
  readonly copy?: SnapshotFile<KeySnapshot | undefined>;
  /** Called when the copy becomes active because the store is unreachable or empty. */
  readonly onCopy?: (keys: number, ageMs: number) => void;
  /** Called and awaited before a snapshot becomes active. If it throws, the check counts as failed. */
  readonly onSnapshot?: (snapshot: KeySnapshot) => void | Promise<void>;
  /** Called before newly loaded keys become active, to write down what the store has revoked. */
  readonly review?: () => Promise<void>;
  /** Removes the keys that this host refuses from a snapshot, whether it comes from the store or the copy. */
  readonly withoutRevoked?: (snapshot: KeySnapshot) => KeySnapshot;
  /**
   * Called when the store becomes unreachable, is found empty (EmptyDatabaseError), or is available again (undefined).
   */
  readonly onStoreChange?: (error: Error | undefined) => void;
  /** Called after each check of the store. */
  readonly onChecked?: () => void;
}

export type LiveKeys = Live<KeySnapshot | undefined>;

const REFRESH_MS = 1_000;
/** Milliseconds after which all keys are read again, for rows edited by hand. Reading 100,000 keys takes a second. */
const RELOAD_MS = 600_000;

export function liveKeys(options: LiveKeysOptions): LiveKeys {
  const { store, keyring, copy, beforeFirstLoad, review, withoutRevoked } = options;
  const { onSnapshot, onCopy, onStale, onStoreChange } = options;
  let isPrepared = false;
  return new Live<KeySnapshot | undefined>({
    initial: undefined,
    source: storeSource<KeySnapshot | undefined>({
      readStamp: async () => {
        const stamp = await store.readKeyStamp();
        isPrepared &&= !isEmptyStamp(stamp); // even if this store is refused: the next one may be a different store
        return stamp;
      },
      load: async (active, isWhole) => {
        const value = await store.loadKeys(active?.value, isWhole);
        return { version: value.stamp, value };
      },
      // Losing a store whose only key came from settings does not matter, because the server creates that key again.
      countLost: (known) => (holdsMadeKeys(known) ? countKeys(known) : 0),
      what: "a key",
      beforeLoad: async () => {
        if (!isPrepared) await beforeFirstLoad?.();
        isPrepared = true;
      },
    }),
    apply: async (snapshot, { before, from, isOtherOrigin, ageMs }) => {
      if (snapshot === undefined) return;
      // After a revocation, the same snapshot is applied again. A review would then wait for the store, which may be
      // unreachable.
      if (from === "source" && snapshot !== before) await review?.();
      const allowed = withoutRevoked?.(snapshot) ?? snapshot;
      await onSnapshot?.(allowed);
      keyring.replace(allowed);
      if (from === "snapshot" && isOtherOrigin) onCopy?.(countKeys(snapshot), ageMs);
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

export const countKeys = (snapshot: KeySnapshot | undefined) =>
  new Set(snapshot?.tokens.map(({ key }) => key.id)).size;
