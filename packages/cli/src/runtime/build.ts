// build.ts: a build as a command runs it: checks first, then progress on the terminal, then what is to be said.

import { readdirSync } from "node:fs";
import type { BuildOrder } from "@inkling/compiler/events";
import { CREDENTIALS } from "@inkling/compiler/feed";
import type { FeedReport, Release } from "@inkling/engine";
import { dropBrokenSegments, findUsable } from "@inkling/release-store";
import { isUrl, type Settings, shown } from "../config/settings.ts";
import { CliError, explainFileError } from "../terminal/errors.ts";
import { Progress } from "../terminal/progress.ts";
import {
  formatAge,
  formatBytes,
  formatCount,
  roomyTable,
  type Style,
  type Terminal,
  table,
} from "../terminal/terminal.ts";
import { type BuildResult, runBuild, writeLastBuild } from "./build-process.ts";
import { ensureWritable } from "./writable.ts";

const REDRAW_MS = 100;

/** @throws CliError when a mirror is set that cannot be a source of feeds */
export function checkMirror(mirror: string | undefined): void {
  if (mirror === undefined || isUrl(mirror)) return;
  try {
    if (readdirSync(mirror).length > 0) return;
  } catch (error) {
    const explained = explainFileError(error, `the mirror ${mirror}`);
    if (!(explained instanceof CliError)) throw explained;
    throw new CliError(explained.message, "INKLING_MIRROR must name a folder with one file per feed");
  }
  throw new CliError(
    `the mirror ${mirror} is empty`,
    "it needs one file per feed, named <feed id>.<anything>",
  );
}

export interface BuildWishes {
  /** May publishers be asked? Never when the settings say offline, or name a mirror. */
  readonly fetch: boolean;
  readonly onlyDue?: boolean;
  /** Feeds of which a large change is accepted, this once. */
  readonly accept?: readonly string[];
}

/** What the compiler is asked to do. Credentials go along only where publishers are asked. */
export function buildOrder(settings: Settings, wishes: BuildWishes): BuildOrder {
  const fetch = wishes.fetch && mayFetch(settings);
  const { onlyDue = false, accept = [] } = wishes;
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
export function credentialsOf(settings: Settings): Record<string, string> {
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

export interface BuildLook extends BuildWishes {
  /** Are domains that lists disagree on shown one by one? */
  readonly conflicts: boolean;
}

/**
 * Builds a release with progress on standard error.
 * @throws CliError when nothing was published
 */
export async function build(
  settings: Settings,
  terminal: Terminal,
  signal: AbortSignal,
  look: BuildLook,
): Promise<BuildResult> {
  ensureWritable(settings.dataDir);
  checkMirror(settings.mirror);
  if (findUsable(settings.dataDir).problem !== undefined) dropBrokenSegments(settings.dataDir);
  const progress = new Progress({
    live: terminal.live,
    columns: terminal.columns,
    style: terminal.style,
    conflicts: look.conflicts,
  });
  let drawn = false;
  const erase = () => {
    if (drawn) terminal.err("\r\x1b[2K");
    drawn = false;
  };
  const draw = (line: string | undefined) => {
    erase();
    if (line === undefined) return;
    terminal.err(line);
    drawn = true;
  };
  const timer = setInterval(() => draw(progress.live(performance.now())), REDRAW_MS);
  try {
    const result = await runBuild(buildOrder(settings, look), {
      signal,
      onEvent: (event) => {
        const { keep, live } = progress.next(event, performance.now());
        if (keep.length > 0) erase();
        for (const line of keep) terminal.err(`${line}\n`);
        if (keep.length > 0) draw(live);
      },
    });
    writeLastBuild(settings.dataDir, result, new Date());
    erase();
    const hint = unreachedHint(settings, result);
    if (hint !== undefined) terminal.err(`hint: ${hint}\n`);
    return result;
  } finally {
    clearInterval(timer);
    erase();
  }
}

/** What to do about feeds that could not be reached, if there are any. */
export function unreachedHint(
  settings: Settings,
  { done, feeds }: Pick<BuildResult, "feeds"> & { readonly done: Pick<BuildResult["done"], "unreached"> },
): string | undefined {
  if (done.unreached.length === 0) return undefined;
  if (feeds.some(({ source }) => source === "fetched" || source === "mirror"))
    return "others were reached: `npx inkling data status` shows the addresses that were not; they are asked again";
  if (settings.mirror !== undefined)
    return `nothing answers at the mirror ${shown("mirror", settings)}: check the address, and try it from this machine`;
  return "without internet: `--offline` (INKLING_OFFLINE=1) asks nobody, `--mirror FOLDER` takes the files from a folder; behind a proxy: set HTTPS_PROXY=http://HOST:PORT";
}

/** What an operator must know of a release before trusting it; empty when there is nothing. */
export function dataGaps(manifest: Release, style: Style): string[] {
  const missing = manifest.missing.map(
    (answer) => `${style.yellow("missing")}  ${answer}: no feed with it could be loaded`,
  );
  const partial = manifest.partial.map(({ answer, why }) => `${style.yellow("partial")}  ${answer}: ${why}`);
  return [...missing, ...partial];
}

/** The texts that licences ask to be shown, each once. @param sets of feeds that contribute to these alone */
export function attributions(manifest: Release, sets?: readonly string[]): string[] {
  const texts = manifest.feeds
    .filter((feed) => feed.state === "loaded" && feed.attribution !== undefined)
    .filter((feed) => sets === undefined || sets.includes(feed.sets))
    .map((feed) => feed.attribution!);
  return [...new Set(texts)];
}

/** How a feed is, in the one word that tables have for it. */
export function stateWord({ state, pending, stale }: FeedReport): string {
  if (pending !== undefined) return "waits";
  return stale === true ? "stale" : state;
}

/** Feeds as a table for people. @param width of their terminal, if there is one */
export function feedTable(feeds: readonly FeedReport[], now: Date, width: number | undefined): string {
  const rows = feeds.map((feed) => {
    const made = feed.published_at ?? feed.fetched_at;
    const age = made === undefined ? "-" : formatAge(now.getTime() - Date.parse(made));
    return [
      feed.id,
      feed.sets,
      stateWord(feed),
      formatCount(feed.entries),
      feed.source,
      age,
      feed.error ?? "",
    ];
  });
  const head = ["FEED", "SETS", "STATE", "ENTRIES", "SOURCE", "AGE", "PROBLEM"];
  return roomyTable([head, ...rows], [3], 6, width);
}

/** Segments of a release as a table for people. */
export function segmentTable(manifest: Release): string {
  const rows = Object.entries(manifest.segments).flatMap(([kind, report]) =>
    report === undefined ? [] : [[kind, formatBytes(report.bytes), report.sha256.slice(0, 12)]],
  );
  return table([["SEGMENT", "SIZE", "SHA-256"], ...rows], [1]);
}
