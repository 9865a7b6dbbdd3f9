// build.ts: runs a build for a command: checks, the compiler in its own process, progress on the terminal, hints.
//
// A build that runs out of memory ends only its own process.

import { readdirSync, readFileSync } from "node:fs";
import { setPriority } from "node:os";
import { dirname, join } from "node:path";
import {
  ABANDONED,
  type BuildEvent,
  type BuildOrder,
  buildEvent,
  TROUBLES,
  type Trouble,
} from "@inkling/compiler/events";
import { isMirrorUrl } from "@inkling/compiler/mirror-url";
import { copyName, type Settings } from "@inkling/contract";
import {
  DATA_FOLDER,
  dropBrokenSegments,
  findLock,
  findUsable,
  makeFolder,
  messageOf,
  recordFailedBuild,
  replaceJson,
} from "@inkling/data";
import { processCommand } from "@inkling/data/program";
import type { FailedBuild, FeedReport } from "@inkling/engine";
import { buildEnvironment, processEnvironment } from "../config/environment.ts";
import { shown } from "../config/settings.ts";
import { CliError, explainFileError, Stopped, usage } from "../terminal/errors.ts";
import { BuildProgress } from "../terminal/progress.ts";
import { counted, type Terminal } from "../terminal/terminal.ts";
import { ensureWritable } from "./data-folder.ts";
import { credentialsOf } from "./feeds.ts";
import { linesIn } from "./input.ts";

export type BuildDone = BuildEvent & { type: "done" };
type BuildConflict = BuildEvent & { type: "conflict" };

interface BuiltFeed extends FeedReport {
  readonly trouble?: Trouble | undefined;
}

export interface BuildResult {
  readonly done: BuildDone;
  /** The states of the feeds in this build. `done.release` may be an older release with the same content. */
  readonly feeds: readonly BuiltFeed[];
  readonly conflicts: readonly BuildConflict[];
}

/** Feeds that should have delivered a new copy but did not, regardless of what is used instead. */
export const failedFeeds = (done: Pick<BuildDone, (typeof TROUBLES)[number]>) =>
  TROUBLES.flatMap((trouble) => done[trouble]);

interface SpawnOptions {
  readonly onEvent?: (event: BuildEvent) => void;
  /** As in setPriority of node:os; by default the priority of this process. */
  readonly priority?: number;
  /** Aborting it stops the build. A release that was published before remains. */
  readonly signal: AbortSignal;
  /** The command to run instead of the compiler, for tests. */
  readonly command?: readonly string[];
}

/** Returns what to do about a build that failed as a whole. */
export const failedHint = ({ why }: FailedBuild) =>
  why === ABANDONED
    ? "a running server builds again by itself; or run `inkling data update`"
    : "fix the cause, then run `inkling data update`";

/** What to do about the held copies of these feeds. */
export function acceptHint(feeds: readonly FeedReport[]): string {
  const names = feeds.flatMap(({ id, held }) => (held === undefined ? [] : [copyName(id, held.sha256)]));
  return `if they are right, \`inkling data update --accept ${names.join(" ")}\` uses them`;
}

export const heldText = (feeds: readonly FeedReport[]) =>
  `Held: ${feeds.map(({ id }) => id).join(", ")}. Their new copies look wrong, as \`inkling data status\` shows; ${acceptHint(feeds)}.`;

export const heldFeeds = (feeds: readonly FeedReport[]) => feeds.filter(({ held }) => held !== undefined);

/** Milliseconds that a stopped build has for cleaning up before it is killed. */
const GRACE_MS = 2_000;
const MAX_LAST_LINES = 12;
const NOTHING_PUBLISHED = "Nothing was published; the current release is unchanged.";
const SHORT_OF_MEMORY =
  "the system or container may be short of memory: a build takes 1 GB, and more if it uses both GeoLite2 City and DB-IP";

