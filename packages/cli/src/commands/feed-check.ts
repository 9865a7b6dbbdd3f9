// feed-check.ts: `inkling feeds check` reads one feed, or all of them, as a build would, and keeps nothing.

import { type Feed, hasSource } from "@inkling/compiler/feed";
import { isChosen } from "@inkling/compiler/feed-choice";
import type { FeedCheck } from "@inkling/compiler/load";
import type { Settings } from "@inkling/contract";
import type { Command } from "commander";
import { mayFetch } from "../runtime/build.ts";
import { addResultAction, type Context } from "../runtime/command.ts";
import { allFeeds, choiceOf, credentialsOf, feedOf } from "../runtime/feeds.ts";
import { CliError, EXIT, usage } from "../terminal/errors.ts";
import { LiveLine, stepLine } from "../terminal/progress.ts";
import { formatAge, formatCount, roomyTable, warn } from "../terminal/terminal.ts";

const SETTINGS = ["dataDir", "mirror", "offline"] as const;
/** Number of feeds that `--all` reads at the same time, as a build does. */
const CONCURRENT = 4;

export function addCheck(feeds: Command, context: Context): void {
  const command = feeds
    .command("check [id]")
    .description("read a feed as a build would, and change nothing")
    .option("--all", "read every enabled feed, and compare the age of its data with its cadence")
    .addHelpText(
      "after",
      `
--all shows for each feed the publisher's own date, if there is one, and what is wrong: data older than the feed's limit,
a source that does not respond or has moved to another address, or a seed that is no longer renewed or whose package
states another licence. It downloads every enabled feed. The exit code is 3 if anything is wrong.

Examples:
  inkling feeds check office-vpn
  inkling feeds check --all`,
    );
  addResultAction(command, context, SETTINGS, async ({ settings, flags }, id?: string) => {
    if ((id === undefined) === (flags.all !== true))
      throw usage("`feeds check` needs either a feed or --all", "inkling feeds list shows the feeds");
    if (id === undefined) return checkAll(settings, context);
    const feed = feedOf(settings, id);
    if (feed.budgetPerDay !== undefined)
      throw new CliError(
        `${id} cannot be checked outside a build: its publisher allows only ${feed.budgetPerDay} downloads a day`,
        "`inkling data update` reads it and counts the download",
      );
    const report = await readUsable(feed, settings, context);
    return { json: report, text: () => reportText(report) };
  });
}

/** Imported only on use, because it loads network and archive code that no other `feeds` command needs. */
async function read(feed: Feed, settings: Settings): Promise<FeedCheck> {
  const { checkFeed } = await import("@inkling/compiler/load");
  return checkFeed(feed, {
    mirror: settings.mirror,
    fetch: mayFetch(settings),
    credentials: credentialsOf(settings),
  });
}

/** @throws CliError if no copy of the feed can be used */
export async function readUsable(
  feed: Feed,
  settings: Settings,
  { terminal, stopper }: Context,
): Promise<FeedCheck> {
  stopper.release(); // parsing a large file blocks this process for seconds, so a signal must end it by itself
  const report = await read(feed, settings);
  if (report.state === "loaded" && report.error === undefined) {
    if (report.usable === 0)
      warn(terminal, `${feed.id} has no effect, because Inkling skips all of its entries`);
    return report;
  }
  const why =
    report.error ??
    (mayFetch(settings) ? "there is no copy" : "fetching is turned off: see --offline and --mirror");
  const hint = "fix the feed or its file; `feeds add --no-check` adds a feed without reading it";
  throw new CliError(`${feed.id} cannot be used: ${why}`, hint);
}

/** Counts the entries as `data status` does, and then those that have an effect. */
export function reportText({
  id,
  entries,
  usable = entries,
  names = "networks",
  skipped,
}: FeedCheck): string {
  const left =
    skipped === undefined ? "" : `; skipped ${formatCount(skipped.entries)}, the first: ${skipped.first}`;
  const counted = entries === 1 ? names.replace(/s$/, "") : names;
  const used = usable === entries ? "" : `, of which Inkling uses ${formatCount(usable)}`;
  return `${id}: ${formatCount(entries)} ${counted}${used}${left}`;
}

interface Finding {
  readonly feed: Feed;
  /** Undefined if the feed is not read outside a build. */
  readonly report: FeedCheck | undefined;
  /** What the operator may have to act on. Empty if all is well. */
  readonly problems: readonly string[];
}

