// serve.ts: `inkling serve`: the production server. JSON logs on standard error, and nothing else.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { DATA_FOLDER } from "@inkling/release-store";
import type { Command } from "commander";
import type { SettingName } from "../config/setting-table.ts";
import type { Settings } from "../config/settings.ts";
import { addAction } from "../runtime/command.ts";
import type { Context } from "../runtime/context.ts";
import { probeListeners, runServer, serverOptions } from "../runtime/run-server.ts";
import { whyReadOnly } from "../runtime/writable.ts";

/** Shortest wait before the first update; chance doubles it, so that servers started together do not fetch together. */
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
  "dnsExclude",
  "logLevel",
];

export function addServe(program: Command, context: Context): void {
  const command = program
    .command("serve")
    .description("serve the API in production: needs a release, answers 503 for missing data")
    .addHelpText(
      "after",
      `
Feeds are fetched in the background, each at its own pace; INKLING_OFFLINE=1 turns that off, INKLING_MIRROR names a folder instead.
SIGTERM and SIGINT let requests under way finish, then the exit code is 0.

Examples:
  inkling data update && inkling serve
  inkling serve --host 0.0.0.0 --trusted-proxies 10.0.0.0/8
  INKLING_DATABASE_URL=postgres://inkling:…@db/inkling inkling serve`,
    );
  addAction(command, context, SERVER_SETTINGS, ({ settings }) => serve(settings, context));
}

/** What the first answer does not need is loaded after the start, or with its first use. */
async function serve(settings: Settings, context: Context): Promise<void> {
  const { stopper, version } = context;
  const { dataDir } = settings;
  const requireRelease = async () => (await import("@inkling/release-store")).requireRelease(dataDir);
  if (!existsSync(join(dataDir, DATA_FOLDER.current))) await requireRelease(); // before anything is made there
  const readOnly = whyReadOnly(settings);
  probeListeners(settings);
  const upkeep = once(async () => {
    const { dataActions, Updates } = await import("../runtime/data-actions.ts");
    const updates = new Updates();
    return { updates, actions: dataActions(updates) };
  });
  const options = {
    ...serverOptions(settings, "serve", version),
    actions: async () => (await upkeep()).actions,
    onNoRelease: requireRelease,
  };
  const server = await runServer(options, context);
  if (readOnly !== undefined) {
    const effect = "this server updates no data, and follows releases that others put there";
    server.running.log.info("data-folder-read-only", { reason: readOnly, effect });
    await server.untilStopped(stopper.signal);
    return;
  }
  const { updates } = await upkeep();
  const { keepSettingsFresh } = await import("../runtime/keep-fresh.ts");
  const wait = FIRST_UPDATE_MS * (1 + Math.random());
  const fresh = keepSettingsFresh(settings, server.running.log, stopper.signal, wait, updates);
  await server.untilStopped(stopper.signal);
  await fresh;
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
