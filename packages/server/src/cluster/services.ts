// services.ts: everything of a server but its look-ups: releases, store, keys, usage, overrides, and
// the admin listener. The same for one process and for many.
//
// err  StartError with a hint; StoreError

import type { LoadedRelease } from "@inkling/engine";
import type { Registry } from "@prometheus-io/client";
import type { AdminApp, AdminAppOptions } from "../admin/app.ts";
import { ADMIN_PATH, MAX_IMPORT_BYTES } from "../admin/call.ts";
import { listen } from "../http/listener.ts";
import { requestIds } from "../http/request-id.ts";
import { pathEnd, targetOf } from "../http/request-target.ts";
import { StartError } from "../http/start-error.ts";
import { KeyInputError } from "../keys/key.ts";
import { Keyring, type LoadedKeys } from "../keys/keyring.ts";
import { UsageRecorder, type UsageRecorderOptions } from "../limits/usage-recorder.ts";
import type { StatusSource } from "../lookup/status.ts";
import { OverrideBook, type OverrideEvent } from "../overrides/cache.ts";
import { type ReleaseEvent, Releases, verifyInWorker } from "../releases/follow.ts";
import type { ServerOptions } from "../server.ts";
import { adoptKey } from "../store/adopt-key.ts";
import { openStore, type Store } from "../store/store.ts";
import type { Log } from "../telemetry/log.ts";
import type { MetricsSource } from "../telemetry/metric-definitions.ts";
import { Traffic } from "../telemetry/traffic.ts";
import type { Closers } from "./bootstrap.ts";

/** Who else has to know. */
export interface BackstageHooks {
  /** Keys were read, and are about to be in force. */
  readonly onKeys?: (loaded: LoadedKeys) => void;
  /** A key is no longer in force. */
  readonly onKeyRemoved?: (keyId: string) => void;
  /** The database went away, for this reason, or is back. */
  readonly onAway?: (reason: string | undefined) => void;
  readonly onRelease?: (releases: Releases) => void;
  readonly onOverrides?: () => void;
  readonly usage?: Pick<UsageRecorderOptions, "collect" | "onUsed">;
}

export interface Backstage {
  readonly releases: Releases;
  readonly store: Store;
  readonly keyring: Keyring;
  readonly usage: UsageRecorder;
  readonly overrides: OverrideBook;
}

/** @throws StartError, StoreError */
export async function openBackstage(
  options: ServerOptions,
  log: Log,
  closers: Closers,
  hooks: BackstageHooks = {},
): Promise<Backstage> {
  const releases = new Releases({
    dataDir: options.dataDir,
    now: Date.now,
    verify: verifyInWorker,
    onEvent: (event) => {
      logRelease(log, event);
      if (event.type === "serving") logMissing(log, options.mode, releases.current);
      hooks.onRelease?.(releases);
    },
  });
  closers.push(() => releases.stop());
  releases.open();
  if (releases.current === undefined) await options.onNoRelease?.();

  const store = await openStore(options.databaseUrl, { mayBeAway: true });
  closers.push(() => store.close());
  const keyring = await startKeyring(options, store, hooks, log);
  closers.push(() => keyring.stop());
  const usage = new UsageRecorder({ store, ...hooks.usage });
  closers.push(() => usage.stop());
  const overrides = new OverrideBook({
    store: store.overrides,
    dataDir: options.dataDir,
    onEvent: (event) => {
      logOverrides(log, event);
      if (event.type === "loaded") hooks.onOverrides?.();
    },
  });
  closers.push(() => overrides.stop());
  await Promise.all([usage.start(), overrides.start()]);
  return { releases, store, keyring, usage, overrides };
}

/** Ends what {@link openBackstage} has opened, usage stored. */
export async function closeBackstage(backstage: Backstage, log: Log): Promise<void> {
  const { releases, usage, keyring, overrides, store } = backstage;
  await releases.stop();
  const { lost } = await usage.stop();
  if (lost > 0) log.error("usage-lost", { lookups: lost, why: usage.state.lastError });
  await keyring.stop();
  await overrides.stop();
  await store.close();
}

