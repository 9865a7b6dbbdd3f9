// channel.ts: the channel of the settings: publishing to it, and following it while Inkling serves.
//
// out  log events: channel-followed, channel-refused, channel-back; channel-report.json for status and metrics
// err  openPublisher and openFollower: CliError with a hint. A fault of following is logged once, and what is served
//      goes on
//      A report that cannot be sent is logged once, too

import { existsSync, readFileSync } from "node:fs";
import { type Settings, variableName } from "@inkling/contract";
import {
  type ChannelLocation,
  type ChannelReport,
  type HostReport,
  messageOf,
  parseChannel,
  readChannelReport,
  removeReport,
  serverId,
  writeChannelReport,
  writeReport,
} from "@inkling/release-store";
import {
  CHANNEL_POLL_MS,
  ChannelError,
  ChannelFollower,
  type ChannelRuleset,
  type Followed,
  type FollowerOptions,
  type ObjectStore,
  openReader,
  openStore,
  Publisher,
  type PublisherOptions,
  publicKeyOf,
  readPrivateKey,
  type Statement,
} from "@inkling/release-store/channel";
import type { RunningServer } from "@inkling/server";
import { isSharedDatabase } from "@inkling/server/store";
import { verifyInProcess } from "@inkling/server/verify";
import { processEnvironment, workerEnvironment } from "../config/environment.ts";
import { databaseFile, maskUrl } from "../config/settings.ts";
import { CliError, EXIT } from "../terminal/errors.ts";
import type { Context } from "./command.ts";
import { sleepUnlessAborted } from "./keep-fresh.ts";
import { withStore } from "./store.ts";

/** rollout.ts of the channel counts on it. */
const SEND_MS = 60_000;
/** Credentials that may only read are usual. */
const DENIED_MS = 600_000;
const TIMEOUT_MS = 5_000;

export class SentReports {
  private readonly store: ObjectStore;
  private readonly channel: string;
  private readonly log: RunningServer["log"];
  /** What was sent last, or tried to be, without what changes all the time. */
  private state: string | undefined;
  private serverId: string | undefined;
  private nextAt = Number.NEGATIVE_INFINITY;
  private isFailing = false;

  constructor(store: ObjectStore, channel: string, log: RunningServer["log"]) {
    this.store = store;
    this.channel = channel;
    this.log = log;
  }

  async send(report: HostReport, signal: AbortSignal): Promise<void> {
    const { server_id, ready, release, refused, channel: taken } = report;
    const state = JSON.stringify([ready, release?.name, refused, taken]);
    const isNew = state !== this.state && !this.isFailing;
    if (server_id === null || (!isNew && performance.now() < this.nextAt)) return;
    this.nextAt = performance.now() + SEND_MS;
    this.state = state;
    this.serverId = server_id;
    try {
      const late = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
      await writeReport(this.store, this.channel, { ...report, server_id }, late);
      this.isFailing = false;
    } catch (error) {
      if (!signal.aborted) this.fail(error);
    }
  }

  /** This server stops in order; otherwise it would count as silent. */
  async remove(): Promise<void> {
    const { store, channel, serverId } = this;
    if (serverId === undefined) return;
    // Who may not remove it could not send it either; an unreachable store has been logged.
    await removeReport(store, channel, serverId, AbortSignal.timeout(TIMEOUT_MS)).catch(() => {});
  }

  private fail(error: unknown): void {
    const isDenied = error instanceof ChannelError && error.fault === "denied";
    if (isDenied) this.nextAt = performance.now() + DENIED_MS;
    if (this.isFailing) return;
    this.isFailing = true;
    const effect = "promotions do not count this server";
    this.log.info("channel-not-reported", { channel: this.channel, reason: messageOf(error), effect });
  }
}

const LONGEST_POLL_MS = 60_000;
/** The report says when the channel was last followed, to the minute. */
const REPORT_MS = 60_000;

/** An expected failure of a channel for the terminal. */
export function fromChannel(error: unknown): unknown {
  if (!(error instanceof ChannelError)) return error;
  const hint =
    error.hint ?? (error.fault === "absent" ? "`npx @inkling/cli channel publish` makes it" : undefined);
  return new CliError(`${error.message} (${error.fault})`, hint);
}

export async function withChannel<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw fromChannel(error);
  }
}

export function channelOf({ channel }: Settings): ChannelLocation {
  if (channel === undefined) {
    const hint = `set ${variableName("channel")} to a folder, http(s)://host/path or s3://bucket/prefix`;
    throw new CliError("no channel is set", hint, EXIT.usage);
  }
  return parseChannel(channel)!; // the setting was checked
}

