// serve.ts: `inkling serve` runs the production server, which writes JSON logs to standard error.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Settings, settingsReadBy } from "@inkling/contract";
import { DATA_FOLDER } from "@inkling/data";
import type { RunningServer } from "@inkling/server";
import { loadOnce } from "@inkling/server/load-once";
import type { Command } from "commander";
import { shown } from "../config/settings.ts";
import { addAction, type Context } from "../runtime/command.ts";
import { ensureWritable, forgetChannelReport, whyReadOnly } from "../runtime/data-folder.ts";
import { probeListeners, serveUntilStopped } from "../runtime/run-server.ts";
import { LiveLine } from "../terminal/progress.ts";
import { formatBytes } from "../terminal/terminal.ts";

/**
 * Minimum wait before the first update, in milliseconds, if there is a release to serve. A random wait of up to the
 * same length is added, so that servers that start together do not fetch together.
 */
const FIRST_UPDATE_MS = 60_000;

export function addServe(program: Command, context: Context): void {
  const command = program
    .command("serve")
    .description("serve the API in production")
    .addHelpText(
      "after",
      `
The server fetches each feed in the background on its own schedule. INKLING_OFFLINE=1 turns that off; INKLING_MIRROR
reads feeds from a folder instead. On SIGTERM or SIGINT, the server finishes open requests and exits with code 0. With
--drain-seconds, it first accepts requests for that long while /readyz returns 503. A second signal stops it immediately.

Examples:
  inkling data update && inkling serve
  inkling serve --host 0.0.0.0 --trusted-proxies 10.0.0.0/8
  INKLING_DATABASE_URL=postgres://inkling:…@db/inkling inkling serve
  inkling serve --channel https://releases.example/inkling      follows another host's releases and builds nothing`,
    );
  addAction(command, context, settingsReadBy("primary", "worker", "builder", "follower"), ({ settings }) =>
    settings.channel === undefined ? serve(settings, context) : serveChannel(settings, context),
  );
}

/** Code that the first answer does not need is loaded after startup or on first use. */
async function serve(settings: Settings, context: Context): Promise<void> {
  const { stopper } = context;
  const { dataDir } = settings;
  const readOnly = whyReadOnly(settings);
  probeListeners(settings);
  if (readOnly === undefined) forgetChannelReport(dataDir); // otherwise, whatever puts releases there owns the report
  const upkeep = loadOnce(async () => {
    const { dataActions, FreshData, lowPriorityBuild } = await import("../runtime/keep-fresh.ts");
    const firstMs = FIRST_UPDATE_MS * (1 + Math.random());
    const fresh = new FreshData(dataDir, lowPriorityBuild(settings), firstMs);
    return { fresh, actions: dataActions(fresh, settings) };
  });
  const actions = async () => (await upkeep()).actions;
  await serveUntilStopped(settings, context, actions, async (running) => {
    const { log } = running;
    if (!running.hasRelease) {
      const hint = "run `inkling data status` to see why; `inkling data update` builds one";
      log.error("no-release", { data_dir: dataDir, effect: "lookups return 503", hint });
    }
    if (readOnly !== undefined) {
      const effect = "this server does not update data; it follows releases that others put into the folder";
      log.info("data-folder-read-only", { reason: readOnly, effect });
      return;
    }
    await (await upkeep()).fresh.keep(running, stopper.signal);
  });
}

/** Releases come from the channel, so the server builds nothing and fetches no feed. */
async function serveChannel(settings: Settings, context: Context): Promise<void> {
  const { stopper, terminal, env } = context;
  const { openFollower, withChannel } = await import("../runtime/channel.ts");
  const { keepFollowing } = await import("../runtime/follow-channel.ts");
  ensureWritable(settings.dataDir);
  let server: RunningServer | undefined;
  /** Shows the download of the first release. Later downloads are in the log. */
  let line: LiveLine | undefined;
  const follower = await withChannel(async () =>
    openFollower(settings, env, {
      onProgress: (path, done, total) =>
        line?.show(() => {
          const name = path.slice(0, "segments/".length + 12);
          return `  ${name}… ${Math.floor((done / total) * 100)}% of ${formatBytes(total)}`;
        }),
      server: () => server,
    }),
  );
  probeListeners(settings);
  if (!existsSync(join(settings.dataDir, DATA_FOLDER.current))) {
    terminal.err(`Getting the first release from ${shown("channel", settings)}.\n`);
    line = new LiveLine(terminal);
    try {
      await withChannel(() => follower.follow(stopper.signal));
    } catch (error) {
      if (stopper.signal.aborted) return;
      throw error;
    } finally {
      line.clear();
      line = undefined;
    }
  }
  await serveUntilStopped(settings, context, undefined, (running) => {
    server = running;
    return keepFollowing(follower, settings, { env, signal: stopper.signal }, running);
  });
}
