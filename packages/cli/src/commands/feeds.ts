// feeds.ts: `inkling feeds list | enable | disable | export-mirror`: which feeds are used, on which terms.
//
// The choice stands in <dataDir>/feeds.json; builds read it, so a running server follows with its next one.

import { resolve } from "node:path";
import type { Feed } from "@inkling/compiler/feed";
import {
  choose,
  type FeedChoice,
  FeedChoiceError,
  isChosen,
  readFeedChoice,
  writeFeedChoice,
} from "@inkling/compiler/feed-choice";
import { asksForAgreement, FEEDS, NO_LICENCE } from "@inkling/compiler/feeds";
import { type FeedReport, nearest } from "@inkling/engine";
import { feedsOf, openCurrent } from "@inkling/release-store";
import type { Command } from "commander";
import { type SettingName, type Settings, variableName } from "../config/settings.ts";
import { stateWord } from "../runtime/build.ts";
import { action, type Context, settingsFor, withSettings } from "../runtime/context.ts";
import { ensureWritable } from "../runtime/writable.ts";
import { CliError, EXIT, explainFileError } from "../terminal/errors.ts";
import { formatAge, formatBytes, roomyTable, table } from "../terminal/terminal.ts";

const READ_SETTINGS = ["dataDir"] as const;
const ENABLE_SETTINGS = ["dataDir", "mirror"] as const;

export function addFeeds(program: Command, context: Context): void {
  const feeds = program
    .command("feeds")
    .description("which lists and databases are used, on which terms; turn them on and off");
  addList(feeds, context);
  addEnable(feeds, context);
  addDisable(feeds, context);
  addExportMirror(feeds, context);
}

/** What a feed is, whether it is used, and how its copy is. */
interface FeedLine {
  readonly feed: Feed;
  readonly on: boolean;
  /** In the release in use; absent before a build has read it. */
  readonly report: FeedReport | undefined;
  /** Settings that its publisher asks for, and those of them that are not set. */
  readonly needs: readonly SettingName[];
  readonly lacking: readonly SettingName[];
}

function linesOf(settings: Settings): FeedLine[] {
  const choice = choiceOf(settings.dataDir);
  const current = openCurrent(settings.dataDir);
  const reports = current === undefined ? [] : feedsOf(settings.dataDir, current);
  return FEEDS.map((feed) => {
    const on = isChosen(feed, choice);
    const needs = feed.optIn?.credentials ?? [];
    return {
      feed,
      on,
      report: on ? reports.find(({ id }) => id === feed.id) : undefined,
      needs,
      lacking: needs.filter((name) => settings[name] === undefined),
    };
  });
}

/** @throws CliError when it cannot be read */
function choiceOf(dataDir: string): FeedChoice {
  try {
    return readFeedChoice(dataDir);
  } catch (error) {
    if (!(error instanceof FeedChoiceError)) throw error;
    throw new CliError(error.message, "correct it, or delete it: then the feeds of the default are on");
  }
}

function addList(feeds: Command, context: Context): void {
  const command = feeds
    .command("list")
    .description("every feed: on or off, its state, age, licence and what it asks for")
    .option("--json", "print JSON, with terms and attributions")
    .addHelpText("after", "\nExamples:\n  inkling feeds list\n  inkling feeds list --json")
    .action((flags) => {
      const { settings } = settingsFor(context, flags, READ_SETTINGS);
      const lines = linesOf(settings);
      const { terminal } = context;
      const now = Date.now();
      if (flags.json) return terminal.out(JSON.stringify(lines.map(lineJson), null, 2));
      const head = ["FEED", "SETS", "STATE", "AGE", "LICENCE", "REMARK"];
      const shown = (on: boolean) => {
        const rows = lines.filter((line) => line.on === on).map((line) => row(line, now));
        const word = on ? "on" : "off";
        const cells = [[word.toUpperCase(), ...head], ...rows.map((cells) => [word, ...cells])];
        return roomyTable(cells, [], 5, terminal.width);
      };
      terminal.out(
        [
          shown(true),
          shown(false),
          "`npx inkling feeds enable FEED` shows its terms and turns it on; docs/feeds.md tells what each is.",
        ].join("\n\n"),
      );
    });
  withSettings(command, READ_SETTINGS);
}

