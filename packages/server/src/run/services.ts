// services.ts: holds the state that the primary owns, with or without workers: releases, store, keys, usage, overrides,
// rulesets.

import { hostname } from "node:os";
import { join } from "node:path";
import type { ServerSettings } from "@inkling/contract";
import { DATA_FOLDER, EmptyDatabaseError, type NamedRelease, serverId } from "@inkling/data";
import { adoptKey } from "@inkling/store/adopt-key";
import { StoreError } from "@inkling/store/error";
import { type KeyId, KeyInputError } from "@inkling/store/keys/key";
import { keyCopy } from "@inkling/store/keys/key-copy";
import { recordsOf } from "@inkling/store/keys/key-table";
import { Keyring } from "@inkling/store/keys/keyring";
import { type LiveKeys, liveKeys } from "@inkling/store/keys/live-keys";
import { RevokedFile } from "@inkling/store/keys/revoked-file";
import type { NoticeListener } from "@inkling/store/notices";
import {
  type LiveOverrides,
  liveOverrides,
  type OverrideEvent,
} from "@inkling/store/overrides/live-overrides";
import { type LiveRulesets, liveRulesets, type RulesetEvent } from "@inkling/store/rulesets/live-rulesets";
import { openStore, type Store } from "@inkling/store/store";
import type { DecisionRecorder } from "../decisions/recorder.ts";
import { StartError } from "../http/start-error.ts";
import type { LimitCells } from "../limits/cells.ts";
import { GroupCounts } from "../limits/group-counts.ts";
import { GroupExchange } from "../limits/group-exchange.ts";
import { type GroupAnswer, GroupTables } from "../limits/group-tables.ts";
import { SteadyClock } from "../limits/steady-clock.ts";
import { eachOf, limitsOf } from "../limits/token-bucket.ts";
import { UsageRecorder, type UsageState } from "../limits/usage-recorder.ts";
import { type ReleaseEvent, Releases } from "../releases/releases.ts";
import { verifyInThread } from "../releases/verify.ts";
import type { Log } from "../telemetry/log.ts";
import { AssignedCells } from "./assigned-cells.ts";
import { databaseWarnings, EMPTY_HINT, RULESET_HINT } from "./database-warnings.ts";
import { storeEarlierEntries, takeEarlierRevocations } from "./earlier-folder.ts";
import type { Change, Closers, ServerOptions } from "./options.ts";
import { openRevoked, RevokedKeys } from "./revoked-keys.ts";
import { startDecisions } from "./start-decisions.ts";
import { startRetention } from "./start-retention.ts";

export interface Services {
  readonly log: Log;
  readonly releases: Releases;
  readonly store: Store;
  readonly keyring: Keyring;
  readonly keyLoader: LiveKeys;
  readonly keys: AssignedCells;
  readonly usage: UsageRecorder;
  /** Decides the current day for quotas and usage. */
  readonly clock: SteadyClock;
  readonly decisions: DecisionRecorder;
  readonly overrides: LiveOverrides;
  readonly rulesets: LiveRulesets;
  readonly revoked: RevokedKeys;
  readonly notices: NoticeListener;
  /** Undefined if the database cannot be shared by several hosts. */
  readonly group: GroupExchange | undefined;
}

/** What services need from the program that starts them. */
interface ServiceParts {
  readonly log: Log;
  readonly cells: LimitCells;
  readonly closers: Closers;
  /** Told about each change. For keys, it is told just before they become active here. */
  readonly serving: { publish(change: Change): void };
}

