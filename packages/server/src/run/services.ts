// services.ts: opens what the primary owns, with or without workers, in the order of the dependencies: releases, the
// store, keys with their usage and limits, decisions, overrides, rulesets, webhooks.

import { hostname } from "node:os";
import { join } from "node:path";
import type { ServerSettings } from "@inkling/contract";
import { DATA_FOLDER, serverId } from "@inkling/data";
import { Keyring } from "@inkling/store/keys/keyring";
import { RevokedFile } from "@inkling/store/keys/revoked-file";
import { liveKeys } from "@inkling/store/live-keys";
import { liveOverrides } from "@inkling/store/live-overrides";
import { liveRulesets } from "@inkling/store/live-rulesets";
import { openStore, type Store } from "@inkling/store/store";
import type { Foundation, Services, Serving } from "../admin/services.ts";
import { livePrecisions } from "../decisions/live-precisions.ts";
import { DecisionRecorder } from "../decisions/recorder.ts";
import { AssignedCells } from "../limits/assigned-cells.ts";
import { GroupCounts } from "../limits/group-counts.ts";
import { GroupExchange } from "../limits/group-exchange.ts";
import { GroupTables } from "../limits/group-tables.ts";
import { QuotaClock } from "../limits/key-cells.ts";
import { eachOf, limitsOf } from "../limits/token-bucket.ts";
import { UsageRecorder } from "../limits/usage-recorder.ts";
import { Releases } from "../releases/releases.ts";
import { verifyInThread } from "../releases/verify.ts";
import { WebhookEvents } from "../webhooks/events.ts";
import { WebhookSender } from "../webhooks/sender.ts";
import { ActiveKeys, openRevoked } from "./active-keys.ts";
import { watchDatabase } from "./database-state.ts";
import { storeEarlierEntries, takeEarlierRevocations } from "./earlier-folder.ts";
import type { Closers } from "./options.ts";
import { startRetention } from "./start-retention.ts";

/** @throws StartError, StoreError */
export async function openServices(
  foundation: Foundation,
  serving: Serving,
  closers: Closers,
): Promise<Services> {
  const { settings, log, cells, version } = foundation;
  const { dataDir, checkMs, maxStaleSeconds } = settings;
  const host = hostId(settings);
  const checks = checkMs === undefined ? {} : { refreshMs: checkMs };

  const releases = new Releases({
    dataDir,
    now: Date.now,
    verify: verifyInThread,
    allowMissing: settings.allowMissing,
    log,
    onChange: () => serving.publish("release"),
  });
  closers.push(() => releases.stop());
  await releases.start();

  const revoked = new RevokedFile(join(dataDir, DATA_FOLDER.revoked));
  takeEarlierRevocations(dataDir, revoked, log);
  openRevoked(revoked);
  const onUpgrade = (upgrade: object) => log.info("database-upgraded", { ...upgrade });
  const store = await openStore(settings.databaseUrl, { mayBeUnreachable: true, revoked, log, onUpgrade });
  closers.push(() => store.close());

  const keyring = new Keyring();
  const keyCells = new AssignedCells(cells, keyring);
  const clock = new QuotaClock();
  const now = () => clock.at(Date.now());
  const usage = new UsageRecorder({ store: store.usage, host, now, cells: keyCells, log });
  const activeKeys = new ActiveKeys({ ...foundation, serving, store, keyring, keyCells, usage }, revoked);
  closers.push(() => activeKeys.stop());
  const keyLoader = liveKeys({
    store,
    keyring,
    dataDir,
    isKeyChosen: settings.apiKey !== undefined,
    host: activeKeys,
    log,
    ...checks,
    ...(maxStaleSeconds > 0 && { maxStaleMs: maxStaleSeconds * 1_000 }),
  });
  closers.push(() => keyLoader.stop());
  await keyLoader.start();
  activeKeys.requireChosenKey();
  closers.push(() => usage.stop());

  const decisions = new DecisionRecorder({
    store: store.decisions,
    labelWaitMs: labelWaitMs(settings, store),
    log,
  });
  decisions.start();
  closers.push(() => decisions.stop());
  if (settings.decisions && settings.memoryKey === undefined && store.database.isShared)
    log.info("memory-not-shared", { hint: "set INKLING_MEMORY_KEY to the same value on every host" });
  const retention = startRetention(settings, store, log);
  closers.push(() => retention.stop());

  let group: GroupExchange | undefined;
  if (store.database.isShared) {
    const counts = groupCounts({ settings, cells, keyring });
    keyCells.group = counts;
    const source = new GroupTables(store.database, host);
    group = new GroupExchange({ counts, source, keyCells, clock, serving, log });
    closers.push(() => group?.stop());
  }

  const live = { dataDir, ...checks, log };
  const overrides = liveOverrides({
    ...live,
    store,
    onChange: () => serving.publish("overrides"),
  });
  closers.push(() => overrides.stop());
  const rulesets = liveRulesets({
    ...live,
    store,
    onChange: () => serving.publish("rulesets"),
  });
  closers.push(() => rulesets.stop());
  const precisions = livePrecisions(store.decisions, checkMs, () => serving.publish("precisions"));
  closers.push(() => precisions.stop());
  await Promise.all([usage.start(), overrides.start(), rulesets.start(), group?.start()]);

  activeKeys.follow(keyLoader);

  // Answers do not depend on what follows, so nothing waits for it.
  const notices = store.listen({ live: { keys: keyLoader, overrides, rulesets }, log });
  closers.push(() => notices.stop());
  void precisions.start();
  void notices.start();
  void storeEarlierEntries(store.audit, dataDir, log);
  const events = new WebhookEvents({ store, releases, overrides, log, now: Date.now }, checkMs);
  const pollMs = checkMs === undefined ? {} : { pollMs: checkMs };
  const webhooks = new WebhookSender({ store, log, version, now: Date.now, events, ...pollMs });
  webhooks.start();
  closers.push(() => webhooks.stop());

  const services = {
    ...foundation,
    serving,
    releases,
    store,
    keyring,
    keyLoader,
    keyCells,
    usage,
    clock,
    decisions,
    overrides,
    rulesets,
    precisions,
    notices,
    webhooks,
    group,
  };
  const database = watchDatabase(services);
  closers.push(() => database.stop());
  return services;
}

/** Returns an id that survives restarts and differs between servers that share a data folder. */
function hostId({ dataDir, port }: Pick<ServerSettings, "dataDir" | "port">): string {
  try {
    return `${serverId(dataDir)}@${hostname()}:${port}`;
  } catch {
    return crypto.randomUUID(); // the folder is not writable
  }
}

/** Milliseconds that a decision takes to arrive from a worker of this host, and from another host. */
const LABEL_WAIT_MS = { worker: 300, host: 1_500 };

function labelWaitMs(
  { workers }: Pick<ServerSettings, "workers">,
  { database }: Pick<Store, "database">,
): number {
  if (database.isShared) return LABEL_WAIT_MS.host;
  return workers > 1 ? LABEL_WAIT_MS.worker : 0;
}

/** Creates the counts that connect the limits of this host with those of the other hosts on the same database. */
function groupCounts({
  settings,
  cells,
  keyring,
}: Pick<Services, "settings" | "cells" | "keyring">): GroupCounts {
  return new GroupCounts(cells, (keyId) => {
    const [key, cell] = [keyring.find(keyId), keyring.cells.get(keyId)];
    if (key === undefined || cell === undefined) return undefined;
    const { rate, burst } = limitsOf(key, settings);
    const each = eachOf(rate);
    return each === 0 ? undefined : { cell, each, whole: burst * each };
  });
}
