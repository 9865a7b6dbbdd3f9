// follow-channel.ts: follows the channel while Inkling serves.
//
// Each fault is logged once, and the server continues to serve.

import type { Settings } from "@inkling/contract";
import {
  type ChannelReport,
  Live,
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
  type Followed,
  failureOf,
  openReader,
  readBuildResult,
} from "@inkling/data/channel";
import type { RunningServer } from "@inkling/server";
import { channelOf, trustedKeys } from "./channel.ts";
import type { Context } from "./command.ts";

const LONGEST_POLL_MS = 60_000;
/** Milliseconds between two writes of an unchanged report, which states when the channel was last followed. */
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
  const reports = new Reports(settings.dataDir, channel);
  const followed = new Live<Followed | undefined>({
    initial: undefined,
    source: { load: async () => ({ version: "", value: await follower.follow(signal) }) },
    onApplied: (value) => {
      if (value === undefined) return;
      if (reports.fault !== undefined) log.info("channel-back", { channel, was: reports.fault });
      reports.followed(value);
      const { statement, release, isNew, bytes } = value;
      if (isNew) log.info("channel-followed", { channel, version: statement.version, release, bytes });
    },
    onChecked: (error) => {
      if (error === undefined || signal.aborted) return;
      const isExpected = error instanceof ChannelError;
      if (!isExpected) log.error("channel-failed", { stack: error.stack });
      const failure = isExpected ? error : new ChannelError("unreachable", messageOf(error));
      const { fault, message, remedy } = failure;
      if (reports.fault !== fault)
        log.error("channel-refused", { channel, fault, reason: message, hint: remedy });
      reports.failed(fault, message);
    },
    pollMs: CHANNEL_POLL_MS * (1 + Math.random() / 5), // servers that start together then poll at different times
    longestWaitMs: LONGEST_POLL_MS,
  });
  const watching = new Poller({
    check: builderCheck(settings, env, signal, log),
    waitMs: () => BUILDER_MS,
  });
  await Promise.all([followed.runUntil(signal), watching.runUntil(signal)]);
}

/** Writes the report whenever something changes, and once a minute. */
class Reports {
  private readonly dataDir: string;
  private report: ChannelReport;
  private writtenAt = Number.NEGATIVE_INFINITY;

  constructor(dataDir: string, channel: string) {
    this.dataDir = dataDir;
    const known = readChannelReport(dataDir);
    const none = { followed_at: null, version: null, release: null, expires_at: null };
    this.report = { ...(known?.channel === channel ? known : { channel, ...none }), fault: null };
  }

  get fault(): string | undefined {
    return this.report.fault?.kind;
  }

  followed({ statement, release }: Followed): void {
    const { version, expires_at } = statement;
    const isSame = this.report.version === version && this.report.release === release && !this.report.fault;
    this.report = { ...this.report, followed_at: now(), version, expires_at, release, fault: null };
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
      // On a full disk, the server still follows the channel, and the log shows what happens.
    }
  }
}

const now = () => new Date().toISOString();

/**
 * Returns a check that records whether the channel's builder fails, in the file that a host that builds uses for its
 * own failure.
 */
function builderCheck(
  settings: Settings,
  env: Context["env"],
  signal: AbortSignal,
  log: RunningServer["log"],
): () => Promise<void> {
  const { base, channel } = channelOf(settings);
  /** Kept while the store is unreachable, so that a builder which stopped is noticed anyway. */
  let last: BuildResult | undefined;
  let warned: string | undefined;
  return async () => {
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
}