/** @throws StartError, StoreError */
export async function openServices(options: ServerOptions, parts: ServiceParts): Promise<Services> {
  const { closers } = parts;
  const releases = await openReleases(options, parts);
  const file = new RevokedFile(join(options.dataDir, DATA_FOLDER.revoked));
  takeEarlierRevocations(options.dataDir, file, parts.log);
  openRevoked(file);
  const store: Store = await openStore(options.databaseUrl, {
    mayBeUnreachable: true,
    revoked: file,
    onOtherFile: () => parts.log.error("database-replaced", { database: store.label }),
    onUnreadable: (row) => parts.log.error("row-unreadable", { ...row }),
  });
  closers.push(() => store.close());
  const keyring = new Keyring();
  const keys = new AssignedCells(parts.cells, keyring);
  let isReadOnly = false;
  let warn = () => {}; // until keys, overrides and rulesets are loaded
  const revoked = new RevokedKeys({
    file,
    store,
    keyring,
    log: parts.log,
    onChange: () => {
      parts.serving.publish("keys");
      warn();
    },
    checkMs: options.checkMs,
  });
  closers.push(() => revoked.stop());
  const clock = new SteadyClock({ onJump: (aheadMs) => logClock(parts.log, aheadMs) });
  const usage = new UsageRecorder({
    store: store.usage,
    host: hostId(options),
    now: () => clock.at(Date.now()),
    collect: (sink) => keys.collect(sink, clock.at(Date.now())),
    onStored: (keyId, stored) => keys.takeForeign(keyId, stored, clock.at(Date.now())),
    onFlush: watchUsage(options, keyring, parts, (isNow) => {
      isReadOnly = isNow;
      warn();
    }),
  });
  const keyLoader = await startKeyLoader(options, { store, keyring, keys, revoked }, parts, {
    onQuota: (keyId) => usage.readAgain(keyId),
    onChecked: () => warn(),
  });
  closers.push(async () => {
    const { lost } = await usage.stop();
    if (lost > 0) parts.log.error("usage-lost", { lookups: lost, why: usage.state.lastError });
  });
  const decisions = startDecisions(options, store, parts);
  if (options.decisions && options.memoryKey === undefined && store.tables.isShared)
    parts.log.info("memory-not-shared", { hint: "set INKLING_MEMORY_KEY to the same value on every host" });
  startRetention(options, store, parts);
  const group = store.tables.isShared
    ? startGroup(options, { store, keyring, keys, clock }, parts)
    : undefined;
  const overrides = liveOverrides({
    store: store.overrides,
    dataDir: options.dataDir,
    ...(options.checkMs !== undefined && { refreshMs: options.checkMs }),
    onEvent: (event) => {
      logOverrides(parts.log, event, store.label);
      warn();
      if (event.type === "loaded") parts.serving.publish("overrides");
    },
  });
  closers.push(() => overrides.stop());
  const rulesets = liveRulesets({
    store: store.rulesets,
    dataDir: options.dataDir,
    ...(options.checkMs !== undefined && { refreshMs: options.checkMs }),
    onEvent: (event) => {
      logRulesets(parts.log, event);
      if (event.type === "refused")
        store.tables.unreadable.note("rulesets", String(event.ruleset), event.reason);
      if (event.type === "accepted") store.tables.unreadable.forget("rulesets");
      warn();
      if (event.type === "loaded") parts.serving.publish("rulesets");
    },
  });
  closers.push(() => rulesets.stop());
  await Promise.all([usage.start(), overrides.start(), rulesets.start(), group?.start()]);
  warn = () => {
    const warnings = databaseWarnings({ store, keyLoader, overrides, rulesets, keyring, isReadOnly });
    if (Bun.deepEquals(keyring.warnings, warnings)) return;
    keyring.warnings = warnings;
    parts.serving.publish("keys");
  };
  warn();
  revoked.follow(keyLoader);
  const noticed = { keys: keyLoader, overrides, rulesets };
  const notices = store.listen({
    onNotice: (kind) => void noticed[kind].refresh(),
    onState: (state, reason) => {
      if (state === "listening") parts.log.info("notices-listening");
      else
        parts.log.error("notices-missing", { reason, effect: "the server checks for changes once a second" });
    },
  });
  closers.push(() => notices.stop());
  void notices.start(); // not awaited: answers do not depend on it
  void storeEarlierEntries(store.overrides, options.dataDir, parts.log); // not awaited: answers do not depend on it
  return {
    log: parts.log,
    releases,
    store,
    keyring,
    keyLoader,
    keys,
    usage,
    clock,
    decisions,
    overrides,
    rulesets,
    revoked,
    notices,
    group,
  };
}

