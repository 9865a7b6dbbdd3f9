// data.ts: implements `inkling data update | status | verify`, and has the texts of `diff`, `rollback` and `unpin`.

import { ACCEPT_RELEASE, copyName, parseCopyName, type Settings, settingsReadBy } from "@inkling/contract";
import {
  currentName,
  damageHint,
  describeBroken,
  feedsOf,
  findUsable,
  hintFor,
  isBroken,
  pinnedName,
  ReleaseError,
  readFeedsReport,
  releaseNames,
  releasesBefore,
  remedyFor,
  requireCurrent,
  requireCurrentName,
  requireKeptName,
  verifySegments,
} from "@inkling/data";
import {
  answersIn,
  dataAges,
  type FailedBuild,
  type FeedReport,
  LOOKUPS,
  oldestAge,
  SEGMENT_OF,
} from "@inkling/engine";
import { DATA, type Input, type Output, type Updates } from "@inkling/operations";
import type { Command } from "commander";
import {
  type BuildDone,
  type BuildResult,
  build,
  failedFeeds,
  failedHint,
  findLastBuild,
  followsChannel,
  heldFeeds,
  heldText,
  requireBuilder,
  unreachedText,
} from "../runtime/build.ts";
import { addResultAction, type Context } from "../runtime/command.ts";
import { durationMs } from "../runtime/durations.ts";
import { feedOf, localFiles } from "../runtime/feeds.ts";
import { addResource, type OperationCall, runOperation } from "../runtime/operation-command.ts";
import { CliError, EXIT } from "../terminal/errors.ts";
import {
  conflictsText,
  copyAge,
  dataAge,
  dataGaps,
  feedTable,
  oldestData,
  segmentTable,
} from "../terminal/release-tables.ts";
import {
  formatAge,
  formatAgo,
  formatBytes,
  formatCount,
  roomyTable,
  type Style,
  type Terminal,
  table,
  warn,
} from "../terminal/terminal.ts";

const UNPIN = "`inkling data unpin`";

export const addData = (program: Command, context: Context) =>
  addResource(program, context, DATA, {
    "inkling data update": addUpdate,
    "inkling data status": addStatus,
    release_changes: { prepare: requireEarlier, text: diffText(context.terminal) },
    "inkling data verify": addVerify,
    roll_back: {
      prepare: async (input, { settings: { dataDir } }) => ({
        ...input,
        current: currentName(dataDir) ?? "",
      }),
      remark: ({ passed_over }) =>
        passed_over.map((problem) => `warning: passed over: ${problem}`).join("\n"),
      text: ({ from, to }) =>
        to === from
          ? `Release ${to} is in use, and remains in use until you run ${UNPIN}.`
          : `Release ${to} is in use again (before: ${from}), and remains in use until you run ${UNPIN}. A running server switches within seconds.`,
    },
    unpin: {
      text: ({ from, to, changed }) => {
        if (!changed) return `No release is pinned; ${from} is in use.`;
        return to === from ? `${from} is no longer pinned.` : `Release ${to} is in use (before: ${from}).`;
      },
    },
  });

function addUpdate(data: Command, context: Context): void {
  const command = data
    .command("update")
    .description("build a release from the newest copies of all feeds, and switch to it")
    .option(
      "--accept <copy...>",
      'use these held copies although they look wrong: ID, or ID@SHA256 for exactly this copy; "release": all held copies, and a release that fails its check',
    )
    .addHelpText(
      "after",
      `
A running server picks up the new release by itself. If another build is running, the command waits for it, and then
fetches only the feeds that did not arrive with that build. The command reports feeds that are held, unreachable, expired or
missing. It ignores expired copies, uses the last good copies of the other feeds, and still publishes the release. The
exit code is then 3. To build without a feed permanently, run \`inkling feeds disable ID\`. HTTPS_PROXY and NO_PROXY set a
proxy.

Examples:
  inkling data update
  inkling data update --mirror /srv/feeds     one file per feed, for machines without internet
  inkling data update --accept ipsum-3@0123456789ab
  inkling data update --accept release        uses all held copies
  inkling data update --offline --json`,
    );
  addResultAction(command, context, settingsReadBy("builder"), async ({ settings, flags }) => {
    requireBuilder(settings);
    const accept = ((flags.accept ?? []) as string[]).map((text) => acceptedCopy(settings, text));
    const { done, conflicts } = await update({ context, settings, flags }, accept);
    const { type: _, nextDue, peakBytes, ...rest } = done;
    // If the build found an older release with the same content, the report contains that release's feed states.
    const feeds = feedsOf(settings.dataDir, { name: done.name, manifest: done.release });
    return {
      json: {
        ...rest,
        ...(nextDue !== undefined && { next_due: nextDue }),
        peak_bytes: peakBytes,
        release: { ...done.release, feeds },
        conflicts: conflicts.map(({ type: _, ...conflict }) => conflict),
      },
      text: updateText(done, feeds, context.terminal.style),
      exitCode: failedFeeds(done).length > 0 ? EXIT.withoutSome : EXIT.ok,
    };
  });
}