/** Runs a build in a process, and records its result, or that the process ended without one. */
export async function runBuild(order: BuildOrder, options: SpawnOptions): Promise<BuildResult> {
  const child = Bun.spawn([...(options.command ?? processCommand("compiler"))], {
    stdin: Buffer.from(JSON.stringify(order)),
    stdout: "pipe",
    stderr: "pipe",
    env: buildEnvironment(processEnvironment),
  });
  if (options.priority !== undefined) setPriority(child.pid, options.priority);
  const stop = () => {
    child.kill("SIGTERM");
    setTimeout(() => child.kill("SIGKILL"), GRACE_MS).unref();
  };
  options.signal.addEventListener("abort", stop, { once: true });
  if (options.signal.aborted) stop();
  let last: BuildEvent | undefined;
  let published: string | undefined;
  const conflicts: BuildConflict[] = [];
  const feeds = new Map<string, BuiltFeed>(); // a feed that misses the deadline is reported twice
  const lastLines: string[] = [];
  const keepLast = (line: string) => {
    if (line.trim() !== "") lastLines.push(line);
    if (lastLines.length > MAX_LAST_LINES) lastLines.shift();
  };
  const follow = eachLine(child.stdout, (line) => {
    const event = parseEvent(line);
    if (event === undefined) return keepLast(line);
    last = event;
    if (event.type === "note") published = event.published ?? published;
    if (event.type === "conflict") conflicts.push(event);
    if (event.type === "feed") feeds.set(event.feed.id, { ...event.feed, trouble: event.trouble });
    options.onEvent?.(event);
  });
  await Promise.all([follow, eachLine(child.stderr, keepLast)]);
  await child.exited;
  options.signal.removeEventListener("abort", stop);
  if (last?.type === "done" && (child.exitCode === 0 || child.exitCode === 3)) {
    const result = { done: last, feeds: [...feeds.values()], conflicts };
    writeLastBuild(order.dataDir, result);
    return result;
  }
  const standing =
    published === undefined ? NOTHING_PUBLISHED : `The release ${published} was published before that.`;
  if (options.signal.aborted) throw new BuildInterrupted(standing);
  if (last?.type === "failed") {
    const Failure = last.code === "busy" ? BuildBusy : CliError;
    throw new Failure(last.message, `${last.hint}\n${standing}`);
  }
  const why = `the build died (${child.signalCode ?? `exit code ${child.exitCode}`})`;
  // A SIGKILL that we did not send nearly always comes from the kernel, because memory ran out.
  const causes = child.signalCode === "SIGKILL" ? [SHORT_OF_MEMORY] : [];
  try {
    const at = new Date().toISOString();
    recordFailedBuild(order.dataDir, { at, why: [why, ...causes].join("; ") });
  } catch (error) {
    options.onEvent?.({ type: "note", text: `the failure cannot be recorded: ${messageOf(error)}` });
  }
  const lines =
    lastLines.length > 0 ? [`its last lines:\n${lastLines.map((line) => `  ${line}`).join("\n")}`] : [];
  throw new CliError(why, [...causes, ...lines, standing].join("\n"));
}

/** The user stopped the build. */
export class BuildInterrupted extends Stopped {
  constructor(standing = NOTHING_PUBLISHED) {
    super(`${standing[0]!.toLowerCase()}${standing.slice(1, -1)}`);
  }
}

/** Another build has locked the data folder, so this build did nothing. */
export class BuildBusy extends CliError {}

function parseEvent(line: string): BuildEvent | undefined {
  try {
    return buildEvent.parse(JSON.parse(line));
  } catch {
    return undefined; // this line is not an event; it is shown if the process dies
  }
}

async function eachLine(stream: ReadableStream<Uint8Array>, use: (line: string) => void): Promise<void> {
  for await (const lines of linesIn(stream)) lines.forEach(use);
}

/** Facts about a build that its release does not contain. A release contains only facts that determine its content. */
interface LastBuild {
  readonly finished_at: string;
  readonly release: string;
  readonly published: boolean;
  readonly seconds: number;
  readonly peak_bytes: number;
  /**
   * Hash of the email segment in which the conflicts were found. A build that reuses this segment finds no
   * conflicts itself.
   */
  readonly email_sha256?: string | undefined;
  readonly conflicts: readonly Omit<BuildConflict, "type">[];
}

/** Returns the result of the last build, or undefined if it was not recorded. */
export function findLastBuild(dataDir: string): LastBuild | undefined {
  try {
    return JSON.parse(readFileSync(join(dataDir, DATA_FOLDER.lastBuild), "utf8"));
  } catch {
    return undefined;
  }
}

function writeLastBuild(dataDir: string, result: BuildResult): void {
  const { done } = result;
  const path = join(dataDir, DATA_FOLDER.lastBuild);
  const email = done.release.segments.email?.sha256;
  const before = findLastBuild(dataDir);
  const isSame = email !== undefined && before?.email_sha256 === email;
  const conflicts = isSame && result.conflicts.length === 0 ? before.conflicts : result.conflicts;
  const content: LastBuild = {
    finished_at: new Date().toISOString(),
    release: done.name,
    published: done.published,
    seconds: done.seconds,
    peak_bytes: done.peakBytes,
    email_sha256: email,
    conflicts: conflicts.map(({ domain, verdict, reason }) => ({ domain, verdict, reason })),
  };
  makeFolder(dirname(path));
  replaceJson(path, content);
}

/** @throws CliError if the configured mirror cannot be a source of feeds */
function checkMirror(mirror: string | undefined): void {
  if (mirror === undefined || isMirrorUrl(mirror)) return;
  try {
    if (readdirSync(mirror).length > 0) return;
  } catch (error) {
    const explained = explainFileError(error, `the mirror ${mirror}`);
    if (!(explained instanceof CliError)) throw explained;
    throw new CliError(explained.message, "INKLING_MIRROR must be a folder with one file per feed");
  }
  throw new CliError(
    `the mirror ${mirror} is empty`,
    "it needs one file per feed, named <feed id>.<anything>",
  );
}

/** What differs between builds with the same settings. */
export type BuildOptions = Pick<BuildOrder, "fetch" | "onlyDue" | "keepGeo" | "accept" | "since">;

