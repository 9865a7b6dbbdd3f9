// build.ts: `inkling build`: the builder of a group: builds as feeds change, without serving, and publishes to a channel.

import { settingsReadBy } from "@inkling/contract";
import { currentName, messageOf, Poller, ReleaseError } from "@inkling/release-store";
import { ChannelError, PublishStopped } from "@inkling/release-store/channel";
import type { HostEntry } from "@inkling/server";
import { type Command, Option } from "commander";
import { channelOf, newestRuleset, openPublisher, renewIfDue, signingKey } from "../runtime/channel.ts";
import { addAction, type Context } from "../runtime/command.ts";
import { ensureWritable } from "../runtime/data-folder.ts";
import { keepFresh } from "../runtime/keep-fresh.ts";
import { LiveSettings, recordStart } from "../runtime/live-settings.ts";
import { percentOf } from "../runtime/rollout.ts";
import { auditedBy } from "../runtime/store.ts";
import { CliError } from "../terminal/errors.ts";

/** Finding that there is nothing to publish reads the statement. */
const PUBLISH_MS = 10_000;

export function addBuild(program: Command, context: Context): void {
  const command = program
    .command("build")
    .description("build releases as feeds change, without serving")
    .option("--publish", "publish each release to the channel, and renew it once a day")
    .addOption(
      new Option("--percent <percent>", "share of the servers that take a new release").default("100", "100"),
    )
    .addHelpText(
      "after",
      `
For the one host that builds for others. JSON logs on standard error. \`inkling data update\` builds once.

Examples:
  inkling build --publish --channel s3://inkling-releases/prod
  inkling build --publish --percent 10      then \`inkling channel promote\``,
    );
  addAction(command, context, settingsReadBy("builder", "publisher"), (call) => {
    const { flags, read } = call;
    const percent = flags.publish === true ? percentOf(flags.percent) : undefined;
    return keepBuilding(new LiveSettings(call, read, "build"), context, percent);
  });
}

/** @param percent share of the servers that take a new release; nothing is published without */
async function keepBuilding(
  live: LiveSettings,
  context: Context,
  percent: number | undefined,
): Promise<void> {
  const { terminal, stopper } = context;
  const settings = live.current;
  const { dataDir } = settings;
  if (percent !== undefined) {
    channelOf(settings);
    signingKey(settings); // missing settings end the command now, not after the first build
  }
  ensureWritable(dataDir);
  const line = (level: string, event: string, fields: object = {}) =>
    terminal.err(`${JSON.stringify({ time: new Date().toISOString(), level, event, ...fields })}\n`);
  const log = {
    info: (event: string, fields?: object) => line("info", event, fields),
    error: (event: string, fields?: object) => line("error", event, fields),
  };
  const trail = {
    log,
    audited: <T>(entry: HostEntry, change: () => Promise<T>) =>
      auditedBy(settings, entry, change, (reason) =>
        log.error("audit-waits", { action: entry.action, subject: entry.subject, reason }),
      ),
  };
  live.reloadOnHangUp(stopper, trail);
  void recordStart(settings, live.role, trail);
  let unread: string | undefined;
  const onUnread = (reason: string) => {
    if (reason !== unread) log.error("channel-warning", { reason }); // looked for every 10 s
    unread = reason;
  };
  const publish = async () => {
    const name = currentName(dataDir);
    if (percent === undefined || name === undefined) return;
    try {
      const publisher = openPublisher(settings, context, {
        onUpload: (path, bytes) => log.info("channel-upload", { path, bytes }),
        onWarning: (reason) => log.error("channel-warning", { reason }),
      });
      const ruleset = await newestRuleset(settings, onUnread);
      const done = await renewIfDue(publisher, dataDir, name, percent, ruleset);
      if (done === undefined) return;
      const { channel, version, release } = done;
      log.info("channel-published", { channel, version, release: release.name, percent: done.percent });
    } catch (error) {
      if (error instanceof PublishStopped) return;
      // Tried again; a build that failed must not hide it, nor the other way round.
      if (!stopper.signal.aborted) log.error("channel-not-published", describeFault(error));
    }
  };
  // Publishing checks by itself: builds that fail for days must not let the channel expire.
  const publishing = new Poller({ check: publish, waitMs: () => PUBLISH_MS });
  await Promise.all([
    keepFresh(live, log, stopper.signal, { firstMs: 0 }),
    publishing.runUntil(stopper.signal),
  ]);
}

/** For the log: one that was not expected with its stack. */
function describeFault(error: unknown): object {
  if (error instanceof ChannelError || error instanceof ReleaseError || error instanceof CliError) {
    return { reason: error.message, hint: error.hint };
  }
  return { reason: messageOf(error), stack: error instanceof Error ? error.stack : undefined };
}
