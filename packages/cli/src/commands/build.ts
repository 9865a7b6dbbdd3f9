// build.ts: `inkling build` builds releases for a group of servers. It builds when feeds change and publishes to a
// channel, but serves no requests.

import { type Settings, settingsReadBy } from "@inkling/contract";
import { currentName, messageOf, Poller, ReleaseError, readFeedsReport } from "@inkling/data";
import { ChannelError, openStore, writeBuildResult } from "@inkling/data/channel";
import type { Command } from "commander";
import { channelOf, newestRuleset, openPublisher, renewIfDue, signingKey } from "../runtime/channel.ts";
import { addAction, type Context } from "../runtime/command.ts";
import { ensureWritable, forgetChannelReport } from "../runtime/data-folder.ts";
import { FreshData, lowPriorityBuild } from "../runtime/keep-fresh.ts";
import { recordStart } from "../runtime/recorded-settings.ts";
import { audited } from "../runtime/store.ts";
import { CliError } from "../terminal/errors.ts";

/**
 * Milliseconds between two checks for a new release or ruleset. If there is none, a check reads only the newest ruleset
 * and the channel's statement.
 */
const PUBLISH_MS = 10_000;

export function addBuild(program: Command, context: Context): void {
  const command = program
    .command("build")
    .description("build releases as feeds change, without serving")
    .option("--publish", "publish each release to the channel, and renew the channel once a day")
    .addHelpText(
      "after",
      `
Run this on the one host that builds releases for others. It writes JSON logs to standard error.
To build only once, run \`inkling data update\`.

Examples:
  inkling build --publish --channel s3://inkling-releases/prod
  inkling build --publish --channel s3://inkling-releases/prod#canary
                                            then \`inkling channel publish --to stable\``,
    );
  addAction(command, context, settingsReadBy("builder", "publisher"), ({ settings, flags }) =>
    keepBuilding(settings, context, flags.publish === true),
  );
}

async function keepBuilding(settings: Settings, context: Context, isPublisher: boolean): Promise<void> {
  const { terminal, stopper } = context;
  const line = (level: string, event: string, fields: object = {}) =>
    terminal.err(`${JSON.stringify({ time: new Date().toISOString(), level, event, ...fields })}\n`);
  const log = {
    info: (event: string, fields?: object) => line("info", event, fields),
    error: (event: string, fields?: object) => line("error", event, fields),
  };
  const fresh = new FreshData(settings.dataDir, lowPriorityBuild(settings));
  // Missing settings end the command now rather than after the first build.
  const publishing = isPublisher ? publishingOf(settings, context, log, fresh) : undefined;
  ensureWritable(settings.dataDir);
  forgetChannelReport(settings.dataDir);
  void recordStart(settings, "build", {
    log,
    audited: (entry, change) => audited(settings, terminal, entry, change, { isBuild: true }),
  });
  await Promise.all([fresh.keep({ log }, stopper.signal), publishing?.runUntil(stopper.signal)]);
}

/**
 * Publishes releases, rulesets and the results of builds. It has its own checks, because the channel must not expire
 * even if builds fail for days.
 * @throws CliError if a setting is missing
 */
function publishingOf(
  settings: Settings,
  context: Context,
  log: Record<"info" | "error", (event: string, fields: object) => void>,
  fresh: FreshData,
): Poller {
  const { dataDir } = settings;
  const { signal } = context.stopper;
  const { base, channel } = channelOf(settings);
  const key = signingKey(settings);
  let warned: string | undefined;
  const warnOnce = (reason: string) => {
    if (reason !== warned) log.error("channel-warning", { reason }); // checked every 10 s, but logged once
    warned = reason;
  };
  const publish = async () => {
    const name = currentName(dataDir);
    if (name === undefined) return;
    try {
      const publisher = openPublisher(settings, context, {
        onUpload: (path, bytes) => log.info("channel-upload", { path, bytes }),
        onWarning: (reason) => log.error("channel-warning", { reason }),
      });
      const ruleset = await newestRuleset(settings, context.terminal, warnOnce);
      const done = await renewIfDue(publisher, dataDir, name, ruleset);
      if (done === undefined) return;
      const { version, release } = done;
      log.info("channel-published", { channel: done.channel, version, release: release.name });
    } catch (error) {
      // The next check retries. A failed build must not hide this fault, nor may this fault hide a failed build.
      if (!signal.aborted) log.error("channel-not-published", describeFault(error));
    }
  };
  let sent: FreshData["schedule"];
  const sendResult = async () => {
    const { schedule } = fresh;
    if (schedule === undefined || schedule === sent) return;
    try {
      const store = openStore(base, context.env);
      if (store === undefined) return; // read only
      const failed = readFeedsReport(dataDir)?.failed ?? null;
      await writeBuildResult(store, channel, key, { ...schedule, failed }, signal);
      sent = schedule;
    } catch (error) {
      if (!signal.aborted) warnOnce(`the build's result was not published: ${messageOf(error)}`); // retried
    }
  };
  const check = async () => {
    await publish();
    await sendResult();
  };
  return new Poller({ check, waitMs: () => PUBLISH_MS });
}

/** Describes a fault for the log. An unexpected error includes its stack. */
function describeFault(error: unknown): object {
  if (error instanceof ChannelError) return { reason: error.message, hint: error.remedy };
  if (error instanceof ReleaseError || error instanceof CliError) {
    return { reason: error.message, hint: error.hint };
  }
  return { reason: messageOf(error), stack: error instanceof Error ? error.stack : undefined };
}