export function signingKey({ channelSigningKey }: Settings) {
  const variable = variableName("channelSigningKey");
  if (channelSigningKey === undefined) {
    const hint = `set ${variable} to the file that \`npx @inkling/cli channel init\` made`;
    throw new CliError("publishing needs the private key of the channel", hint, EXIT.usage);
  }
  try {
    return readPrivateKey(readFileSync(channelSigningKey, "utf8"));
  } catch (error) {
    const hint = "`npx @inkling/cli channel init` makes one";
    throw new CliError(`${channelSigningKey} holds no private key: ${messageOf(error)}`, hint, EXIT.usage);
  }
}

/** The keys that this host trusts: those of the setting, and that of its own private key. */
export function trustedKeys(settings: Settings): readonly string[] {
  if (settings.channelKey.length > 0) return settings.channelKey;
  if (settings.channelSigningKey === undefined) {
    const hint = `set ${variableName("channelKey")} to the public key that \`npx @inkling/cli channel init\` printed`;
    throw new CliError("nothing of a channel can be trusted without its public key", hint, EXIT.usage);
  }
  return [publicKeyOf(signingKey(settings))];
}

/** @param progress shown while an upload is under way */
export function openPublisher(
  settings: Settings,
  { env, stopper }: Pick<Context, "env" | "stopper">,
  progress: Pick<PublisherOptions, "onUpload" | "onWarning" | "onRaise" | "audited">,
): Publisher {
  const { base, channel } = channelOf(settings);
  const store = openStore(base, env);
  if (store === undefined) {
    throw new CliError(
      `${maskUrl(base)} is read only`,
      "publish to the folder or the bucket behind it",
      EXIT.usage,
    );
  }
  return new Publisher({
    store,
    channel,
    privateKey: signingKey(settings),
    trusted: settings.channelKey,
    ...(isSharedDatabase(settings.databaseUrl) && {
      exclusively: databaseLock(settings, progress.onWarning),
    }),
    ruleset: () => newestRuleset(settings, progress.onWarning),
    now: Date.now,
    signal: stopper.signal,
    ...progress,
  });
}

/** The lock of the store alone goes by clocks and by how fast the store is; that of a database does not. */
function databaseLock(
  { databaseUrl }: Settings,
  onWarning: PublisherOptions["onWarning"],
): NonNullable<PublisherOptions["exclusively"]> {
  return async (work) => {
    const { openStore, StoreError } = await import("@inkling/server"); // of publishers alone
    const store = await openStore(databaseUrl, { mayBeAway: true });
    let isBegun = false;
    try {
      return await store.asPublisher((isHeld) => {
        isBegun = true;
        return work(isHeld);
      });
    } catch (error) {
      if (isBegun || !(error instanceof StoreError)) throw error;
      // A database that is away for days must not let the channel expire.
      onWarning?.(`publishing without the lock of the database: ${error.message}`);
      return await work(async () => true);
    } finally {
      await store.close();
    }
  };
}

/** The newest ruleset, for the channel; undefined without a database or a ruleset, and while the database is unreachable. */
export async function newestRuleset(
  settings: Settings,
  onWarning: PublisherOptions["onWarning"],
): Promise<ChannelRuleset | undefined> {
  const file = databaseFile(settings);
  if (file !== undefined && !existsSync(file)) return undefined; // publishing makes none
  const { StoreError } = await import("@inkling/server"); // of publishers alone
  try {
    const { number, text } = await withStore(settings, (store) => store.rulesets.newest());
    return number === 0 ? undefined : { number, text };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    onWarning?.(`the channel keeps its ruleset: ${error.message}`);
    return undefined;
  }
}

const RENEW_MS = 86_400_000;

/**
 * Publishes a release or a ruleset that the channel does not name yet; renews the channel once a day.
 * @returns undefined when there was nothing to do
 */
export async function renewIfDue(
  publisher: Publisher,
  dataDir: string,
  name: string,
  percent: number,
  ruleset: ChannelRuleset | undefined,
): Promise<Statement | undefined> {
  const before = await publisher.read();
  const isSame = before?.release.name === name;
  const isOld = before !== undefined && Date.now() - Date.parse(before.published_at) >= RENEW_MS;
  // After a rollback on the channel, the release that was rolled back from stays away until there is a newer one.
  if (isSame || before?.kept.some((each) => each.name === name)) {
    const isOtherRuleset = ruleset !== undefined && ruleset.number !== before.ruleset?.number;
    return isOld || isOtherRuleset ? publisher.promote(before.percent) : undefined;
  }
  return publisher.publish(dataDir, name, before === undefined ? 100 : percent);
}