async function checkAll(settings: Settings, context: Context) {
  const choice = choiceOf(settings.dataDir);
  const chosen = allFeeds(settings).filter((feed) => isChosen(feed, choice));
  const reports = await readAll(chosen, settings, context);
  const found = chosen
    .map((feed, i): Finding => ({ feed, report: reports[i], problems: problemsOf(feed, reports[i]) }))
    .sort((a, b) => b.problems.length - a.problems.length || a.feed.id.localeCompare(b.feed.id));
  const wrong = found.filter(({ problems }) => problems.length > 0).length;
  return {
    json: found.map(({ feed, report, problems }) => ({ ...(report ?? { id: feed.id }), problems })),
    text: () => `${findingsTable(found, context.terminal.width)}\n\n${summary(found.length, wrong)}`,
    exitCode: wrong > 0 ? EXIT.withoutSome : EXIT.ok,
  };
}

/** Reads all feeds, some at a time, and shows the progress. @returns in order; undefined for a feed that is not read */
async function readAll(
  feeds: readonly Feed[],
  settings: Settings,
  { terminal, stopper }: Context,
): Promise<readonly (FeedCheck | undefined)[]> {
  stopper.release(); // parsing a large file blocks this process for seconds, so a signal must end it by itself
  const reports = new Array<FeedCheck | undefined>(feeds.length);
  const waiting = [...feeds.entries()];
  const line = new LiveLine(terminal);
  const step = { name: "reading feeds", since: performance.now(), total: feeds.length, done: 0 };
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [i, feed] = next;
      if (feed.budgetPerDay === undefined) reports[i] = await read(feed, settings);
      step.done++;
      line.show(() => stepLine(step, performance.now(), terminal.columns, terminal.style));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, work));
  line.clear();
  return reports;
}

const summary = (total: number, wrong: number) =>
  wrong === 0
    ? `${total} feeds are as their publishers promise.`
    : `${wrong} of ${total} feeds ${wrong === 1 ? "needs" : "need"} attention, marked with "!". Fix what REMARK shows, or turn a feed off with \`inkling feeds disable FEED\`.`;

const HOUR_MS = 3_600_000;

export function problemsOf(feed: Feed, report: FeedCheck | undefined, now = Date.now()): string[] {
  if (report === undefined) return [];
  const { error, changed_licence: licence, moved_to: movedTo, stale, state } = report;
  return [
    ...(error === undefined ? [] : [error]),
    ...(state === "missing" && error === undefined && hasSource(feed, new Date(now))
      ? ["no copy was found"]
      : []),
    ...(state === "loaded" && stale === true
      ? [`older than ${formatAge(feed.age.staleHours * HOUR_MS)}`]
      : []),
    ...(movedTo === undefined ? [] : [`moved to ${movedTo}`]),
    ...(licence === undefined ? [] : [`its seed ${feed.seed!.package} states the licence ${licence}`]),
    ...seedProblem(feed, now),
  ];
}

/**
 * A seed answers until the first fetch. If its package is no longer renewed, that first answer grows old, and the
 * publisher's own file is the second source.
 */
function seedProblem({ seed, age, urls }: Feed, now: number): string[] {
  if (seed?.published === undefined) return [];
  const hours = (now - Date.parse(seed.published)) / HOUR_MS;
  if (hours <= age.staleHours) return [];
  const [second] = urls(new Date(now));
  const instead = second === undefined ? "" : `; \`inkling data update\` fetches ${second}`;
  return [`its seed ${seed.package} is from ${seed.published}${instead}`];
}

function findingsTable(found: readonly Finding[], width: number | undefined): string {
  const rows = found.map(({ feed, report, problems }) => {
    const date = report?.published_at ?? report?.fetched_at;
    const from = report === undefined ? "-" : (date?.slice(0, 10) ?? "no date");
    const note =
      report === undefined
        ? `not read: its publisher allows ${feed.budgetPerDay} downloads a day`
        : problems.join("; ");
    const entries = report === undefined ? "-" : formatCount(report.entries);
    return [feed.id, problems.length === 0 ? "ok" : "!", from, cadence(feed), entries, feed.licence, note];
  });
  const head = ["FEED", "", "DATA FROM", "EVERY", "ENTRIES", "LICENCE", "REMARK"];
  return roomyTable([head, ...rows], [4], 6, width);
}

const cadence = ({ cadenceHours }: Feed) => formatAge(cadenceHours * HOUR_MS);
