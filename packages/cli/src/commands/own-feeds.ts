// own-feeds.ts: `inkling feeds add | remove` manages the operator's own feeds on the command line.
//
// Added feeds are stored in <dataDir>/feeds.json, next to the choice of feeds. They are not in inkling.toml, because
// rewriting that file would lose its comments. Rows have the same format in both files, and the same code reads them.

import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Feed } from "@inkling/compiler/feed";
import { writeFeedChoice } from "@inkling/compiler/feed-choice";
import { feedTable, OwnFeedError } from "@inkling/compiler/feed-table";
import { ownFeedProblems, ownFeeds } from "@inkling/compiler/own-feed";
import { FEED_CLAIMS, FEED_FORMATS, type OwnFeed, type Settings, shownFeed } from "@inkling/contract";
import { DATA_FOLDER } from "@inkling/data";
import type { Command } from "commander";
import { cliAuthor } from "../config/environment.ts";
import { withAbsoluteFile } from "../config/setting-types.ts";
import { requireBuilder } from "../runtime/build.ts";
import { addResultAction, type Context, type Flags } from "../runtime/command.ts";
import { ensureWritable } from "../runtime/data-folder.ts";
import { choiceOf, feedOf } from "../runtime/feeds.ts";
import { audited } from "../runtime/store.ts";
import { CliError, usage } from "../terminal/errors.ts";
import { readUsable, reportText } from "./feed-check.ts";

const READ_SETTINGS = ["dataDir", "mirror", "offline"] as const;
export const NEXT_ROUND = "A running server applies this automatically; otherwise run `inkling data update`.";

export function addOwnFeeds(feeds: Command, context: Context): void {
  addAdd(feeds, context);
  addRemove(feeds, context);
}

function addAdd(feeds: Command, context: Context): void {
  const command = feeds
    .command("add <id>")
    .description("add your own feed: a file or URL, its format and its claim")
    .option("--format <format>", FEED_FORMATS.join(", "))
    .option("--claims <claim>", FEED_CLAIMS.join(", "))
    .option("--file <path>", "a file on this machine, read with each build")
    .option("--url <URL>", "URL to fetch it from")
    .option("--path <path>", "path to the entries in a JSON document, such as $.prefixes[*].ip_prefix")
    .option(
      "--header <name>",
      "a header to send with each request; its value comes from INKLING_FEED_SECRET_<ID>",
    )
    .option("--secret <name>", "take the header's value from INKLING_FEED_SECRET_<NAME> instead")
    .option("--operator <name>", "operator of the networks")
    .option("--weight <number>", "1 to 8; an entry with weight 1 needs confirmation from another list")
    .option(
      "--copies <ids...>",
      "feeds that this feed copies entries from; an entry in both feeds counts once",
    )
    .option("--every-hours <hours>", "how often the URL is checked (default: 24)")
    .option("--max-age-days <days>", "older copies are ignored")
    .option("--title <text>", "one line that describes the feed")
    .option("--licence <text>", "the licence of the data")
    .option("--no-check", "add the feed without reading it first")
    .addHelpText(
      "after",
      `
The command reads the feed first, and adds it only if it is usable. A [[feed]] in inkling.toml has the same fields:
see docs/own-feeds.md.

Examples:
  inkling feeds add office-vpn --file /etc/inkling/vpn.txt --format networks --claims vpn
  inkling feeds add acme --url https://lists.example/bad.json --format json --path '$.items[*].ip' \\
    --claims attacker --header Authorization          INKLING_FEED_SECRET_ACME has the header's value
  inkling feeds add my-isp --url https://isp.example/geofeed.csv --format geofeed --claims place`,
    );
  addResultAction(command, context, READ_SETTINGS, async ({ settings, flags }, id: string) => {
    requireBuilder(settings);
    const row = rowOf(id, flags, context.cwd);
    const { added = [], ...choice } = choiceOf(settings.dataDir);
    const feed = tableWith([...settings.feed, ...added, row]).at(-1)!; // the added feed is the last row
    const report = flags.check === false ? undefined : await readUsable(feed, settings, context);
    const { dataDir } = settings;
    ensureWritable(dataDir);
    const entry = {
      ...cliAuthor(),
      action: "feed-added",
      subject: id,
      before: null,
      after: { ...shownFeed(row) },
    } as const;
    await audited(settings, context.terminal, entry, () =>
      writeFeedChoice(dataDir, { ...choice, added: [...added, row] }),
    );
    const found = report === undefined ? "" : `${reportText(report)}\n`;
    return {
      json: { feed: shownFeed(row), report: report ?? null },
      text: `${found}${id} is added. ${NEXT_ROUND}`,
    };
  });
}

