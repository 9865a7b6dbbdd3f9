// services.ts: what the process that owns a server's state has, whether it answers itself or has workers: releases,
// store, keys, usage, overrides.
//
// err  StartError with a hint; StoreError

import { join } from "node:path";
import { DATA_FOLDER, type NamedRelease } from "@inkling/release-store";
import { StartError } from "../http/start-error.ts";
import { KeyInputError } from "../keys/key.ts";
import { KeyLoader } from "../keys/key-loader.ts";
import { Keyring } from "../keys/keyring.ts";
import { EmptyDatabaseError, SnapshotFile } from "../keys/snapshot-file.ts";
import type { CellMemory } from "../limits/cell-memory.ts";
import { UsageRecorder, type UsageState } from "../limits/usage-recorder.ts";
import { OverrideCache, type OverrideEvent } from "../overrides/cache.ts";
import { type ReleaseEvent, Releases } from "../releases/follow.ts";
import { verifyInProcess } from "../releases/verify.ts";
import { adoptKey } from "../store/adopt-key.ts";
import type { NoticeListener } from "../store/notices.ts";
import { openStore, type Store } from "../store/store.ts";
import type { Log } from "../telemetry/log.ts";
import { KeyBroadcaster } from "./key-broadcaster.ts";
import type { Change, Closers, ServerOptions } from "./options.ts";

export interface Services {
  readonly releases: Releases;
  readonly store: Store;
  readonly keyring: Keyring;
  readonly keyLoader: KeyLoader;
  readonly keys: KeyBroadcaster;
  readonly usage: UsageRecorder;
  readonly overrides: OverrideCache;
  readonly notices: NoticeListener;
}

/** What services work with. */
interface ServiceParts {
  readonly log: Log;
  readonly memory: CellMemory;
  readonly closers: Closers;
  /** Called after each change; of keys, right before they are in force here. */
  readonly onChange: (change: Change) => void;
}

/** @throws StartError, StoreError */
export async function openServices(options: ServerOptions, parts: ServiceParts): Promise<Services> {
  const { closers } = parts;
  const releases = await openReleases(options, parts);
  if (releases.current === undefined) await options.onNoRelease?.();
  const store: Store = await openStore(options.databaseUrl, {
    mayBeAway: true,
    onOtherFile: () => parts.log.error("database-replaced", { database: store.label }),
  });
  closers.push(() => store.close());
  const keys = new KeyBroadcaster(parts.memory);
  const keyring = new Keyring();
  const keyLoader = await startKeyLoader(options, store, keyring, keys, parts);
  const usage = new UsageRecorder({
    store: store.usage,
    collect: (sink) => keys.collect(sink, Date.now()),
    onStored: (keyId, stored) => keys.takeForeign(keyId, stored),
    onFlush: watchUsage(options, keyring, parts),
  });
  closers.push(() => usage.stop());
  const overrides = new OverrideCache({
    store: store.overrides,
    dataDir: options.dataDir,
    ...(options.checkMs !== undefined && { refreshMs: options.checkMs }),
    onEvent: (event) => {
      logOverrides(parts.log, event, store.label);
      if (event.type === "loaded") parts.onChange("overrides");
    },
  });
  closers.push(() => overrides.stop());
  await Promise.all([usage.start(), overrides.start()]);
  const notices = store.listen({
    onNotice: (noticed) => void (noticed === "keys" ? keyLoader : overrides).refresh(),
    onState: (state, reason) => {
      if (state === "listening") parts.log.info("notices-listening");
      else parts.log.error("notices-missing", { reason, effect: "changes are found once a second" });
    },
  });
  closers.push(() => notices.stop());
  void notices.start(); // answers need not wait for it
  return { releases, store, keyring, keyLoader, keys, usage, overrides, notices };
}

/** Ends what {@link openServices} has opened; usage is stored. */
export async function closeServices(services: Services, log: Log): Promise<void> {
  const { releases, usage, keyLoader, overrides, notices, store } = services;
  notices.stop();
  await releases.stop();
  const { lost } = await usage.stop();
  if (lost > 0) log.error("usage-lost", { lookups: lost, why: usage.state.lastError });
  await keyLoader.stop();
  await overrides.stop();
  await store.close();
}