function row({ feed, report, lacking }: FeedLine, now: number): string[] {
  const made = report?.published_at ?? report?.fetched_at;
  const state = report === undefined ? "-" : stateWord(report);
  const why = feed.optIn?.why;
  const remarks = [
    ...(report === undefined ? [] : troubles(report)),
    ...(why === "licence" || feed.licence === NO_LICENCE ? ["no clear licence"] : []),
    ...(why === "non-commercial" || why === "noisy" ? [why] : []),
    ...(lacking.length > 0 ? [`needs ${lacking.map(variableName).join(" and ")}`] : []),
  ];
  const age = made === undefined ? "-" : formatAge(now - Date.parse(made));
  return [feed.id, feed.sets, state, age, feed.licence, remarks.join("; ")];
}

/** What is wrong with a copy; why one waits is among its problems already. */
function troubles({ pending, error }: FeedReport): string[] {
  if (pending === undefined) return error === undefined ? [] : [error];
  if (error?.includes(pending.why)) return [`waits for you: ${error}`];
  return [`waits for you: ${pending.why}`, ...(error === undefined ? [] : [error])];
}

function lineJson({ feed, on, report, needs, lacking }: FeedLine) {
  const { id, sets, title, homepage, licence, attribution, cadenceHours, optIn } = feed;
  return {
    id,
    on,
    on_by_default: optIn === undefined,
    sets,
    title,
    homepage,
    licence,
    attribution: attribution ?? null,
    cadence_hours: cadenceHours,
    why_off: optIn?.why ?? null,
    terms: optIn?.terms ?? null,
    needs: needs.map(variableName),
    not_set: lacking.map(variableName),
    report: report ?? null,
  };
}

function addEnable(feeds: Command, context: Context): void {
  const command = feeds
    .command("enable <feed>")
    .description("turn a feed on, after showing its licence and terms")
    .option("--yes", "you have read the terms and agree: nothing is asked")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Feeds without a clear licence, and those for non-commercial use alone, ask before they are turned on.
Credentials are settings, never flags: docs/configuration.md.

Examples:
  inkling feeds enable geolite2-city
  inkling feeds enable dshield --yes`,
    )
    .action(
      action(context, async (id: string, flags) => {
        const { settings } = settingsFor(context, flags, ENABLE_SETTINGS);
        const { terminal } = context;
        const feed = feedOf(id);
        const line = linesOf(settings).find((one) => one.feed === feed)!;
        requireCredentials(line, settings);
        if (!line.on) {
          for (const text of termsOf(feed)) terminal.err(`${text}\n`);
          await agree(feed, context, flags.yes === true);
          save(settings.dataDir, choose(choiceOf(settings.dataDir), feed, true));
        }
        if (flags.json) terminal.out(JSON.stringify({ id: feed.id, on: true, changed: !line.on }, null, 2));
        else terminal.out(line.on ? `${feed.id} is on already.` : `${feed.id} is on. ${NEXT_ROUND}`);
        return EXIT.ok;
      }),
    );
  withSettings(command, ENABLE_SETTINGS);
}

const NEXT_ROUND = "A running server follows by itself; without one, `npx inkling data update` does.";

/** @throws CliError when the publisher asks for what is not set, and no mirror has the file instead */
function requireCredentials({ feed, lacking }: FeedLine, { mirror }: Settings): void {
  if (lacking.length === 0 || mirror !== undefined) return;
  throw new CliError(
    `${feed.id} needs ${lacking.map(variableName).join(" and ")}`,
    `set what its publisher gave you (${feed.homepage}), or put the file into a mirror: docs/configuration.md`,
  );
}

function termsOf({ title, licence, attribution, optIn }: Feed): string[] {
  return [
    title,
    `  licence: ${licence}`,
    ...(optIn === undefined ? [] : [`  terms: ${optIn.terms}`]),
    ...(attribution === undefined ? [] : [`  to be shown with its data: ${attribution}`]),
  ];
}

/** @throws CliError when the operator has to agree, and does not */
async function agree(feed: Feed, { terminal }: Context, yes: boolean): Promise<void> {
  if (yes || !asksForAgreement(feed)) return;
  const { id } = feed;
  const again = `\`npx inkling feeds enable ${id} --yes\` says that you agree to its terms`;
  if (terminal.ask === undefined) throw new CliError(`${id} asks for your agreement`, again);
  const answer = await terminal.ask("Do you use it on these terms? [y/N] ");
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError(`${id} stays off`, again);
}