const NUMBERS = ["weight", "every_hours", "max_age_days"] as const;
const TEXTS = ["format", "claims", "file", "url", "path", "header", "secret", "operator", "title", "licence"];

/** @throws CliError, which shows every invalid flag */
function rowOf(id: string, flags: Flags, cwd: string): OwnFeed {
  const numbers = NUMBERS.map((name) => {
    const given = flags[name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())];
    return [name, /^[0-9]{1,9}$/.test(given ?? "") ? Number(given) : given];
  });
  const rows = [
    {
      id,
      ...Object.fromEntries(TEXTS.map((name) => [name, flags[name]])),
      ...Object.fromEntries(numbers),
      copies: flags.copies,
    },
  ].map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined)));
  const parsed = ownFeeds.safeParse(rows);
  if (parsed.success) return withAbsoluteFile(parsed.data[0]!, cwd);
  const problems = ownFeedProblems(rows, parsed.error).map(({ text }) => `  ${text}`);
  throw usage(
    `Cannot add this feed:\n${problems.join("\n")}`,
    "run `inkling feeds add --help` to see examples; docs/own-feeds.md has every format and claim",
  );
}

/** @throws CliError if an id already exists, or if a copied feed does not exist */
function tableWith(rows: readonly OwnFeed[]): readonly Feed[] {
  try {
    return feedTable(rows);
  } catch (error) {
    if (!(error instanceof OwnFeedError)) throw error;
    const hint = "run `inkling feeds list` to see all feeds; `feeds remove ID` removes a feed";
    throw usage(error.message, hint);
  }
}

function addRemove(feeds: Command, context: Context): void {
  const command = feeds
    .command("remove <id>")
    .description("remove a feed that `feeds add` added, with its copies")
    .addHelpText("after", "\nExamples:\n  inkling feeds remove office-vpn");
  addResultAction(command, context, ["dataDir"], async ({ settings, file }, id: string) => {
    requireBuilder(settings);
    const { dataDir } = settings;
    const choice = choiceOf(dataDir);
    const row = choice.added?.find((one) => one.id === id);
    if (row === undefined) throw notAdded(settings, id, file);
    ensureWritable(dataDir);
    const entry = {
      ...cliAuthor(),
      action: "feed-removed",
      subject: id,
      before: { ...shownFeed(row) },
      after: {},
    } as const;
    await audited(settings, context.terminal, entry, () => {
      const added = choice.added!.filter((one) => one !== row);
      writeFeedChoice(dataDir, { ...choice, disabled: choice.disabled.filter((one) => one !== id), added });
      rmSync(join(dataDir, DATA_FOLDER.feeds, id), { recursive: true, force: true });
    });
    return { json: { id, removed: true }, text: `${id} is removed. ${NEXT_ROUND}` };
  });
}

function notAdded(settings: Settings, id: string, file: string | undefined): CliError {
  if (settings.feed.some((one) => one.id === id))
    return new CliError(
      `${id} is configured in ${file}`,
      "remove its [[feed]] there, then restart the server",
    );
  feedOf(settings, id); // throws if there is no such feed
  return new CliError(`${id} comes with Inkling`, `\`inkling feeds disable ${id}\` turns it off`);
}
