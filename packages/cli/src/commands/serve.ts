// serve.ts: `inkling serve`: the production server. JSON logs on standard error, and nothing else.

import type { Command } from "commander";
import { ensureWritable } from "../build.ts";
import { type Context, settingsFor, withSettings } from "../context.ts";
import { openCurrent, openServable } from "../releases.ts";
import { probeListeners, runServer, serverOptions } from "../run-server.ts";
import type { SettingName } from "../settings.ts";

export const SERVER_SETTINGS: readonly SettingName[] = [
  "host",
  "port",
  "adminHost",
  "adminPort",
  "dataDir",
  "rate",
  "burst",
  "trustedProxies",
  "maxConnections",
  "logLevel",
];

export function addServe(program: Command, context: Context): void {
  const command = program
    .command("serve")
    .description("serve the API in production: needs a release, answers 503 for data that is not there")
    .addHelpText(
      "after",
      `
SIGTERM and SIGINT let requests that are under way finish, then the exit code is 0.

Examples:
  inkling data update && inkling serve
  inkling serve --host 0.0.0.0 --trusted-proxies 10.0.0.0/8
  INKLING_DATABASE_URL=postgres://inkling:…@db/inkling inkling serve`,
    )
    .action(async (flags) => {
      const { settings } = settingsFor(context, flags, SERVER_SETTINGS);
      openCurrent(settings.dataDir);
      ensureWritable(settings.dataDir);
      probeListeners(settings);
      openServable(settings.dataDir);
      const server = await runServer(serverOptions(settings, "serve", context.version));
      await server.untilStopped(context.stopper.signal);
    });
  withSettings(command, SERVER_SETTINGS);
}
