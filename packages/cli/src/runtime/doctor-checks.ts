// doctor-checks.ts: implements the checks of `inkling doctor`, one row each: this machine, its data and its database.
//
// A finding that another command explains is one line with the command.

import { accessSync, constants, existsSync, lstatSync, readdirSync, statfsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ABANDONED } from "@inkling/compiler/events";
import type { Settings } from "@inkling/contract";
import {
  accessHint,
  damageHint,
  feedsOf,
  findDenied,
  findLock,
  findUsable,
  hintFor,
  isBroken,
  isDenied,
  openCurrent,
  pinnedName,
  readChannelReport,
  readFeedsReport,
  remedyFor,
  verifySegments,
} from "@inkling/data";
import { CHANNEL_FAULTS } from "@inkling/data/channel";
import { FORM } from "@inkling/data/program";
import { type Listener, probePort } from "@inkling/server";
import type { StoreError } from "@inkling/store";
import type { Store } from "@inkling/store/store";
import { whyInstall } from "../../bin/installed.mjs";
import { processEnvironment } from "../config/environment.ts";
import { databaseFile, localUrl, shown } from "../config/settings.ts";
import { explainFileError } from "../terminal/errors.ts";
import { dataAge, overdueData } from "../terminal/release-tables.ts";
import { type ErrorOutput, firstOf, formatAgo, formatBytes } from "../terminal/terminal.ts";
import { failedHint, followsChannel, heldFeeds, mayFindNewer } from "./build.ts";
import { whyReadOnly } from "./data-folder.ts";
import { allFeeds } from "./feeds.ts";
import { countKeys } from "./keys.ts";
import { lostDatabase, withExistingStore } from "./store.ts";

export interface CheckInput {
  readonly settings: Settings;
  readonly terminal: ErrorOutput;
  /** Did the user specify the data folder, so that it should exist? */
  readonly isFolderNamed?: boolean;
  readonly now: Date;
}

export interface Finding {
  readonly state: "ok" | "note" | "problem";
  readonly found: string;
  readonly fix?: string;
}

type Check = (checkup: CheckInput) => Finding | Promise<Finding>;

const ok = (found: string): Finding => ({ state: "ok", found });
const note = (found: string, fix: string): Finding => ({ state: "note", found, fix });
export const problem = (found: string, fix: string): Finding => ({ state: "problem", found, fix });

/**
 * Minimum free space in the data folder, in bytes: about what a build of all feeds needs, including temporary files.
 */
const MIN_FREE_BYTES = 1_000_000_000;
/** Minimum free space for a SQLite database, in bytes. Its write-ahead log normally has about 4 MB. */
const MIN_DATABASE_BYTES = 10_000_000;
/** When this check was written. If a clock shows an earlier time, the clock is wrong. */
const WRITTEN = Date.parse("2026-08-01T00:00:00Z");
const CLOCK_SLACK_MS = 3_600_000;
/** Maximum number of files that a finding lists. */
const MAX_FILES = 3;
/** The permission bits for users other than the owner and the group. */
const OTHERS = 0o007;
const HTTP_TIMEOUT_MS = 10_000;
/** Seconds by which this machine's clock may differ from the database's. */
const MAX_CLOCK_SECONDS = 60;
const OWN_HOST = /^(localhost|127(\.\d+){3}|\[::1\])$/;

const UPDATE = "run `inkling data update`";
const WAIT = "wait until it is done; the server then uses its release";

/** How to get newer data: where this host's data comes from, and the command that reads it. */
function refresh(settings: Settings): string {
  if (followsChannel(settings)) return remedyFor("old", settings.dataDir, true);
  if (settings.mirror !== undefined)
    return `refresh the files in the mirror ${shown("mirror", settings)}, then ${UPDATE}`;
  if (settings.offline)
    return `INKLING_OFFLINE fetches nothing: unset it, or set INKLING_MIRROR to newer files, then ${UPDATE}`;
  return UPDATE;
}

export const CHECKS: readonly (readonly [name: string, check: Check])[] = [
  ["packages", packages],
  ["clock", clock],
  ["port", ({ settings }) => listener("port", settings.host, settings.port)],
  ["admin port", ({ settings }) => listener("admin port", settings.adminHost, settings.adminPort)],
  ["data folder", dataFolder],
  ["channel", channel],
  ["release", releaseOpens],
  ["data", data],
  ["database", database],
];

function packages(): Finding {
  if (FORM !== "clone") return ok(FORM === "binary" ? "built into the program" : "installed by npm");
  const root = resolve(import.meta.dir, "../../../..");
  const why = whyInstall(root, { dev: false });
  return why === undefined ? ok("match package-lock.json") : problem(why, `run \`npm install\` in ${root}`);
}

