// live-keys.ts: keeps a keyring in step with the store.
//
// If the store is unreachable, or unexpectedly empty, the keyring keeps its keys; see the keyring's `state`.

import { join } from "node:path";
import type { EventLog } from "@inkling/contract";
import { DATA_FOLDER, EMPTY_HINT, EmptyDatabaseError, isEmptyStamp, Live, storeSource } from "@inkling/data";
import type { EpochMs } from "./keys/key.ts";
import { holdsMadeKeys, keyCopy } from "./keys/key-copy.ts";
import { KeyTable, type KeyUpdate } from "./keys/key-table.ts";
import type { Keyring } from "./keys/keyring.ts";
import type { Store } from "./store.ts";

export interface LiveKeysOptions {
  readonly store: Pick<Store, "readKeyStamp" | "loadKeys"> & {
    readonly database: Pick<Store["database"], "label">;
  };
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
  /** Whether the operator has chosen a key (INKLING_API_KEY). */
  readonly isKeyChosen?: boolean;
  readonly host?: Partial<KeyHost>;
  readonly log?: EventLog;
}

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
  /** Called when the keyring's state has changed. */
  publish(): void;
}

export type LiveKeys = Live<KeyUpdate | undefined>;

const REFRESH_MS = 1_000;
/** Milliseconds after which all keys are read again, for rows edited by hand. Reading 100,000 keys takes a second. */
const RELOAD_MS = 600_000;

export function liveKeys(options: LiveKeysOptions): LiveKeys {
  const { store, keyring, dataDir, host = {}, log, now = Date.now } = options;
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
      log?.error("keys-from-copy", { keys: keyring.table.size, age_seconds });
    },
    onChecked: (error, before) => {
      if (error === undefined) keyring.recordCheck(now());
      else keyring.recordFailure(error.message);
      if (error?.name === before?.name) return;
      if (error === undefined) log?.info("database-back");
      else logLoss(error, options);
      host.publish?.();
    },
    onStale: (isStale) => {
      keyring.stale = isStale;
      const seconds = (options.maxStaleMs ?? 0) / 1_000;
      if (isStale) log?.error("keys-stale", { seconds, effect: "every key is refused" });
      else log?.info("keys-fresh");
      host.publish?.();
    },
    pollMs: options.refreshMs ?? REFRESH_MS,
    reloadMs: RELOAD_MS,
    ...(dataDir !== undefined && {
      snapshot: keyCopy(
        {
          path: join(dataDir, DATA_FOLDER.keys),
          now,
          onFailure: (reason) => log?.error("keys-copy-failed", { reason }),
        },
        () => keyring.table,
      ),
    }),
    maxStaleMs: options.maxStaleMs,
    now,
  });
}

function logLoss(error: Error, { store, log, isKeyChosen = false }: LiveKeysOptions): void {
  if (!(error instanceof EmptyDatabaseError)) {
    const { message: reason, hint } = error as Error & { readonly hint?: string };
    log?.error("database-unreachable", { reason, hint });
    return;
  }
  log?.error("database-empty", {
    database: store.database.label,
    keys_in_copy: error.known,
    hint: EMPTY_HINT,
  });
  if (!isKeyChosen) return;
  const effect = "INKLING_API_KEY is accepted only if the copy has it";
  log?.error("chosen-key-not-created", { effect, hint: EMPTY_HINT });
}