async function openReleases(
  { dataDir, mode, workers = 1, workerEnvironment = {} }: ServerOptions,
  { log, closers, onChange }: ServiceParts,
): Promise<Releases> {
  const releases = new Releases({
    dataDir,
    now: Date.now,
    elapsed: () => performance.now(),
    verify: (...release) => verifyInProcess(workerEnvironment, ...release),
    answersHere: workers === 1,
    onEvent: (event) => {
      logRelease(log, event);
      if (event.type === "serving") logMissing(log, mode, releases.current);
      onChange("release");
    },
  });
  closers.push(() => releases.stop());
  await releases.open();
  return releases;
}

async function startKeyLoader(
  { adoptKey: chosen, dataDir, maxStaleSeconds = 0, checkMs }: ServerOptions,
  store: Store,
  keyring: Keyring,
  keys: KeyBroadcaster,
  { log, closers, onChange }: ServiceParts,
): Promise<KeyLoader> {
  let refused: KeyInputError | undefined;
  const adopt = async (token: string) => {
    try {
      await adoptKey(store, token);
    } catch (error) {
      if (error instanceof KeyInputError) refused = error;
      throw error;
    }
  };
  const loader = new KeyLoader({
    store,
    keyring,
    onSnapshot: (snapshot) => {
      keys.take(snapshot);
      onChange("keys");
    },
    copy: new SnapshotFile({
      path: join(dataDir, DATA_FOLDER.keys),
      now: Date.now,
      onFailure: (reason) => log.error("keys-copy-failed", { reason }),
    }),
    onCopy: (count, ageMs) =>
      log.error("keys-from-copy", { keys: count, age_seconds: Math.round(ageMs / 1_000) }),
    onStoreChange: (error) => {
      if (error === undefined) log.info("database-back");
      else if (error instanceof EmptyDatabaseError) {
        log.error("database-empty", { database: store.label, keys_in_copy: error.known });
      } else log.error("database-away", { reason: error.message });
      onChange("keys");
    },
    ...(checkMs !== undefined && { refreshMs: checkMs }),
    ...(maxStaleSeconds > 0 && { maxStaleMs: maxStaleSeconds * 1_000 }),
    onStale: (isStale) => {
      if (isStale) log.error("keys-stale", { seconds: maxStaleSeconds, effect: "every key is refused" });
      else log.info("keys-fresh");
      onChange("keys");
    },
    ...(chosen !== undefined && { beforeFirstLoad: () => adopt(chosen) }),
  });
  closers.push(() => loader.stop());
  await loader.start();
  if (refused !== undefined) {
    throw new StartError("KEY", refused.message, "change or unset INKLING_API_KEY", refused);
  }
  return loader;
}

/** Logs when usage can no longer be stored, and when it can again; after too long this server is not ready. */
function watchUsage(
  { maxUnstoredSeconds = 0 }: ServerOptions,
  keyring: Keyring,
  { log, onChange }: ServiceParts,
): (state: UsageState) => void {
  let isFailing = false;
  return ({ failuresInRow, lastError: reason, pending, oldestMs }) => {
    const wasFailing = isFailing;
    isFailing = failuresInRow > 0;
    if (isFailing && !wasFailing) log.error("usage-not-stored", { reason, lookups: pending });
    if (!isFailing && wasFailing) log.info("usage-stored-again");
    const isLate = maxUnstoredSeconds > 0 && oldestMs > maxUnstoredSeconds * 1_000;
    if (isLate === (keyring.unready !== undefined)) return;
    keyring.unready = isLate ? `usage could not be stored for more than ${maxUnstoredSeconds} s` : undefined;
    onChange("keys");
  };
}

function logRelease(log: Log, event: ReleaseEvent): void {
  const { type, ...fields } = event;
  if (type === "refused" || type === "none" || type === "unverified") log.error(`release-${type}`, fields);
  else log.info(`release-${type}`, fields);
}

/** In production lookups without data are refused: so the log reports it at start. */
function logMissing(log: Log, mode: ServerOptions["mode"], release: NamedRelease | undefined): void {
  const missing = release?.manifest.missing ?? [];
  if (mode === "serve" && missing.length > 0) {
    log.error("answers-missing", { missing, effect: "lookups that need them answer 503 DATA_NOT_LOADED" });
  }
}

function logOverrides(log: Log, event: OverrideEvent, database: string): void {
  const { type, ...fields } = event;
  if (type === "copy-failed") log.error("overrides-copy-failed", fields);
  else if (type === "database-empty") log.error(type, { database, ...fields });
  else log.info("overrides-loaded", fields);
}
