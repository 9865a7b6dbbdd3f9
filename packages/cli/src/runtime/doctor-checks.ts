// doctor-checks.ts: the checks of `inkling doctor` on this machine and its data, one row each; doctor-database.ts has those
// on the database.
//
// in   the active settings and the time
// out  a Finding: ok, a note (works, but know this), or a problem with what to do
// err  a check that throws is a problem with its message

import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isMirrorUrl } from "@inkling/compiler/mirror-url";
import type { Settings } from "@inkling/contract";
import type { FeedReport } from "@inkling/engine";
import {
  feedsOf,
  hintFor,
  isBroken,
  type NamedRelease,
  openCurrent,
  pinnedName,
  readChannelReport,
  readFeedsReport,
  verifySegments,
} from "@inkling/release-store";
import { FORM } from "@inkling/release-store/program";
import { type Listener, probePort } from "@inkling/server/serve";
import { whyInstall } from "../../bin/installed.mjs";
import packageJson from "../../package.json" with { type: "json" };
import { localUrl, shown } from "../config/settings.ts";
import { explainFileError } from "../terminal/errors.ts";
import { dataAge, overdueData } from "../terminal/release-tables.ts";
import { formatAgo, formatBytes } from "../terminal/terminal.ts";
import { checkMirror, mayFindNewer } from "./build.ts";
import { whyReadOnly } from "./data-folder.ts";
import { allFeeds } from "./feeds.ts";

export interface Checkup {
  readonly settings: Settings;
  readonly now: Date;
  readonly version: string;
}

export interface Finding {
  readonly state: "ok" | "note" | "problem";
  readonly found: string;
  readonly fix?: string;
}

export type Check = (checkup: Checkup) => Finding | Promise<Finding>;

export type Row = readonly [name: string, check: Check];

export const ok = (found: string): Finding => ({ state: "ok", found });
export const note = (found: string, fix: string): Finding => ({ state: "note", found, fix });
export const problem = (found: string, fix: string): Finding => ({ state: "problem", found, fix });

/** What is left free after a build of all feeds, with its temporary files. */
const MIN_FREE_BYTES = 1_000_000_000;
/** Feeds change daily or more often; a week without an update is worth a note. */
const OLD_RELEASE_MS = 7 * 86_400_000;
/** When this was written: a clock before it is wrong. */
const WRITTEN = Date.parse("2026-08-01T00:00:00Z");
const CLOCK_SLACK_MS = 3_600_000;
/** The rights of other users than owner and group. */
const OTHERS = 0o007;
const HTTP_TIMEOUT_MS = 3_000;

const UPDATE = "run `npx @inkling/cli data update`";

export const DATA_CHECKS: readonly Row[] = [
  ["runtime", runtime],
  ["packages", packages],
  ["clock", clock],
  ["port", ({ settings }) => listener("port", settings.host, settings.port)],
  ["admin port", ({ settings }) => listener("admin port", settings.adminHost, settings.adminPort)],
  ["data folder", dataFolder],
  ["mirror", mirror],
  ["channel", channel],
  ["release", releaseOpens],
  ["latest build", latestBuild],
  ["age of data", onRelease(age)],
  ["feeds", onRelease(feeds)],
  ["answers", onRelease(answers)],
];

function runtime(): Finding {
  if (FORM === "binary") return ok(`Bun ${Bun.version}`);
  const wanted = packageJson.dependencies.bun;
  const path = Bun.which("node");
  const node =
    path === null
      ? "not in PATH"
      : Bun.spawnSync([path, "--version"], { stderr: "ignore" }).stdout.toString().trim();
  const found = `Bun ${Bun.version}, Node ${node}`;
  if (Bun.version === wanted) return ok(found);
  return note(`${found}; tested with Bun ${wanted}`, "run `npm install`, and start with `npx @inkling/cli`");
}

function packages(): Finding {
  if (FORM !== "clone") return ok(FORM === "binary" ? "in the program itself" : "as npm installed them");
  const root = resolve(import.meta.dir, "../../../..");
  const why = whyInstall(root, { dev: false });
  return why === undefined
    ? ok("as package-lock.json lists them")
    : problem(why, `run \`npm install\` in ${root}`);
}

function clock({ settings, now }: Checkup): Finding {
  const built = current(settings)?.manifest.created_at;
  const least = Math.max(WRITTEN, built === undefined ? 0 : Date.parse(built) - CLOCK_SLACK_MS);
  if (now.getTime() >= least) return ok(now.toISOString());
  const why =
    built !== undefined && Date.parse(built) > now.getTime() ? `; the release is from ${built}` : "";
  return problem(
    `it is ${now.toISOString()}, which is in the past${why}`,
    "set the clock, and let NTP keep it",
  );
}