/** The admin listener: metrics and the admin API. @throws StartError */
export function startAdmin(
  options: ServerOptions,
  { store, overrides, releases, keyring }: Backstage,
  log: Log,
  source: MetricsSource & StatusSource,
  beforeScrape: () => Promise<void> = async () => {},
): AdminListener {
  const randomBytes = (n: number) => crypto.getRandomValues(new Uint8Array(n));
  const traffic = new Traffic(async () => {
    await beforeScrape();
    return source.counts;
  }, Date.now);
  const adminOptions: Omit<AdminAppOptions, "actions"> = {
    overrides: store.overrides,
    adminToken: store.adminToken,
    store,
    book: overrides,
    keyring,
    releases,
    status: source,
    dataDir: options.dataDir,
    traffic,
    feeds: () => releases.current?.manifest.feeds,
    documents: () => import("../openapi/admin.ts"),
    log,
    now: Date.now,
    newRequestId: requestIds((bytes) => crypto.getRandomValues(bytes)),
    randomBytes,
  };
  let adminApp: Promise<AdminApp> | undefined;
  let registry: Registry | undefined;
  const answer = async (request: Request) => {
    const target = targetOf(request.url);
    if (target.startsWith(ADMIN_PATH)) {
      // 5 ms to load: the first request for it waits, not the start.
      adminApp ??= loadAdminApp(adminOptions, options.actions);
      return (await adminApp).handle(request);
    }
    const path = target.slice(0, pathEnd(target));
    if (path !== "/metrics") {
      const file = await options.console?.(request, path);
      return file ?? new Response("404: this listener has /, /metrics and /admin/v1/\n", { status: 404 });
    }
    await beforeScrape();
    // The Prometheus client takes 30 ms to load: the first scrape waits for it, not the start.
    registry ??= (await import("../telemetry/metrics.ts")).metricsRegistry(source);
    return new Response(await registry.metrics(), { headers: { "Content-Type": registry.contentType } });
  };
  const server = listen({
    what: "admin port",
    hostname: options.adminHost,
    port: options.adminPort,
    fetch: answer,
    mostBody: MAX_IMPORT_BYTES,
  });
  traffic.start();
  return {
    port: server.port,
    stop: async (isForced) => {
      traffic.stop();
      await server.stop(isForced);
    },
  };
}

async function loadAdminApp(
  options: Omit<AdminAppOptions, "actions">,
  actions: ServerOptions["actions"],
): Promise<AdminApp> {
  const { AdminApp } = await import("../admin/app.ts");
  return new AdminApp({ ...options, actions: await actions?.() });
}

export interface AdminListener {
  readonly port: number | undefined;
  stop(isForced: boolean): Promise<void>;
}

async function startKeyring(
  options: ServerOptions,
  store: Store,
  hooks: BackstageHooks,
  log: Log,
): Promise<Keyring> {
  const { adoptKey: chosen } = options;
  let refused: KeyInputError | undefined;
  const keyring = new Keyring({
    store: {
      keyStamp: () => store.keyStamp(),
      loadKeys: async () => {
        const loaded = await store.loadKeys();
        hooks.onKeys?.(loaded);
        return loaded;
      },
    },
    onRemoved: (keyId) => hooks.onKeyRemoved?.(keyId),
    onStoreChange: (error) => {
      hooks.onAway?.(error?.message);
      if (error === undefined) log.info("database-back");
      else log.error("database-away", { reason: error.message });
    },
    ...(chosen === undefined
      ? {}
      : {
          beforeFirstLoad: async () => {
            try {
              await adoptKey(store, chosen);
            } catch (error) {
              if (error instanceof KeyInputError) refused = error;
              throw error;
            }
          },
        }),
  });
  await keyring.start();
  if (refused !== undefined) {
    await keyring.stop();
    throw new StartError("KEY", refused.message, "change or unset INKLING_API_KEY", refused);
  }
  return keyring;
}

function logRelease(log: Log, event: ReleaseEvent): void {
  const { type, ...fields } = event;
  if (type === "refused") log.error("release-refused", fields);
  else log.info(`release-${type}`, fields);
}

/** In production a look-up without data is refused: that is for the operator to know, not for callers to find out. */
function logMissing(log: Log, mode: ServerOptions["mode"], release: LoadedRelease | undefined): void {
  const missing = release?.manifest.missing ?? [];
  if (mode === "serve" && missing.length > 0) {
    log.error("answers-missing", { missing, effect: "look-ups that need them answer 503 DATA_NOT_LOADED" });
  }
}

function logOverrides(log: Log, event: OverrideEvent): void {
  const { type, ...fields } = event;
  if (type === "copy-failed") log.error("overrides-copy-failed", fields);
  else log.info("overrides-loaded", fields);
}