/** An id alone means the copy that is held now. An id without a held copy is refused like any other checksum. */
function acceptedCopy(settings: Settings, text: string): string {
  if (text === ACCEPT_RELEASE) return text;
  const { feed, sha256 } = parseCopyName(text);
  const { id } = feedOf(settings, feed);
  if (sha256 !== "") return `${id}@${sha256}`;
  const held = readFeedsReport(settings.dataDir)?.feeds.find((one) => one.id === id)?.held;
  return copyName(id, held?.sha256 ?? NO_COPY);
}

const NO_COPY = "0".repeat(64);

/** Builds a release in this process. */
async function update({ context, settings, flags }: OperationCall, accept: readonly string[]) {
  const { terminal, stopper } = context;
  let built: BuildResult | undefined;
  const updates: Updates = {
    state: { running: false, asked: false, last: null },
    isUnderWay: false,
    request: async (accept = []) => {
      built = await build(settings, terminal, stopper.signal, { fetch: true, accept });
    },
  };
  const call = { context, settings, flags, updates };
  const { update_now, accept_copies } = DATA.operations;
  if (accept.length === 0) await runOperation(call, DATA, update_now, {});
  else await runOperation(call, DATA, accept_copies, { copies: [...accept] });
  return built!; // otherwise, the build has thrown
}

/** @param feeds the states of the feeds after this build */
export function updateText(done: BuildDone, feeds: readonly FeedReport[], style: Style): string {
  const { name, pinned, held, expired, failed, missing } = done;
  const same = "already has the same content: nothing to publish";
  return [
    `Release ${name} ${done.published ? "published" : same} (${done.seconds.toFixed(1)} s, ${formatBytes(done.peakBytes)} of memory).`,
    ...(pinned === undefined
      ? []
      : [`  ${pinned} is pinned and remains in use: ${UNPIN} switches to the newest release`]),
    ...dataGaps(done.release, style).map((gap) => `  ${gap}`),
    ...(done.unreached.length > 0 ? [unreachedText(done.unreached)] : []),
    ...(failed.length > 0 ? [`Failed: ${failed.join(", ")}. ${REASON_HINT}`] : []),
    ...(held.length > 0 ? [heldText(feeds.filter(({ id }) => held.includes(id)))] : []),
    ...(expired.length > 0 ? [`Expired: ${expired.join(", ")}. ${MISSING_HINT}`] : []),
    ...(missing.length > 0 ? [`Missing: ${missing.join(", ")}. ${MISSING_HINT}`] : []),
  ].join("\n");
}

const REASON_HINT = "Run `inkling data status` to see why";
const MISSING_HINT = `${REASON_HINT}; \`inkling feeds disable ID\` builds without a feed`;

/** Describes the failure of the latest build, and what to do. */
function failedText(failed: FailedBuild): string {
  const hint = failedHint(failed);
  return `The latest build failed at ${failed.at}: ${failed.why}.\n${hint[0]!.toUpperCase()}${hint.slice(1)}.`;
}

