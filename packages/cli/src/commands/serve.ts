// serve.ts: `inkling serve`: the production server. JSON logs on standard error, and nothing else.

import type { Command } from "commander";
import { ensureWritable } from "../build.ts";
import { type Context, settingsFor, withSettings } from "../context.ts";
import { dataActions, Updates } from "../data-actions.ts";
import { keepSettingsFresh } from "../keep-fresh.ts";
import { requireRelease } from "../releases.ts";
import { probeListeners, runServer, serverOptions } from "../run-server.ts";
import type { SettingName } from "../settings.ts";

/** A server that has just started has other things to do first; chance doubles it, for servers that start together. */
const FIRST_UPDATE_MS = 60_000;

export const SERVER_SETTINGS: readonly SettingName[] = [
  "host",
  "port",
  "adminHost",
  "adminPort",
  "dataDir",
  "mirror",
  "offline",
  "rate",
  "burst",
  "trustedProxies",
  "maxConnections",
  "workers",
  "dnsServers",
  "logLevel",
];

export function addServe(program: Command, context: Context): void {
  const command = program
    .command("serve")
    .description("serve the API in production: needs a release, answers 503 for data that is not there")
    .addHelpText(
      "after",
      `
Feeds are asked for in the background, each at its own pace; INKLING_OFFLINE=1 never asks, INKLING_MIRROR names a folder instead.
SIGTERM and SIGINT let requests that are under way finish, then the exit code is 0.

Examples:
  inkling data update && inkling serve
  inkling serve --host 0.0.0.0 --trusted-proxies 10.0.0.0/8
  INKLING_DATABASE_URL=postgres://inkling:…@db/inkling inkling serve`,
    )
    .action(async (flags) => {
      const { settings } = settingsFor(context, flags, SERVER_SETTINGS);
      requireRelease(settings.dataDir);
      ensureWritable(settings.dataDir);
      probeListeners(settings);
      const updates = new Updates();
      const actions = dataActions(settings, updates);
      const server = await runServer({ ...serverOptions(settings, "serve", context.version), actions });
      const { signal } = context.stopper;
      const fresh = keepSettingsFresh(
        settings,
        server.running.log,
        signal,
        FIRST_UPDATE_MS * (1 + Math.random()),
        updates,
      );
      await server.untilStopped(signal);
      await fresh;
    });
  withSettings(command, SERVER_SETTINGS);
}