function clock({ settings, now }: CheckInput): Finding {
  const built = current(settings)?.manifest.created_at;
  const least = Math.max(WRITTEN, built === undefined ? 0 : Date.parse(built) - CLOCK_SLACK_MS);
  if (now.getTime() >= least) return ok(now.toISOString());
  const why =
    built !== undefined && Date.parse(built) > now.getTime() ? `; the release is from ${built}` : "";
  return problem(
    `the clock shows ${now.toISOString()}, which is in the past${why}`,
    "set the clock, and keep it correct with NTP",
  );
}

async function listener(what: Listener, host: string, port: number): Promise<Finding> {
  const found = probePort(what, host, port);
  if (typeof found === "number") return ok(`${port} on ${host} is free: no server is running on it`);
  if (found.code === "EADDRINUSE" && (await isInkling(host, port))) {
    return ok(`${port} on ${host}: Inkling is running`);
  }
  return problem(found.message, found.hint);
}

/** Responses that only Inkling returns, one for each listener. */
const SIGNS = [
  ["/healthz", '{"status":"alive"}'],
  ["/metrics", "inkling_"],
] as const;

/** Does Inkling listen on this port? */
async function isInkling(host: string, port: number): Promise<boolean> {
  const base = localUrl(host, port);
  for (const [path, sign] of SIGNS) {
    try {
      const answer = await fetch(base + path, { signal: AbortSignal.timeout(HTTP_TIMEOUT_MS) });
      if (answer.ok && (await answer.text()).includes(sign)) return true;
    } catch {
      return false; // this is not HTTP, so the port is reported as in use
    }
  }
  return false;
}