function addDisable(feeds: Command, context: Context): void {
  const command = feeds
    .command("disable <feed>")
    .description("turn a feed off, whether or not it is on by default")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  inkling feeds disable dshield\n  inkling feeds disable ipsum-3")
    .action(
      action(context, (id: string, flags) => {
        const { settings } = settingsFor(context, flags, READ_SETTINGS);
        const feed = feedOf(id);
        const choice = choiceOf(settings.dataDir);
        const changed = isChosen(feed, choice);
        if (changed) save(settings.dataDir, choose(choice, feed, false));
        const words = changed ? `${feed.id} is off. ${NEXT_ROUND}` : `${feed.id} is off already.`;
        context.terminal.out(
          flags.json ? JSON.stringify({ id: feed.id, on: false, changed }, null, 2) : words,
        );
        return EXIT.ok;
      }),
    );
  withSettings(command, READ_SETTINGS);
}

function addExportMirror(feeds: Command, context: Context): void {
  const command = feeds
    .command("export-mirror <folder>")
    .description(
      "write the last good copy of every feed that is on into a folder, for machines without internet",
    )
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
The folder works as INKLING_MIRROR: one file per feed, as old as the copy is. What comes with Inkling is left out.
Licences bind you there, too: some do not let you hand data on.

Examples:
  inkling feeds export-mirror /media/usb/feeds
  INKLING_MIRROR=/media/usb/feeds inkling up      on the other machine`,
    )
    .action(
      action(context, async (folder: string, flags) => {
        const { settings } = settingsFor(context, flags, READ_SETTINGS);
        const { terminal } = context;
        const chosen = linesOf(settings).flatMap(({ feed, on }) => (on ? [feed] : []));
        const path = resolve(context.cwd, folder);
        // Loaded when asked for: it knows the network and archives, which no other command needs.
        const { exportMirror } = await import("@inkling/compiler/export-mirror");
        const result = await exportMirror(chosen, settings.dataDir, path, new Date()).catch((error) => {
          const explained = explainFileError(error, `the folder ${path}`);
          if (!(explained instanceof CliError)) throw explained;
          throw new CliError(
            explained.message,
            "name a folder that this user can write to, with room for all feeds",
          );
        });
        if (flags.json) terminal.out(JSON.stringify({ folder: path, ...result }, null, 2));
        else {
          const rows = result.exported.map(({ feed, file, bytes, source }) => [
            feed,
            file,
            formatBytes(bytes),
            source,
          ]);
          const left = result.leftOut.map(({ feed, why }) => [feed, "-", "-", why]);
          terminal.out(table([["FEED", "FILE", "SIZE", "SOURCE"], ...rows, ...left], [2]));
          terminal.out(`\n${result.exported.length} feeds in ${path}`);
        }
        return EXIT.ok;
      }),
    );
  withSettings(command, READ_SETTINGS);
}

/** @throws CliError when there is no such feed, with the nearest that there is */
export function feedOf(id: string): Feed {
  const feed = FEEDS.find((one) => one.id === id);
  if (feed !== undefined) return feed;
  const near = nearest(
    id,
    FEEDS.map((one) => one.id),
  );
  const suggestion = near === undefined ? "" : `did you mean ${near}? `;
  throw new CliError(
    `there is no feed ${JSON.stringify(id.slice(0, 60))}`,
    `${suggestion}\`npx inkling feeds list\` shows all of them`,
    EXIT.usage,
  );
}

function save(dataDir: string, choice: FeedChoice): void {
  ensureWritable(dataDir);
  writeFeedChoice(dataDir, choice);
}
