// up.ts: `inkling up` does everything in one command: it builds data if there is none, creates keys on the first run,
// and runs the server.

import { type Settings, settingsReadBy } from "@inkling/contract";
import { findUsable, openRelease, openServable } from "@inkling/data";
import { HAS_SEEDS } from "@inkling/data/program";
import type { LoadedRelease } from "@inkling/engine";
import type { RunningServer } from "@inkling/server";
import type { Command } from "commander";
import { cliAuthor } from "../config/environment.ts";
import { shown } from "../config/settings.ts";
import { Arrivals, banner } from "../runtime/banner.ts";
import { build, mayFetch, mayFindNewer } from "../runtime/build.ts";
import { addAction, type Context } from "../runtime/command.ts";
import { ensureWritable, forgetChannelReport } from "../runtime/data-folder.ts";
import { dataActions, FreshData, lowPriorityBuild, SHORTEST_PAUSE_MS } from "../runtime/keep-fresh.ts";
import { countKeys, type KeysOf, makeFirstKeys, saveSecrets, secretLines } from "../runtime/keys.ts";
import { probeListeners, serveUntilStopped } from "../runtime/run-server.ts";
import { withNewStore } from "../runtime/store.ts";
import { Stopped, usage } from "../terminal/errors.ts";
import { type Terminal, warn } from "../terminal/terminal.ts";

export function addUp(program: Command, context: Context): void {
  const command = program
    .command("up")
    .description("build data if there is none, create keys on the first run, and serve")
    .addHelpText(
      "after",
      `
The first run builds data from the npm packages that came with Inkling, and creates two keys and an admin token. In a
terminal, they are shown once; otherwise they are saved in first-keys.txt in the data folder. The server then fetches the
lists of proxies and abusers. Until they are loaded, reputation lookups return 503; --allow-missing answers without them.
Later runs start within a second.

Examples:
  inkling up
  inkling up --port 9000 --data-dir /var/lib/inkling
  INKLING_MIRROR=/srv/feeds inkling up      reads feeds from a folder, without internet`,
    );
  const { live, prompt } = context.terminal;
  const isWatched = live || prompt !== undefined; // the user sees the banner, so only errors are logged
  addAction(
    command,
    context,
    settingsReadBy("primary", "worker", "builder"),
    ({ settings }) => up(settings, context),
    isWatched ? { logLevel: "error" } : {},
  );
}

async function up(settings: Settings, context: Context): Promise<void> {
  const { terminal, stopper } = context;
  if (settings.channel !== undefined) {
    throw usage(
      "`inkling up` builds its own data, but a channel is set",
      "use `inkling serve` to follow the channel",
    );
  }
  ensureWritable(settings.dataDir);
  probeListeners(settings);
  forgetChannelReport(settings.dataDir);
  const found = usableRelease(settings, terminal);
  const isEnough = found !== undefined && !mirrorMayFill(found, settings);
  const current = isEnough ? found : await buildFirst(settings, context);
  // A build that has just used every source cannot be improved yet.
  const updates = isEnough || mayFetch(settings);
  const keys = await keysOf(settings, terminal);
  const keysFile = terminal.width === undefined ? saveSecrets(keys, settings.dataDir) : undefined;
  let served = false;
  const news = new Arrivals(current.manifest, settings);
  // The first build has only the small lists, so that they arrive sooner.
  let isFirst = updates && current.manifest.missing.length > 0;
  const fresh = new FreshData(
    settings.dataDir,
    async (...order) => {
      const announced = async (keepGeo: boolean) => {
        const result = await lowPriorityBuild(settings, keepGeo)(...order);
        const text = news.after(result, terminal.style);
        if (terminal.width !== undefined && text !== undefined) terminal.out(`\n${text}`);
        return result;
      };
      const wasFirst = isFirst;
      isFirst = false;
      if (wasFirst) await announced(true);
      return announced(false);
    },
    updates ? 0 : SHORTEST_PAUSE_MS,
  );
  try {
    const actions = async () => dataActions(fresh, settings);
    await serveUntilStopped(settings, context, actions, async (running) => {
      served = true;
      const { version } = context;
      const { style } = terminal;
      const updating = updates && mayFindNewer(settings);
      terminal.out(banner({ settings, current, keys, keysFile, version, updates: updating, style }));
      const log = terminal.width === undefined ? running.log : withoutUnreached(running.log);
      await fresh.keep(running, stopper.signal, log);
    });
  } finally {
    // The keys cannot be shown a second time, so they are shown even after a failure.
    const secrets = secretLines(keys);
    if (!served && secrets.length > 0) {
      const where = keysFile === undefined ? `:\n${secrets.join("\n")}` : `; they are in ${keysFile}`;
      terminal.err(`These keys were created before the failure${where}\n`);
    }
  }
}

/** In a terminal, `Arrivals` reports in prose that publishers could not be reached. */
const withoutUnreached = (log: RunningServer["log"]): RunningServer["log"] => ({
  info: (event, fields) => log.info(event, fields),
  error: (event, fields) => {
    if (event !== "feeds-not-reached") log.error(event, fields);
  },
});

async function keysOf(settings: Settings, terminal: Terminal): Promise<KeysOf> {
  return withNewStore(settings, terminal, async (store) => {
    // An operator who sets a key does not need one from Inkling. Also, the output may be a container's log, which
    // should not contain secrets.
    const isTrial = settings.apiKey === undefined;
    const created = isTrial ? await makeFirstKeys(store, settings.dataDir) : undefined;
    const adminToken = isTrial ? await store.adminToken.create(cliAuthor("inkling up")) : undefined;
    return { created, ...(await countKeys(store, Date.now())), adminToken };
  });
}

/** Returns a release that can be opened, or undefined. If a release cannot be opened, a warning states why. */
function usableRelease(settings: Settings, terminal: Terminal): LoadedRelease | undefined {
  const { release, problem } = findUsable(settings.dataDir);
  if (problem !== undefined) {
    warn(terminal, `${problem}; building a new release`);
  }
  return release && openRelease(settings.dataDir, release.name);
}

/** Does the release lack data that the mirror may have? Seeds do not include lists of proxies and abusers. */
function mirrorMayFill({ manifest }: LoadedRelease, { mirror }: Settings): boolean {
  return mirror !== undefined && manifest.missing.length > 0;
}

/**
 * If there are seeds, publishers are contacted later, in the background, so that the first answer does not wait for the
 * internet.
 */
async function buildFirst(settings: Settings, { terminal, stopper }: Context): Promise<LoadedRelease> {
  terminal.err(`Building data in ${settings.dataDir} ${sourceText(settings)}.\n`);
  await build(settings, terminal, stopper.signal, { fetch: !HAS_SEEDS });
  if (stopper.signal.aborted) throw new Stopped("the release was built; `inkling up` serves it");
  return openServable(settings.dataDir);
}

export function sourceText(settings: Settings): string {
  if (settings.mirror !== undefined) return `from the mirror ${shown("mirror", settings)}`;
  if (HAS_SEEDS) return "from the npm packages that came with Inkling";
  return mayFetch(settings) ? "from the publishers" : "without seeds or publishers";
}
