// background-update.ts: brings the data up to date while `inkling up` serves what there is.
//
// The server picks a new release up by itself; this only runs the build, at low priority, and says how it went.
// err  none: an update that fails is logged, and what is served goes on

import { constants, setPriority } from "node:os";
import type { RunningServer } from "@inkling/server";
import { buildRequestOf } from "./build.ts";
import { BuildInterrupted, runBuild, writeLastBuild } from "./build-process.ts";
import { CliError } from "./errors.ts";
import type { Settings } from "./settings.ts";

export async function updateInBackground(
  settings: Settings,
  log: RunningServer["log"],
  signal: AbortSignal,
): Promise<void> {
  let firstReason: string | undefined;
  try {
    const result = await runBuild(buildRequestOf(settings, true), {
      signal,
      onStart: (pid) => setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL),
      onEvent: (event) => {
        if (event.type === "feed") firstReason ??= event.feed.error;
      },
    });
    writeLastBuild(settings.dataDir, result, new Date());
    const { published, name, refused, seconds } = result.done;
    if (refused.length > 0) log.error("feeds-not-updated", { feeds: refused, first_reason: firstReason });
    log.info("data-update-done", { published, name, seconds });
  } catch (error) {
    if (error instanceof BuildInterrupted) return;
    const hint = error instanceof CliError ? error.hint : undefined;
    log.error("data-update-failed", { reason: error instanceof Error ? error.message : String(error), hint });
  }
}