function addStatus(data: Command, context: Context): void {
  const command = data
    .command("status")
    .description("show the release in use: age, segments, feeds, missing data")
    .option("--max-age <duration>", "exit with 3 if data is older or missing, such as 75d or 36h")
    .addHelpText(
      "after",
      `
With --max-age, the command prints a line on standard error for each lookup whose oldest data is older, and for each
flag or other answer without data. The command reads only the data folder, so a scheduled job can run it before it uses
the data.

Examples:
  inkling data status
  inkling data status --json
  inkling data status --max-age 75d > /dev/null && inkling enrich visits.csv --out visits-with-places.csv`,
    );
  addResultAction(command, context, ["dataDir"], ({ settings, flags }) => {
    const { terminal } = context;
    const maxAgeMs =
      flags.maxAge === undefined ? Number.POSITIVE_INFINITY : durationMs(flags.maxAge, "--max-age", "75d");
    const status = statusOf(settings);
    const { release } = status;
    const now = new Date();
    const ages = dataAges(release.feeds, now.getTime());
    const tooOld = LOOKUPS.flatMap((lookup) => {
      const oldest = oldestAge(ages.filter(({ answer }) => answersIn(SEGMENT_OF[lookup]).includes(answer)));
      return oldest !== undefined && oldest.seconds * 1000 > maxAgeMs ? [{ lookup, ...oldest }] : [];
    });
    const hint = `(--max-age ${flags.maxAge}): ${remedyFor("old", settings.dataDir)}`;
    for (const { lookup, feed, seconds } of tooOld)
      warn(
        terminal,
        `the oldest data of ${lookup}, from ${feed}, is ${formatAge(seconds * 1000)} old ${hint}`,
      );
    // If all copies of an answer's feeds expire, the answer has no data and therefore no age.
    const missing = flags.maxAge === undefined ? [] : release.missing;
    for (const answer of missing) warn(terminal, `there is no data for ${answer} ${hint}`);
    return {
      ...(tooOld.length + missing.length > 0 && { exitCode: EXIT.withoutSome }),
      json: {
        ...status,
        ages: Object.fromEntries(ages.map(({ answer, seconds }) => [answer, seconds])),
        oldest_seconds: oldestAge(ages)?.seconds ?? null,
      },
      text: () => statusText(status, settings, now, terminal),
    };
  });
}

/** @throws ReleaseError, CliError if there is no release */
function statusOf(settings: Settings) {
  const { dataDir } = settings;
  const { failed: failure = null } = readFeedsReport(dataDir) ?? {};
  const failed = followsChannel(settings) ? null : failure;
  if (failed !== null && currentName(dataDir) === undefined) {
    const text = `there is no release in ${dataDir}: the latest build failed at ${failed.at}: ${failed.why}`;
    throw new CliError(text, failedHint(failed));
  }
  const current = requireCurrent(dataDir);
  const last = findLastBuild(dataDir);
  /** Why the release cannot be served, according to a quick check of its files. */
  const { problem = null } = findUsable(dataDir);
  return {
    name: current.name,
    problem,
    pinned: pinnedName(dataDir) ?? null,
    /** The latest build, if it failed. */
    failed,
    release: { ...current.manifest, feeds: [...feedsOf(dataDir, current)] },
    /** Newest first. */
    releases: releaseNames(dataDir),
    conflicts: last?.release === current.name ? last.conflicts : [],
  };
}

