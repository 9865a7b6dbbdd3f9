// live-keys.ts: keeps a keyring in step with the store.
//
// in   the store: a stamp each second, all keys when it has changed
// out  snapshots in the keyring; a copy in the data folder, with which a start continues while the store is unreachable
// err  none: a store that is unreachable, or empty instead of one that was not, leaves the keyring as it is; see the
//      keyring's `state`

import { isEmptyStamp, Live, type SnapshotFile, storeSource } from "@inkling/release-store";
import type { EpochMs } from "./key.ts";
import type { Keyring, KeySnapshot } from "./keyring.ts";
import { madeKeyIds } from "./snapshot.ts";

export interface KeySource {
  /** Changes whenever any key or token does. */
  readKeyStamp(): Promise<string>;
  /** All keys that are not revoked, with the hashes of their tokens. */
  loadKeys(): Promise<KeySnapshot>;
}

export interface LiveKeysOptions {
  readonly store: KeySource;
  readonly keyring: Pick<Keyring, "replace" | "recordCheck" | "recordFailure" | "stale">;
  readonly now?: () => EpochMs;
  /** Milliseconds between two checks. */
  readonly refreshMs?: number;
  /**
   * Runs before the first load, again until it succeeds, and after the store was empty: adopts a key of the operator's
   * choosing. Not in a store that is empty instead of another: it would no longer be seen to be empty.
   */
  readonly beforeFirstLoad?: () => Promise<void>;
  /** Keys are refused once the store was not reached for so long; never by default. */
  readonly maxStaleMs?: number | undefined;
  /** Keys are refused from now on, or no longer. */
  readonly onStale?: (isStale: boolean) => void;
  /** The copy in the data folder. */
  readonly copy?: SnapshotFile<KeySnapshot | undefined>;
  /** The copy is active, because the store is unreachable or empty. */
  readonly onCopy?: (keys: number, ageMs: number) => void;
  /** Called with each snapshot before it is active, and waited for; what it throws is a failed check. */
  readonly onSnapshot?: (snapshot: KeySnapshot) => void | Promise<void>;
  /** Runs before what the store holds now is applied: has it gone back to an earlier state? */
  readonly review?: () => Promise<void>;
  /** A snapshot without the keys that are revoked on this host, whatever the store or the copy holds. */
  readonly withoutRevoked?: (snapshot: KeySnapshot) => KeySnapshot;
  /** The store became unreachable, was found empty (EmptyDatabaseError), or came back (undefined). */
  readonly onStoreChange?: (error: Error | undefined) => void;
}

export type LiveKeys = Live<KeySnapshot | undefined>;

const REFRESH_MS = 1_000;

export function liveKeys(options: LiveKeysOptions): LiveKeys {
  const { store, keyring, copy, beforeFirstLoad, review, withoutRevoked } = options;
  const { onSnapshot, onCopy, onStale, onStoreChange } = options;
  let isPrepared = false;
  return new Live<KeySnapshot | undefined>({
    initial: undefined,
    source: storeSource<KeySnapshot | undefined>({
      readStamp: async () => {
        const stamp = await store.readKeyStamp();
        isPrepared &&= !isEmptyStamp(stamp); // also where it is refused: what comes next may be another database
        return stamp;
      },
      load: async () => {
        const value = await store.loadKeys();
        return { version: value.stamp, value };
      },
      // One with nothing but the key from settings is not missed.
      countLost: (known) => (madeKeyIds(known).length > 0 ? countKeys(known) : 0),
      what: "a key",
      snapshot: copy,
      beforeLoad: async () => {
        if (!isPrepared) await beforeFirstLoad?.();
        isPrepared = true;
      },
    }),
    apply: async (snapshot, { from, isOtherOrigin, ageMs }) => {
      if (snapshot === undefined) return;
      if (from === "source") await review?.();
      const allowed = withoutRevoked?.(snapshot) ?? snapshot;
      await onSnapshot?.(allowed);
      keyring.replace(allowed);
      if (from === "snapshot" && isOtherOrigin) onCopy?.(countKeys(snapshot), ageMs);
    },
    onChecked: (error, before) => {
      if (error === undefined) keyring.recordCheck((options.now ?? Date.now)());
      else keyring.recordFailure(error.message);
      if (error?.name !== before?.name) onStoreChange?.(error);
    },
    onStale: (isStale) => {
      keyring.stale = isStale;
      onStale?.(isStale);
    },
    pollMs: options.refreshMs ?? REFRESH_MS,
    ...(copy !== undefined && { snapshot: copy }),
    maxStaleMs: options.maxStaleMs,
    ...(options.now !== undefined && { now: options.now }),
  });
}

export const countKeys = (snapshot: KeySnapshot | undefined) =>
  new Set(snapshot?.tokens.map(({ key }) => key.id)).size;