async function listener(what: Listener, host: string, port: number): Promise<Finding> {
  const found = probePort(what, host, port);
  if (typeof found === "number") return ok(`${port} on ${host} is free`);
  if (found.code === "EADDRINUSE" && (await isInkling(host, port))) {
    return ok(`${port} on ${host}: Inkling is running`);
  }
  return problem(found.message, found.hint);
}

/** What only Inkling serves, on either listener. */
const SIGNS = [
  ["/healthz", '{"status":"alive"}'],
  ["/metrics", "inkling_"],
] as const;

/** Does Inkling listen there? */
async function isInkling(host: string, port: number): Promise<boolean> {
  const base = localUrl(host, port);
  for (const [path, sign] of SIGNS) {
    try {
      const answer = await fetch(base + path, { signal: AbortSignal.timeout(HTTP_TIMEOUT_MS) });
      if (answer.ok && (await answer.text()).includes(sign)) return true;
    } catch {
      return false; // no HTTP: the port is then reported as in use
    }
  }
  return false;
}

function dataFolder({ settings }: Checkup): Finding {
  const { dataDir } = settings;
  let existing = dataDir;
  while (!existsSync(existing)) existing = dirname(existing);
  try {
    accessSync(existing, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (current(settings) !== undefined) return servedReadOnly(settings);
    const explained = explainFileError(error, existing) as Error & { hint?: string };
    return problem(explained.message, explained.hint ?? "choose another");
  }
  const { bavail, bsize } = statfsSync(existing);
  const free = bavail * bsize;
  const found = `${dataDir} is writable, ${formatBytes(free)} free`;
  if (free < MIN_FREE_BYTES) {
    return problem(found, `a build needs about ${formatBytes(MIN_FREE_BYTES)}: free some space`);
  }
  if (existing !== dataDir) return ok(`${found}; it is made when needed`);
  const isOpen = (statSync(dataDir).mode & OTHERS) !== 0;
  return isOpen ? note(`${found}; other users may read it`, `\`chmod -R o-rwx ${dataDir}\``) : ok(found);
}

/** A release that others put there can be served, if the database is elsewhere. @throws CliError where it is not */
function servedReadOnly(settings: Settings): Finding {
  return note(
    whyReadOnly(settings)!,
    "`npx @inkling/cli serve` serves what is there; `npx @inkling/cli data update` where it can be written",
  );
}

function channel({ settings }: Checkup): Finding {
  if (settings.channel === undefined) return ok("none set: releases are built here");
  if (settings.channelSigningKey !== undefined)
    return ok(`${shown("channel", settings)}: this host publishes`);
  const report = readChannelReport(settings.dataDir);
  if (report === undefined) return note("never followed", "`npx @inkling/cli serve` follows it");
  const { fault, version, followed_at } = report;
  if (fault === null) return ok(`version ${version}, followed ${followed_at}`);
  return problem(
    `not followed since ${fault.since}: ${fault.reason} (${fault.kind})`,
    "docs/cluster-failures.md has what to do for each reason; the server keeps its release",
  );
}

async function mirror({ settings }: Checkup): Promise<Finding> {
  const { mirror } = settings;
  if (settings.channel !== undefined && settings.channelSigningKey === undefined) {
    return ok("not used: releases come from the channel");
  }
  if (mirror === undefined) return ok("none set: feeds come from their publishers");
  if (isMirrorUrl(mirror)) {
    const answer = await fetch(mirror, {
      method: "HEAD",
      redirect: "manual",
      signal: AbortSignal.timeout(HTTP_TIMEOUT_MS),
    });
    return ok(`${shown("mirror", settings)} answers (${answer.status})`);
  }
  const files = (await checkMirror(mirror)).filter((name) => /^[a-z0-9-]+\.[^/]+$/.test(name));
  if (files.length > 0) return ok(`${mirror} has ${files.length} files`);
  return problem(`${mirror} has no feed`, "put one file per feed there, named <feed id>.<anything>");
}

const current = ({ dataDir }: Settings) => openCurrent(dataDir);

/** Runs `check` on the release in use; without one the check `release` has reported that. */
function onRelease(check: (current: NamedRelease, checkup: Checkup) => Finding): Check {
  return (checkup) => {
    const found = current(checkup.settings);
    return found === undefined ? note("unknown: there is no release", UPDATE) : check(found, checkup);
  };
}

async function releaseOpens({ settings }: Checkup): Promise<Finding> {
  const found = current(settings);
  if (found === undefined) return noRelease(settings);
  const verdicts = verifySegments(settings.dataDir, found.manifest);
  const broken = verdicts.filter(isBroken);
  if (broken.length === 0) return ok(`${found.name}: every byte of ${verdicts.length} segments verified`);
  return problem(broken.map((verdict) => `${verdict.kind}: ${verdict.problem}`).join("; "), hintFor(broken));
}

/** A release that was never built is no problem: the first start builds it. */
async function noRelease({ host, port }: Settings): Promise<Finding> {
  if (await isInkling(host, port)) {
    const found = "there is none, but Inkling is running: on another folder, or on what was deleted here";
    return problem(found, `name its folder with --data-dir; if this is the one, ${UPDATE}`);
  }
  return note(
    "there is none yet",
    `\`npx @inkling/cli up\` builds one; before \`npx @inkling/cli serve\` ${UPDATE}`,
  );
}

function latestBuild({ settings, now }: Checkup): Finding {
  const failed = readFeedsReport(settings.dataDir)?.failed;
  if (failed === undefined) return ok("did not fail");
  const ago = formatAgo(now.getTime() - Date.parse(failed.at));
  return problem(`failed ${ago} and published nothing: ${failed.why}`, `fix the cause, then ${UPDATE}`);
}

function age(release: NamedRelease, { now, settings }: Checkup): Finding {
  const milliseconds = now.getTime() - Date.parse(release.manifest.created_at);
  const feeds = feedsOf(settings.dataDir, release);
  const data = dataAge({ feeds }, now);
  const found = [...(data === "" ? [] : [data]), `built ${formatAgo(milliseconds)}`].join("; ");
  if (pinnedName(settings.dataDir) !== undefined)
    return note(`${found}; it is pinned`, "`npx @inkling/cli data unpin` uses the newest release again");
  const staleHours = new Map(allFeeds(settings).map((feed) => [feed.id, feed.age.staleHours]));
  const overdue = overdueData(feeds, (id) => staleHours.get(id), now);
  if (overdue.length > 0) return note(`${found}; older than it should be: ${overdue.join(", ")}`, UPDATE);
  return milliseconds > OLD_RELEASE_MS ? note(found, UPDATE) : ok(found);
}

function feeds(release: NamedRelease, { settings }: Checkup): Finding {
  const all = feedsOf(settings.dataDir, release);
  const troubled = all.filter((feed) => stateOf(feed) !== "loaded");
  if (troubled.length === 0) return ok(`all ${all.length} loaded`);
  const list = troubled.map((feed) => `${feed.id} ${stateOf(feed)}`).join(", ");
  return note(
    `${troubled.length} of ${all.length} need attention: ${list}`,
    "`npx @inkling/cli data status` shows why; `npx @inkling/cli data update` tries again; INKLING_MIRROR serves machines without internet",
  );
}

/** In the order of what matters most to the operator. */
function stateOf({ state, pending, stale, error }: FeedReport): string {
  if (state !== "loaded") return state;
  if (pending !== undefined) return "waits for --accept";
  if (stale === true) return "stale";
  return error === undefined ? "loaded" : "not updated";
}

function answers(release: NamedRelease, { settings }: Checkup): Finding {
  const { manifest } = release;
  const gaps = [
    ...manifest.missing.map((answer) => `${answer} is missing`),
    ...manifest.partial.map(({ answer, why }) => `${answer} is partial (${why})`),
  ];
  if (gaps.length === 0) return ok("all have data");
  const found = gaps.join("; ");
  if (manifest.missing.length > 0 && willCome(release, settings)) {
    const until = "until then `npx @inkling/cli serve` answers 503 for what is missing";
    return note(found, `a server fetches these feeds within minutes of its start, or ${UPDATE}; ${until}`);
  }
  const fix = "`npx @inkling/cli serve` answers 503 for what is missing; get the feeds named above";
  return manifest.missing.length > 0 ? problem(found, fix) : note(found, fix);
}

/** Is there for each missing answer a feed that was never fetched, and that the next build fetches? */
function willCome(release: NamedRelease, settings: Settings): boolean {
  const unfetched = feedsOf(settings.dataDir, release).filter(
    ({ state, error }) => state === "missing" && error === undefined,
  );
  return (
    mayFindNewer(settings) &&
    release.manifest.missing.every((answer) => unfetched.some(({ sets }) => sets === answer))
  );
}