/**
 * Returns the compiler's input. Feeds are fetched from publishers only if neither `offline` nor `mirror` is set, and
 * only then does the input contain credentials.
 */
export function buildOrder(settings: Settings, options: BuildOptions): BuildOrder {
  const { dataDir, mirror, feed, dnsServers, dnsExclude } = settings;
  const fetch = options.fetch && mayFetch(settings);
  const credentials = fetch ? credentialsOf(settings) : {};
  return { ...options, dataDir, mirror, fetch, ownFeeds: feed, dnsServers, dnsExclude, credentials };
}

/** Does this host take its releases from a channel? */
export const followsChannel = ({ channel, channelSigningKey }: Settings) =>
  channel !== undefined && channelSigningKey === undefined;

/** @throws CliError if this host takes its releases from a channel, so that no release is built from its feeds */
export function requireBuilder(settings: Settings): void {
  if (!followsChannel(settings)) return;
  throw usage(
    "this host takes its releases from a channel, and builds none",
    "run the command on the builder, with the builder's settings, or unset INKLING_CHANNEL",
  );
}

/** Are publishers a source of feeds? */
export function mayFetch({ offline, mirror }: Settings): boolean {
  return !offline && mirror === undefined;
}

/** Can a build find newer copies than the stored ones, either from publishers or in a mirror? */
export function mayFindNewer(settings: Settings): boolean {
  return settings.mirror !== undefined || mayFetch(settings);
}

const WAIT_MS = 200;

/**
 * Waits until no other build has locked the data folder.
 * @returns when that build began
 * @throws BuildInterrupted if `signal` is aborted
 */
export async function waitForOtherBuild(
  dataDir: string,
  terminal: Pick<Terminal, "err">,
  signal: AbortSignal,
): Promise<string> {
  const lock = findLock(dataDir);
  const began = (lock?.since ?? new Date()).toISOString();
  if (lock !== undefined) terminal.err(`Waiting for the build that is running (process ${lock.pid}).\n`);
  do {
    if (signal.aborted) throw new BuildInterrupted();
    await Bun.sleep(WAIT_MS);
  } while (findLock(dataDir) !== undefined);
  return began;
}

/**
 * Builds a release and shows progress on standard error. If another build is running in the data folder, waits for it
 * first, and does not request again the feeds that arrived with that build.
 * @throws CliError if the build failed or was interrupted
 */
export async function build(
  settings: Settings,
  terminal: Terminal,
  signal: AbortSignal,
  options: BuildOptions,
): Promise<BuildResult> {
  for (let since: string | undefined; ; ) {
    try {
      return await buildAlone(settings, terminal, signal, { ...options, since });
    } catch (error) {
      if (!(error instanceof BuildBusy)) throw error;
      const began = await waitForOtherBuild(settings.dataDir, terminal, signal);
      since ??= began;
    }
  }
}

async function buildAlone(
  settings: Settings,
  terminal: Terminal,
  signal: AbortSignal,
  options: BuildOptions,
): Promise<BuildResult> {
  ensureWritable(settings.dataDir);
  checkMirror(settings.mirror);
  if (findUsable(settings.dataDir).problem !== undefined) dropBrokenSegments(settings.dataDir);
  const progress = new BuildProgress(terminal);
  try {
    const result = await runBuild(buildOrder(settings, options), {
      signal,
      onEvent: (event) => progress.take(event),
    });
    progress.stop();
    const count = result.conflicts.length;
    if (count > 0)
      terminal.err(
        `  lists disagree on ${counted(count, "domain")}: run \`inkling data status\` to see the verdicts\n`,
      );
    const hint = unreachedHint(settings, result);
    if (hint !== undefined) terminal.err(`hint: ${hint}\n`);
    return result;
  } finally {
    progress.stop();
  }
}

/** Returns a text that tells how many feeds could not be reached, and which command shows why. */
export const unreachedText = (ids: readonly string[]) =>
  `Not reached: ${counted(ids.length, "feed")}. Run \`inkling data status\` to see why.`;

/** Did no feed come from a publisher or a mirror? */
export const isOffline = ({ feeds }: Pick<BuildResult, "feeds">): boolean =>
  !feeds.some(({ source }) => source === "fetched" || source === "mirror");

/** Returns what to do about feeds that could not be reached; undefined if all were reached. */
export function unreachedHint(
  settings: Settings,
  { done, feeds }: Pick<BuildResult, "feeds"> & { readonly done: Pick<BuildResult["done"], "unreached"> },
): string | undefined {
  if (done.unreached.length === 0) return undefined;
  if (!isOffline({ feeds }))
    return "other feeds were reached: run `inkling data status` to see which addresses failed; Inkling retries them";
  if (settings.mirror !== undefined)
    return `no response from the mirror ${shown("mirror", settings)}: check its address, and open it from this machine`;
  return "without internet: `--offline` (INKLING_OFFLINE=1) fetches nothing, `--mirror FOLDER` reads the files from a folder; behind a proxy: set HTTPS_PROXY=http://HOST:PORT";
}
