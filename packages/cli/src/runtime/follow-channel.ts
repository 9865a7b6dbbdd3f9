// follow-channel.ts: follows the channel while Inkling serves.
//
// Each fault is logged once, and the server continues to serve.

import type { Settings } from "@inkling/contract";
import {
  backoffMs,
  type ChannelReport,
  messageOf,
  Poller,
  readChannelReport,
  recordFailedBuild,
  writeChannelReport,
} from "@inkling/data";
import {
  type BuildResult,
  CHANNEL_POLL_MS,
  ChannelError,
  type ChannelFollower,
  failureOf,
  openReader,
  readBuildResult,
} from "@inkling/data/channel";
import type { RunningServer } from "@inkling/server";
import { channelOf, trustedKeys } from "./channel.ts";
import type { Context } from "./command.ts";

const LONGEST_POLL_MS = 60_000;
/**
 * Milliseconds between two writes of an unchanged report. A report states, to the minute, when the channel was last
 * followed.
 */
const REPORT_MS = 60_000;
/** Milliseconds between two checks of the builder's last result. */
const BUILDER_MS = 60_000;

/** Follows the channel until `signal` is aborted. */
export async function keepFollowing(
  follower: ChannelFollower,
  settings: Settings,
  { env, signal }: { env: Context["env"]; signal: AbortSignal },
  { log }: Pick<RunningServer, "log">,
): Promise<void> {
  const { channel } = channelOf(settings);
  const known = readChannelReport(settings.dataDir);
  const none = { followed_at: null, version: null, release: null, expires_at: null };
  let report: ChannelReport = { ...(known?.channel === channel ? known : { channel, ...none }), fault: null };
  let writtenAt = Number.NEGATIVE_INFINITY;
  let failures = 0;
  const record = (next: ChannelReport) => {
    const { version, release, fault } = report;
    const isSame = next.version === version && next.release === release && next.fault?.kind === fault?.kind;
    report = next;
    if (isSame && performance.now() - writtenAt < REPORT_MS) return;
    try {
      writeChannelReport(settings.dataDir, report);
      writtenAt = performance.now();
    } catch {
      // On a full disk, the server still follows the channel, and the log shows what happens.
    }
  };
  const check = async () => {
    try {
      const { statement, release, isNew, bytes } = await follower.follow(signal);
      const { version, expires_at } = statement;
      failures = 0;
      if (report.fault !== null) log.info("channel-back", { channel, was: report.fault.kind });
      record({ channel, followed_at: now(), version, release, expires_at, fault: null });
      if (isNew) log.info("channel-followed", { channel, version, release, bytes });
    } catch (error) {
      failures++;
      if (signal.aborted) return;
      if (!(error instanceof ChannelError)) log.error("channel-failed", { stack: (error as Error).stack });
      const { fault: kind, message: reason, remedy: hint } = asFault(error);
      const before = report.fault?.kind === kind ? report.fault : undefined;
      if (before === undefined) log.error("channel-refused", { channel, fault: kind, reason, hint });
      record({ ...report, fault: { kind, reason, since: before?.since ?? now() } });
    }
  };
  // Servers that start together poll at different times.
  const waitMs = () => backoffMs(CHANNEL_POLL_MS, LONGEST_POLL_MS, failures) * (1 + Math.random() / 5);
  const following = new Poller({ check, waitMs });
  await Promise.all([following.runUntil(signal), watchBuilder(settings, env, log, signal)]);
}

function asFault(error: unknown): ChannelError {
  return error instanceof ChannelError ? error : new ChannelError("unreachable", messageOf(error));
}

const now = () => new Date().toISOString();

/** Records whether the channel's builder fails, in the file that a host that builds uses for its own failure. */
function watchBuilder(
  settings: Settings,
  env: Context["env"],
  log: RunningServer["log"],
  signal: AbortSignal,
): Promise<void> {
  const { base, channel } = channelOf(settings);
  /** Kept while the store is unreachable, so that a builder which stopped is noticed anyway. */
  let last: BuildResult | undefined;
  let warned: string | undefined;
  const check = async () => {
    try {
      const store = openReader(base, env);
      last = (await readBuildResult(store, channel, trustedKeys(settings), signal)) ?? last;
      warned = undefined;
    } catch (error) {
      const reason = `the builder's last result: ${messageOf(error)}`;
      if (!signal.aborted && reason !== warned) log.error("channel-warning", { reason });
      warned = reason;
    }
    if (last === undefined) return;
    try {
      recordFailedBuild(settings.dataDir, failureOf(last, Date.now()));
    } catch {
      // On a full disk, the server still follows the channel, and the log shows what happens.
    }
  };
  return new Poller({ check, waitMs: () => BUILDER_MS }).runUntil(signal);
}