function dataFolder({ settings, isFolderNamed }: CheckInput): Finding {
  const { dataDir } = settings;
  const denied = findDenied(dataDir);
  if (denied !== undefined) return problem(denied.message, denied.hint!);
  if (isFolderNamed && !existsSync(dataDir)) {
    return problem(
      `${dataDir} does not exist`,
      `check --data-dir and INKLING_DATA_DIR; if the folder is right, ${followsChannel(settings) ? "start `inkling serve`" : UPDATE}, which creates it`,
    );
  }
  let existing = dataDir;
  while (!existsSync(existing)) existing = dirname(existing);
  try {
    accessSync(existing, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (!followsChannel(settings) && current(settings) !== undefined) return servedReadOnly(settings);
    const explained = explainFileError(error, existing, dataDir) as Error & { hint?: string };
    return problem(explained.message, explained.hint ?? "choose another");
  }
  const free = freeBytes(existing);
  const found = `${dataDir} is writable, ${formatBytes(free)} free`;
  if (free < MIN_FREE_BYTES) {
    return problem(found, `a build needs about ${formatBytes(MIN_FREE_BYTES)}: free some space`);
  }
  if (existing !== dataDir) return ok(`${found}; Inkling creates it when needed`);
  const foreign = foreignFiles(dataDir);
  if (foreign !== undefined) return foreign;
  const isOpen = (statSync(dataDir).mode & OTHERS) !== 0;
  return isOpen ? note(`${found}; other users may read it`, `\`chmod -R o-rwx ${dataDir}\``) : ok(found);
}

/**
 * Returns a problem if files in the data folder belong to another user, usually because a command ran as root. Files of
 * the folder's group are left out, because several users may share a folder through a group.
 */
function foreignFiles(dataDir: string): Finding | undefined {
  const { uid, gid } = statSync(dataDir);
  let names: readonly string[];
  try {
    names = readdirSync(dataDir, { recursive: true }) as string[];
  } catch (error) {
    if (!isDenied(error)) throw error;
    return problem(`${(error as NodeJS.ErrnoException).path}: permission denied`, accessHint(dataDir));
  }
  const foreign = names.flatMap((name) => {
    const file = lstatSync(join(dataDir, name), { throwIfNoEntry: false });
    return file === undefined || file.uid === uid || file.gid === gid ? [] : [`${name} (user ${file.uid})`];
  });
  if (foreign.length === 0) return undefined;
  return problem(
    `user ${uid} owns ${dataDir}, but not all files in it: ${firstOf(foreign, MAX_FILES)}`,
    `as root, run \`chown -R ${uid} ${dataDir}\`; then run commands as user ${uid}`,
  );
}

/** Returns the free bytes on the file system of this path. */
function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

/**
 * Returns a note about a read-only data folder. If the database is elsewhere, the server can use a release that another
 * program put into the folder.
 * @throws CliError if the database is in the data folder
 */
function servedReadOnly(settings: Settings): Finding {
  return note(
    whyReadOnly(settings)!,
    "`inkling serve` serves the existing release; run `inkling data update` where the folder is writable",
  );
}

function channel({ settings }: CheckInput): Finding {
  if (settings.channel === undefined) return ok("none set: releases are built here");
  const report = readChannelReport(settings.dataDir);
  // Only a server that follows the channel writes a report. With the key, the host may publish and follow.
  if (settings.channelSigningKey !== undefined && !report?.fault)
    return ok(`${shown("channel", settings)}: this host publishes`);
  if (report === undefined) return note("never followed", "`inkling serve` follows it");
  const { fault, version, followed_at } = report;
  if (fault === null) return ok(`version ${version}, followed ${followed_at}`);
  const { release } = findUsable(settings.dataDir);
  const effect =
    release === undefined ? "this host has no release to serve" : `the server keeps ${release.name}`;
  return problem(
    `not followed since ${fault.since}: ${fault.reason} (${fault.kind}); ${effect}`,
    CHANNEL_FAULTS[fault.kind].fix,
  );
}

const current = ({ dataDir }: Settings) => openCurrent(dataDir);

/** Describes the build or download that is running in the data folder; undefined if there is none. */
function findRunning(settings: Settings, now: Date): string | undefined {
  const lock = findLock(settings.dataDir);
  if (lock === undefined) return undefined;
  const what = followsChannel(settings) ? "a download from the channel" : "a build";
  const started = formatAgo(Math.max(0, now.getTime() - lock.since.getTime()));
  return `${what} is running (process ${lock.pid}, started ${started})`;
}

async function releaseOpens({ settings, now }: CheckInput): Promise<Finding> {
  const found = current(settings);
  const running = findRunning(settings, now);
  const denied = found === undefined ? findDenied(settings.dataDir) : undefined;
  if (denied !== undefined) return problem(denied.message, denied.hint!);
  if (found === undefined) {
    return running === undefined ? noRelease(settings) : note(`there is none yet; ${running}`, WAIT);
  }
  const verdicts = verifySegments(settings.dataDir, found.manifest);
  const broken = verdicts.filter(isBroken);
  if (broken.length === 0) return ok(`${found.name}: every byte of ${verdicts.length} segments verified`);
  const damage = broken.map((verdict) => `${verdict.kind}: ${verdict.problem}`).join("; ");
  return running === undefined
    ? problem(damage, repair(settings, found.name, broken))
    : problem(`${damage}; ${running}`, WAIT);
}

function repair(settings: Settings, name: string, broken: ReturnType<typeof verifySegments>): string {
  const { dataDir } = settings;
  return followsChannel(settings)
    ? hintFor(dataDir, broken, undefined, true)
    : hintFor(dataDir, broken, damageHint(dataDir, name));
}

/**
 * Returns the finding for a missing release. A missing first release is only a note, because the first start creates
 * one.
 */
async function noRelease(settings: Settings): Promise<Finding> {
  if (await isInkling(settings.host, settings.port)) {
    const found =
      "there is none, but Inkling is running: it uses another folder, or its release was deleted here";
    const fix = followsChannel(settings) ? "the server fetches it from the channel again" : UPDATE;
    return problem(found, `name its folder with --data-dir; if this is its folder, ${fix}`);
  }
  if (followsChannel(settings)) {
    return note("there is none yet", "`inkling serve` fetches one from the channel");
  }
  return note("there is none yet", `\`inkling up\` builds one; before \`inkling serve\` ${UPDATE}`);
}

/** Reports the most important trouble with the data. `inkling data status` shows all of them, and each feed. */
function data({ settings, now }: CheckInput): Finding {
  const isFollower = followsChannel(settings);
  const ago = (at: string) => formatAgo(Math.max(0, now.getTime() - Date.parse(at)));
  const { failed } = readFeedsReport(settings.dataDir) ?? {};
  const release = current(settings);
  if (failed !== undefined) {
    const found = `the latest build failed ${ago(failed.at)}: ${failed.why}`;
    if (isFollower) return problem(found, "run `inkling doctor` on the builder");
    return failed.why === ABANDONED ? note(found, failedHint(failed)) : problem(found, failedHint(failed));
  }
  if (release === undefined) return ok("no build has failed");
  const { missing, partial } = release.manifest;
  const feeds = feedsOf(settings.dataDir, release);
  const staleHours = new Map(allFeeds(settings).map((feed) => [feed.id, feed.age.staleHours]));
  const held = heldFeeds(feeds).map(({ id }) => id);
  const overdue = overdueData(feeds, (id) => staleHours.get(id), now);
  const gaps = [
    ...(missing.length === 0 ? [] : [`\`inkling serve\` returns 503 for ${missing.join(", ")}`]),
    ...partial.map(({ answer, why }) => `${answer} is partial (${why})`),
    ...(overdue.length === 0 ? [] : [`overdue: ${overdue.join(", ")}`]),
    ...(held.length === 0 ? [] : [`new copies that look wrong are held: ${held.join(", ")}`]),
    ...(pinnedName(settings.dataDir) === undefined ? [] : ["the release is pinned"]),
  ];
  if (gaps.length === 0) return ok(dataAge(feeds, now) || `built ${ago(release.manifest.created_at)}`);
  const willCome = !isFollower && mayFindNewer(settings);
  const fix = `run \`inkling data status\` to see why; ${willCome ? "a running server fetches what is due, or " : ""}${refresh(settings)}`;
  return missing.length > 0 && !willCome ? problem(gaps.join("; "), fix) : note(gaps.join("; "), fix);
}

async function database({ settings, terminal, now }: CheckInput): Promise<Finding> {
  // Opening a missing database would create the file.
  const file = databaseFile(settings);
  const lost = lostDatabase(settings);
  if (lost !== undefined) return problem(lost.message, lost.hint);
  if (file !== undefined && !existsSync(file)) {
    return note(`${file} does not exist yet`, "`inkling keys create` creates it, and a key");
  }
  const full = fullDisk(settings);
  if (full !== undefined) return full;
  return withExistingStore(settings, terminal, async (store) => {
    const keys = await countKeys(store, now.getTime());
    const found = `${store.database.label}; active keys: ${keys.live} live, ${keys.sandbox} sandbox`;
    try {
      await store.checkWritable();
    } catch (error) {
      const { message, hint } = error as StoreError;
      const holders = file === undefined ? "" : `; \`fuser -v ${file}\` lists the programs that have it open`;
      return problem(`${found}; it is not writable: ${message}`, `${hint}${holders}`);
    }
    const clock = await wrongClock(store);
    if (clock !== undefined) return clock;
    if (keys.live > 0 || settings.apiKey !== undefined) return exposed(settings) ?? ok(found);
    const create = "create a key: `inkling keys create --name NAME`";
    if (await isInkling(settings.host, settings.port)) return problem(found, create);
    return note(found, `before \`inkling serve\`, ${create}; other commands need no key`);
  });
}

/** Returns a finding if the disk of an existing SQLite database is full. */
function fullDisk(settings: Settings): Finding | undefined {
  const file = databaseFile(settings);
  if (file === undefined) return undefined;
  const free = freeBytes(file);
  if (free >= MIN_DATABASE_BYTES) return undefined;
  return problem(
    `${file}: its disk has only ${formatBytes(free)} free`,
    `free space on ${dirname(file)}; the server then stores what waits`,
  );
}

/**
 * Returns a note if the connection to another machine is not encrypted, or the server's identity is not checked. By
 * default, Bun does neither.
 */
export function exposed(settings: Settings): Finding | undefined {
  if (databaseFile(settings) !== undefined) return undefined;
  const { hostname, searchParams } = new URL(settings.databaseUrl);
  const mode = searchParams.get("sslmode") ?? processEnvironment.PGSSLMODE ?? "disable";
  if (OWN_HOST.test(hostname) || /^verify-(ca|full)$/.test(mode)) return undefined;
  return note(
    `sslmode=${mode} to ${hostname}: ${mode === "require" ? "the server's identity is not checked" : "key hashes and overrides are sent unencrypted"}`,
    "unless only you use that network, add ?sslmode=verify-full&sslrootcert=FILE to INKLING_DATABASE_URL",
  );
}

/** Quotas follow the database's clock; usage and expiries follow this machine's clock. */
async function wrongClock(store: Store): Promise<Finding | undefined> {
  await store.ping(); // the first query also connects
  const before = Date.now();
  const clock = await store.readClock();
  const here = (before + Date.now()) / 2;
  return clockProblem(here - (clock ?? here));
}

/** @param aheadMs milliseconds by which this machine's clock is ahead of the database's */
export function clockProblem(aheadMs: number): Finding | undefined {
  const seconds = Math.round(aheadMs / 1_000);
  if (Math.abs(seconds) <= MAX_CLOCK_SECONDS) return undefined;
  const found = `this machine's clock is ${Math.abs(seconds)} s ${seconds < 0 ? "behind" : "ahead of"} the database's`;
  return problem(found, "synchronize both clocks with NTP");
}