async function openReleases(
  { dataDir, allowMissing }: ServerOptions,
  { log, closers, serving }: ServiceParts,
): Promise<Releases> {
  const releases = new Releases({
    dataDir,
    now: Date.now,
    verify: verifyInThread,
    onEvent: (event) => {
      logRelease(log, event);
      if (event.type === "serving") logMissing(log, allowMissing, releases.current);
      serving.publish("release");
    },
  });
  closers.push(() => releases.stop());
  await releases.start();
  return releases;
}

async function startKeyLoader(
  { apiKey: chosen, dataDir, maxStaleSeconds, checkMs }: ServerOptions,
  { store, keyring, keys, revoked }: Pick<Services, "store" | "keyring" | "keys" | "revoked">,
  { log, closers, serving }: ServiceParts,
  { onQuota, onChecked }: { readonly onQuota: (keyId: KeyId) => void; readonly onChecked: () => void },
): Promise<LiveKeys> {
  let refused: KeyInputError | undefined;
  const adopt = async (token: string) => {
    try {
      await adoptKey(store, token);
    } catch (error) {
      if (error instanceof KeyInputError) refused = error;
      throw error;
    }
  };
  const loader = liveKeys({
    store,
    keyring,
    review: revoked.review,
    activate: (update) => {
      const { refused, state } = keyring;
      for (const { key } of state.loaded ? recordsOf(update.lines) : [])
        if (key.quota !== undefined && key.quota !== keyring.find(key.id)?.quota) onQuota(key.id);
      keys.take(update);
      revoked.apply();
      void revoked.logAdded(refused); // not awaited: it waits for the next update
      serving.publish("keys");
    },
    copy: keyCopy(
      {
        path: join(dataDir, DATA_FOLDER.keys),
        now: Date.now,
        onFailure: (reason) => log.error("keys-copy-failed", { reason }),
      },
      () => keyring.table,
    ),
    onCopy: (count, ageMs) =>
      log.error("keys-from-copy", { keys: count, age_seconds: Math.round(ageMs / 1_000) }),
    onStoreChange: (error) => {
      if (error === undefined) {
        log.info("database-back");
      } else if (error instanceof EmptyDatabaseError) {
        const fields = { database: store.label, keys_in_copy: error.known, hint: EMPTY_HINT };
        log.error("database-empty", fields);
        if (chosen !== undefined) {
          const effect = "INKLING_API_KEY is accepted only if the copy has it";
          log.error("chosen-key-not-created", { effect, hint: EMPTY_HINT });
        }
      } else {
        const hint = error instanceof StoreError ? error.hint : undefined;
        log.error("database-unreachable", { reason: error.message, hint });
      }
      serving.publish("keys");
    },
    onChecked,
    ...(checkMs !== undefined && { refreshMs: checkMs }),
    ...(maxStaleSeconds > 0 && { maxStaleMs: maxStaleSeconds * 1_000 }),
    onStale: (isStale) => {
      if (isStale) log.error("keys-stale", { seconds: maxStaleSeconds, effect: "every key is refused" });
      else log.info("keys-fresh");
      serving.publish("keys");
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

/** A smaller difference between this host's clock and the database's does not matter for the day of a quota. */
const CLOCK_SLACK_MS = 1_000;

/** Connects the limits of this host with those of the other hosts on the same database. */
function startGroup(
  options: ServerOptions,
  { store, keyring, keys, clock }: Pick<Services, "store" | "keyring" | "keys" | "clock">,
  { log, cells, closers, serving }: ServiceParts,
): GroupExchange {
  const counts = new GroupCounts(cells, (keyId) => {
    const [key, cell] = [keyring.find(keyId), keyring.cells.get(keyId)];
    if (key === undefined || cell === undefined) return undefined;
    const { rate, burst } = limitsOf(key, options);
    const each = eachOf(rate);
    return each === 0 ? undefined : { cell, each, whole: burst * each };
  });
  keys.onFree = (keyId) => counts.drop(keyId);
  const onAnswer = ({ now, lowQuotas }: GroupAnswer) => {
    const offsetMs = clock.at(Date.now()) + clock.offsetMs - now;
    if (Math.abs(offsetMs - clock.offsetMs) > CLOCK_SLACK_MS) {
      clock.offsetMs = offsetMs;
      serving.publish("clock");
    }
    for (const [keyId, used] of lowQuotas) keys.takeStored(keyId, used, now);
  };
  const group = new GroupExchange({
    counts,
    source: new GroupTables(store.tables, hostId(options)),
    takeUsed: () => keys.takeUsed(),
    onAnswer,
    onUnreachable: (reason) => {
      if (reason === undefined) log.info("group-back");
      else
        log.error("group-unreachable", {
          reason,
          effect: "this host uses only its own count for each key's rate",
        });
    },
  });
  closers.push(() => group.stop());
  return group;
}

/** Returns an id that survives restarts and differs between servers that share a data folder. */
function hostId({ dataDir, port }: Pick<ServerSettings, "dataDir" | "port">): string {
  try {
    return `${serverId(dataDir)}@${hostname()}:${port}`;
  } catch {
    return crypto.randomUUID(); // the folder is not writable
  }
}

/**
 * Logs when usage waits because it cannot be stored, and when it is stored again. If usage waits too long, this server
 * reports that it is not ready.
 */
function watchUsage(
  { maxUnstoredSeconds }: Pick<ServerSettings, "maxUnstoredSeconds">,
  keyring: Keyring,
  { log, serving }: ServiceParts,
  onReadOnly: (isReadOnly: boolean) => void,
): (state: UsageState) => void {
  let isReported = false;
  let wasReadOnly = false;
  return ({ failuresInRow, lastError: reason, isReadOnly, pending, oldestMs }) => {
    if (failuresInRow > 0 && pending > 0 && !isReported) {
      log.error("usage-not-stored", { reason, lookups: pending });
      isReported = true;
    } else if (failuresInRow === 0 && isReported) {
      log.info("usage-stored-again");
      isReported = false;
    }
    if (isReadOnly !== wasReadOnly) onReadOnly(isReadOnly);
    wasReadOnly = isReadOnly;
    const isLate = maxUnstoredSeconds > 0 && oldestMs > maxUnstoredSeconds * 1_000;
    if (isLate === (keyring.unready !== undefined)) return;
    keyring.unready = isLate ? `usage could not be stored for more than ${maxUnstoredSeconds} s` : undefined;
    serving.publish("keys");
  };
}

function logClock(log: Log, aheadMs: number): void {
  if (aheadMs === 0) log.info("clock-steady", { effect: "quotas and usage follow the clock again" });
  else {
    const seconds = Math.round(aheadMs / 1_000);
    const effect = "quotas and usage keep the date from before the jump, for at most an hour";
    log.error("clock-jumped", { seconds, effect, hint: "check the time synchronization of this host" });
  }
}

function logRelease(log: Log, event: ReleaseEvent): void {
  const { type, ...fields } = event;
  if (type === "refused" || type === "none") log.error(`release-${type}`, fields);
  else log.info(`release-${type}`, fields);
}

/** Logs what data a release lacks when it comes into use, because production servers refuse lookups without data. */
function logMissing(log: Log, allowMissing: boolean, release: NamedRelease | undefined): void {
  const missing = release?.manifest.missing ?? [];
  if (!allowMissing && missing.length > 0) {
    log.info("answers-missing", { missing, effect: "lookups that need them return 503 DATA_NOT_LOADED" });
  }
}

function logRulesets(log: Log, event: RulesetEvent): void {
  const { type, ...fields } = event;
  if (type === "loaded") log.info("ruleset-loaded", fields);
  else if (type === "refused") log.error("ruleset-refused", { ...fields, hint: RULESET_HINT });
  else if (type === "copy-failed") log.error("ruleset-copy-failed", fields);
}

function logOverrides(log: Log, event: OverrideEvent, database: string): void {
  const { type, ...fields } = event;
  if (type === "copy-failed") log.error("overrides-copy-failed", fields);
  else if (type === "database-empty") log.error(type, { database, ...fields, hint: EMPTY_HINT });
  else log.info("overrides-loaded", fields);
}