function statusText(status: ReturnType<typeof statusOf>, settings: Settings, now: Date, terminal: Terminal) {
  const { name, problem, pinned, failed, release, releases, conflicts } = status;
  const built = formatAgo(now.getTime() - Date.parse(release.created_at));
  const age = dataAge(release.feeds, now);
  const kept = releases.map((each) => {
    const remarks = [...(each === name ? ["current"] : []), ...(each === pinned ? ["pinned"] : [])];
    return remarks.length === 0 ? each : `${each} (${remarks.join(", ")})`;
  });
  const held = heldFeeds(release.feeds);
  const parts = [
    `Release ${name}, built ${release.created_at} (${built}${oldestData(release.feeds, now)})`,
    problem === null
      ? ""
      : `${terminal.style.red("damaged")}  ${problem}: ${remedyFor("damaged", settings.dataDir)}.`,
    age === "" ? "" : `Age of its data: ${age}`,
    segmentTable(release),
    feedTable(release.feeds, localFiles(settings), now, terminal.width),
    dataGaps(release, terminal.style).join("\n"),
    conflictsText(conflicts, terminal.width),
    pinned === null ? "" : `${pinned} is pinned: newer releases are not used until you run ${UNPIN}.`,
    held.length === 0 ? "" : heldText(held),
    failed === null ? "" : failedText(failed),
    `Releases kept: ${kept.join(", ")}`,
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

function addVerify(data: Command, context: Context): void {
  const command = data
    .command("verify")
    .description("verify every byte of the release in use: checksums, order, pointers")
    .addHelpText("after", "\nThe exit code is 1 if anything is wrong.\n\nExamples:\n  inkling data verify");
  addResultAction(command, context, ["dataDir"], ({ settings, flags }) => {
    const { name, manifest } = requireCurrent(settings.dataDir);
    const segments = verifySegments(settings.dataDir, manifest);
    const broken = segments.filter(isBroken);
    const ok = broken.length === 0;
    const text = segments
      .map(({ kind, file, bytes, problem }) => `${kind} (${file}): ${problem ?? `ok, ${formatBytes(bytes)}`}`)
      .join("\n");
    if (ok || flags.json) return { json: { name, ok, segments }, text, exitCode: ok ? EXIT.ok : EXIT.error };
    context.terminal.out(text);
    throw new CliError(
      describeBroken(name, broken),
      hintFor(settings.dataDir, broken, damageHint(settings.dataDir, name)),
    );
  });
}

type Diff = (typeof DATA.operations)["release_changes"];
type Changes = NonNullable<Output<Diff>["changes"]>;

/** @throws ReleaseError if the release to compare with is not given, and there is no earlier one */
async function requireEarlier(input: Input<Diff>, { settings: { dataDir } }: OperationCall) {
  const name = input.id === "current" ? requireCurrentName(dataDir) : requireKeptName(dataDir, input.id);
  if (input.before !== undefined || releasesBefore(dataDir, name).length > 0) return input;
  throw new ReleaseError(
    `there is no release before ${name}`,
    "give the older release; run `inkling data status` to see the stored releases",
  );
}

const FEED_HEAD = ["FEED", "SETS", "CHANGE", "BEFORE", "ENTRIES", "AGE BEFORE", "AGE"];

const diffText =
  ({ width }: Terminal) =>
  (diff: Output<Diff>): string => {
    const { release, created_at, before, before_created_at, feeds_changed, changes } = diff;
    const built = (at: string | null) =>
      at === null ? "" : `built ${formatAgo(Date.now() - Date.parse(at))}`;
    const rows = (feeds_changed ?? []).map(({ feed, sets, change, ...counts }) => [
      feed,
      sets,
      change,
      change === "added" ? "-" : formatCount(counts.entries_before),
      change === "removed" ? "-" : formatCount(counts.entries),
      copyAge(counts.age_seconds_before),
      copyAge(counts.age_seconds),
    ]);
    return [
      `Release ${release}, ${built(created_at)}`,
      `compared with ${before}, ${built(before_created_at)}`,
      "",
      rows.length === 0 ? "No feed changed." : roomyTable([FEED_HEAD, ...rows], [3, 4], 5, width),
      "",
      changesText(changes ?? {}),
    ].join("\n");
  };

/** Formats how many addresses, networks and domains gained or lost each flag. */
function changesText({ flags, disposable }: Changes): string {
  const rows = Object.entries(flags ?? {}).flatMap(([flag, { added, removed }]) => [
    [flag, "IPv4 addresses", formatCount(added.ipv4_addresses), formatCount(removed.ipv4_addresses)],
    [flag, "IPv6 networks", formatCount(added.ipv6_networks), formatCount(removed.ipv6_networks)],
  ]);
  if (disposable !== undefined)
    rows.push(["disposable", "domains", formatCount(disposable.added), formatCount(disposable.removed)]);
  const missing = [
    ...(flags === undefined ? ["flags of addresses"] : []),
    ...(disposable === undefined ? ["disposable"] : []),
  ];
  return [
    ...(rows.length > 0 ? [table([["FLAG", "COUNTS", "ADDED", "REMOVED"], ...rows], [2, 3])] : []),
    ...missing.map((what) => `Not compared, because a release lacks this data: ${what}`),
  ].join("\n");
}
