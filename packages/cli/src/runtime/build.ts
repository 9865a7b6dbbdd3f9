// build.ts: a build as a command runs it: checks, then progress on the terminal, then hints.

import { readdir } from "node:fs/promises";
import type { BuildOrder } from "@inkling/compiler/events";
import { CREDENTIALS } from "@inkling/compiler/feed";
import { isMirrorUrl } from "@inkling/compiler/mirror-url";
import type { Settings } from "@inkling/contract";
import { dropBrokenSegments, findUsable } from "@inkling/release-store";
import { shown } from "../config/settings.ts";
import { CliError, explainFileError } from "../terminal/errors.ts";
import { LiveLine, Progress } from "../terminal/progress.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { type BuildResult, runBuild, writeLastBuild } from "./build-process.ts";
import { ensureWritable } from "./writable.ts";

const REDRAW_MS = 100;

/** A network file system may never answer. */
const MIRROR_MS = 20_000;

/**
 * @returns the files of a mirror that is a folder
 * @throws CliError when a mirror is set that cannot be a source of feeds
 */
export async function checkMirror(mirror: string | undefined): Promise<readonly string[]> {
  if (mirror === undefined || isMirrorUrl(mirror)) return [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silent = new CliError(
    `the mirror ${mirror} does not answer within ${MIRROR_MS / 1_000} s`,
    "is it on a network file system whose server is away?",
  );
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(silent), MIRROR_MS);
  });
  try {
    const files = await Promise.race([readdir(mirror), over]);
    if (files.length > 0) return files;
  } catch (error) {
    if (error === silent) throw error;
    const explained = explainFileError(error, `the mirror ${mirror}`);
    if (!(explained instanceof CliError)) throw explained;
    throw new CliError(explained.message, "INKLING_MIRROR must name a folder with one file per feed");
  } finally {
    clearTimeout(timer);
  }
  throw new CliError(
    `the mirror ${mirror} is empty`,
    "it needs one file per feed, named <feed id>.<anything>",
  );
}

export interface BuildOptions {
  /** May feeds be fetched from publishers? Never with the settings offline or mirror. */
  readonly fetch: boolean;
  readonly onlyDue?: boolean;
  /** Feeds of which a large change is accepted, this once. */
  readonly accept?: readonly string[];
}

/** The compiler's input. It has credentials only where it may fetch from publishers. */
export function buildOrder(settings: Settings, options: BuildOptions): BuildOrder {
  const fetch = options.fetch && mayFetch(settings);
  const { onlyDue = false, accept = [] } = options;
  return {
    dataDir: settings.dataDir,
    ...(settings.mirror === undefined ? {} : { mirror: settings.mirror }),
    fetch,
    onlyDue,
    accept: [...accept],
    credentials: fetch ? credentialsOf(settings) : {},
  };
}

/** Those that are set, by the names that the feed table uses. */
function credentialsOf(settings: Settings): Record<string, string> {
  return Object.fromEntries(
    CREDENTIALS.flatMap((name) => {
      const value = settings[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Are publishers a source of feeds? */
export function mayFetch({ offline, mirror }: Settings): boolean {
  return !offline && mirror === undefined;
}

/** Can a build find newer copies than those that are here: at publishers, or in a mirror? */
export function mayFindNewer(settings: Settings): boolean {
  return settings.mirror !== undefined || mayFetch(settings);
}

/**
 * Builds a release with progress on standard error.
 * @throws CliError when nothing was published
 */
export async function build(
  settings: Settings,
  terminal: Terminal,
  signal: AbortSignal,
  options: BuildOptions,
): Promise<BuildResult> {
  ensureWritable(settings.dataDir);
  await checkMirror(settings.mirror);
  if (findUsable(settings.dataDir).problem !== undefined) dropBrokenSegments(settings.dataDir);
  const { live, columns, style } = terminal;
  const progress = new Progress({ live, columns, style });
  const line = new LiveLine(terminal);
  const timer = setInterval(() => line.show(progress.live(performance.now())), REDRAW_MS);
  try {
    const result = await runBuild(buildOrder(settings, options), {
      signal,
      onEvent: (event) => {
        const { keep, live } = progress.next(event, performance.now());
        if (keep.length === 0) return;
        line.clear();
        for (const text of keep) terminal.err(`${text}\n`);
        line.show(live);
      },
    });
    writeLastBuild(settings.dataDir, result, new Date());
    line.clear();
    const count = result.conflicts.length;
    if (count > 0)
      terminal.err(
        `  lists disagree on ${count} domains: \`npx @inkling/cli data status\` shows the verdicts\n`,
      );
    const hint = unreachedHint(settings, result);
    if (hint !== undefined) terminal.err(`hint: ${hint}\n`);
    return result;
  } finally {
    clearInterval(timer);
    line.clear();
  }
}

/** What to do about feeds that could not be reached, if there are any. */
export function unreachedHint(
  settings: Settings,
  { done, feeds }: Pick<BuildResult, "feeds"> & { readonly done: Pick<BuildResult["done"], "unreached"> },
): string | undefined {
  if (done.unreached.length === 0) return undefined;
  if (feeds.some(({ source }) => source === "fetched" || source === "mirror"))
    return "others were reached: `npx @inkling/cli data status` shows the addresses that were not; they are tried again";
  if (settings.mirror !== undefined)
    return `no response from the mirror ${shown("mirror", settings)}: check the address, and try it from this machine`;
  return "without internet: `--offline` (INKLING_OFFLINE=1) fetches nothing, `--mirror FOLDER` takes the files from a folder; behind a proxy: set HTTPS_PROXY=http://HOST:PORT";
}