/** @param server the one that uses the data folder, once it runs: it verifies then */
export function openFollower(
  settings: Settings,
  env: Context["env"],
  {
    onProgress,
    server,
  }: Pick<FollowerOptions, "onProgress"> & { readonly server?: () => RunningServer | undefined },
): ChannelFollower {
  const { base, channel } = channelOf(settings);
  const { dataDir } = settings;
  return new ChannelFollower({
    store: openReader(base, env),
    channel,
    publicKeys: trustedKeys(settings),
    dataDir,
    serverId: serverId(dataDir),
    verify: (folder, name, known, signal) =>
      server?.()?.verify(name, signal) ??
      verifyInProcess(workerEnvironment(processEnvironment), folder, name, known, signal),
    served: () => server?.()?.report().release?.name,
    now: Date.now,
    ...(onProgress && { onProgress }),
  });
}

/** The wait before the next look, after so many that failed in a row. */
export const pollMs = (failures: number) =>
  Math.min(LONGEST_POLL_MS, CHANNEL_POLL_MS * 2 ** Math.max(0, failures - 1));

/** Follows the channel until `signal` is aborted, and reports beside it how this server does. */
export async function keepFollowing(
  follower: ChannelFollower,
  settings: Settings,
  { env, signal }: { env: Context["env"]; signal: AbortSignal },
  { log, report }: Pick<RunningServer, "log" | "report">,
): Promise<void> {
  const { base, channel } = channelOf(settings);
  const reports = new Reports(settings.dataDir, channel);
  // With PostgreSQL the server's row there has the report.
  const store = isSharedDatabase(settings.databaseUrl) ? undefined : openStore(base, env);
  const sent = store && new SentReports(store, channel, log);
  let failures = 0;
  while (!signal.aborted) {
    try {
      const followed = await follower.follow(signal);
      if (reports.fault !== undefined) log.info("channel-back", { channel, was: reports.fault });
      failures = 0;
      reports.followed(followed);
      const { statement, release, isNew, bytes } = followed;
      if (isNew) log.info("channel-followed", { channel, version: statement.version, release, bytes });
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ChannelError)) log.error("channel-failed", { stack: (error as Error).stack });
      const { fault, message, hint } = asFault(error);
      failures++;
      if (reports.fault !== fault) log.error("channel-refused", { channel, fault, reason: message, hint });
      reports.failed(fault, message);
    }
    await sent?.send(report(), signal);
    await sleepUnlessAborted(pollMs(failures) * (1 + Math.random() / 5), signal);
  }
  await sent?.remove();
}

function asFault(error: unknown): ChannelError {
  return error instanceof ChannelError ? error : new ChannelError("unreachable", messageOf(error));
}

/** Writes the report when something changes, and once a minute. */
class Reports {
  private readonly dataDir: string;
  private report: ChannelReport;
  private writtenAt = Number.NEGATIVE_INFINITY;

  constructor(dataDir: string, channel: string) {
    this.dataDir = dataDir;
    const known = readChannelReport(dataDir);
    const none = { followed_at: null, version: null, release: null, percent: null, expires_at: null };
    this.report = { ...(known?.channel === channel ? known : { channel, ...none }), fault: null };
  }

  get fault(): string | undefined {
    return this.report.fault?.kind;
  }

  followed({ statement, release }: Followed): void {
    const { version, percent, expires_at } = statement;
    const isSame = this.report.version === version && this.report.release === release && !this.report.fault;
    this.report = { ...this.report, followed_at: now(), version, percent, expires_at, release, fault: null };
    this.write(!isSame);
  }

  failed(kind: ChannelError["fault"], reason: string): void {
    const isSame = this.report.fault?.kind === kind;
    const since = isSame ? this.report.fault!.since : now();
    this.report = { ...this.report, fault: { kind, reason, since } };
    this.write(!isSame);
  }

  private write(isDue: boolean): void {
    if (!isDue && performance.now() - this.writtenAt < REPORT_MS) return;
    try {
      writeChannelReport(this.dataDir, this.report);
      this.writtenAt = performance.now();
    } catch {
      // a full disk: following goes on, and the log has what happens
    }
  }
}

const now = () => new Date().toISOString();
