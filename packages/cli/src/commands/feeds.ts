// feeds.ts: `inkling feeds list | enable | disable | export-mirror` shows and chooses which feeds are used, and on
// which terms. own-feeds.ts handles the operator's feeds.
//
// The choice is stored in <dataDir>/feeds.json. Builds read it, so a running server applies it with its next build.

import { resolve } from "node:path";
import type { Feed } from "@inkling/compiler/feed";
import { requiredCredentials } from "@inkling/compiler/feed";
import { choose, isChosen, writeFeedChoice } from "@inkling/compiler/feed-choice";
import { asksForAgreement, NO_LICENCE } from "@inkling/compiler/feeds";
import { type Settings, variableName } from "@inkling/contract";
import { feedsOf, openCurrent, readFeedsReport } from "@inkling/data";
import type { FeedReport } from "@inkling/engine";
import type { Command } from "commander";
import { addAction, type Context } from "../runtime/command.ts";
import { confirm } from "../runtime/confirm.ts";
import { ensureWritable } from "../runtime/data-folder.ts";
import { allFeeds, choiceOf, credentialsOf, feedOf } from "../runtime/feeds.ts";
import { audited, warnOfNewDatabase } from "../runtime/store.ts";
import { CliError, explainFileError } from "../terminal/errors.ts";
import { feedAge, stateWord } from "../terminal/release-tables.ts";
import { type ErrorOutput, formatBytes, roomyTable, table, warn } from "../terminal/terminal.ts";
import { addOwnFeeds, NEXT_ROUND } from "./own-feeds.ts";

const READ_SETTINGS = ["dataDir"] as const;
const ENABLE_SETTINGS = ["dataDir", "mirror"] as const;

export function addFeeds(program: Command, context: Context): void {
  const feeds = program.command("feeds").description("list, enable, disable, add and check feeds");
  addList(feeds, context);
  addEnable(feeds, context);
  addDisable(feeds, context);
  addOwnFeeds(feeds, context);
  addExportMirror(feeds, context);
}

/** A feed, whether it is used, and the state of its copy. */
interface FeedLine {
  readonly feed: Feed;
  readonly on: boolean;
  /** From the release in use; undefined if no build has read the feed yet. */
  readonly report: FeedReport | undefined;
  /** The credentials that the feed's publisher requires, and which of them are not set. */
  readonly needs: readonly string[];
  readonly lacking: readonly string[];
}

function linesOf(settings: Settings): FeedLine[] {
  const choice = choiceOf(settings.dataDir);
  const current = openCurrent(settings.dataDir);
  const { dataDir } = settings;
  // The first release may wait for the operator's approval. In that case, the operator looks here for the lists at
  // fault.
  const reports = current === undefined ? (readFeedsReport(dataDir)?.feeds ?? []) : feedsOf(dataDir, current);
  const credentials = credentialsOf(settings);
  return allFeeds(settings).map((feed) => {
    const on = isChosen(feed, choice);
    const needs = requiredCredentials(feed);
    return {
      feed,
      on,
      report: on ? reports.find(({ id }) => id === feed.id) : undefined,
      needs,
      lacking: needs.filter((name) => credentials[name] === undefined),
    };
  });
}

function addList(feeds: Command, context: Context): void {
  const command = feeds
    .command("list")
    .description("list all feeds: on or off, state, age, licence, required settings")
    .option("--json", "print JSON, with terms and attributions")
    .addHelpText("after", "\nExamples:\n  inkling feeds list\n  inkling feeds list --json");
  addAction(command, context, READ_SETTINGS, ({ settings }) => {
    const lines = linesOf(settings);
    return { json: lines.map(lineJson), text: () => listText(lines, Date.now(), context.terminal.width) };
  });
}

const HEAD = ["FEED", "SETS", "STATE", "AGE", "LICENCE", "REMARK"];

function listText(lines: readonly FeedLine[], now: number, width: number | undefined): string {
  const tableOf = (on: boolean) => {
    const state = on ? "on" : "off";
    const rows = lines.filter((line) => line.on === on).map((line) => [state, ...row(line, now)]);
    return roomyTable([[state.toUpperCase(), ...HEAD], ...rows], [], 5, width);
  };
  const more = "`inkling feeds enable FEED` shows its terms and turns it on; docs/feeds.md describes each.";
  return [tableOf(true), tableOf(false), more].join("\n\n");
}

function row({ feed, report, lacking }: FeedLine, now: number): string[] {
  const state = report === undefined ? "-" : stateWord(report);
  const why = feed.optIn?.why;
  const remarks = [
    ...(feed.definition === undefined ? [] : ["your own"]),
    ...(report?.error === undefined ? [] : [report.error]),
    ...(why === "licence" || feed.licence === NO_LICENCE ? ["no clear licence"] : []),
    ...(why === "non-commercial" || why === "noisy" ? [why] : []),
    ...(lacking.length > 0 ? [`needs ${lacking.map(variableName).join(" and ")}`] : []),
  ];
  return [feed.id, feed.sets, state, feedAge(report, new Date(now)), feed.licence, remarks.join("; ")];
}

function lineJson({ feed, on, report, needs, lacking }: FeedLine) {
  const { id, sets, title, homepage, licence, attribution, cadenceHours, optIn, definition } = feed;
  return {
    id,
    on,
    own: definition !== undefined,
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
    .command("enable <feed...>")
    .description("enable feeds after showing their licences and terms")
    .option("--yes", "agree to the terms without a prompt")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Feeds without a clear licence, and feeds for non-commercial use only, need your agreement. With several feeds, nothing
changes until you have agreed to the terms of each of them.
Credentials are settings, not flags: see docs/configuration.md.

Examples:
  inkling feeds enable geolite2-city
  inkling feeds enable dshield --yes
  inkling feeds enable wesbos-burner greensnow`,
    );
  addAction(command, context, ENABLE_SETTINGS, async ({ settings, flags }, given) => {
    const all = linesOf(settings);
    // Every feed in the table has a line.
    const lines = feedsNamed(settings, given).map(({ id }) => all.find(({ feed }) => feed.id === id)!);
    for (const line of lines) checkCredentials(line, settings, context.terminal);
    const off = lines.filter(({ on }) => !on).map(({ feed }) => feed);
    for (const feed of off) {
      for (const text of termsOf(feed)) context.terminal.err(`${text}\n`);
      await agree(feed, context, flags.yes === true);
    }
    for (const feed of off) await save(settings, context.terminal, feed, true);
    return choiceAnswer(lines.map(({ feed, on }) => ({ id: feed.id, on: true, changed: !on })));
  });
}

/**
 * Returns the feeds with these ids, each only once.
 * @param given what commander passes for `<feed...>`, which is a list
 * @throws CliError if a feed does not exist
 */
const feedsNamed = (settings: Settings, given: unknown): readonly Feed[] =>
  [...new Set(given as readonly string[])].map((id) => feedOf(settings, id));

interface Chosen {
  readonly id: string;
  readonly on: boolean;
  readonly changed: boolean;
}

/** Returns the output of `enable` and `disable`: a line for each feed, and when the change applies. */
function choiceAnswer(chosen: readonly Chosen[]) {
  const lines = chosen.map(
    ({ id, on, changed }) => `${id} is ${changed ? "" : "already "}${on ? "on" : "off"}.`,
  );
  const next = chosen.some(({ changed }) => changed) ? [NEXT_ROUND] : [];
  return {
    json: chosen,
    text: [...lines, ...next].join(chosen.length === 1 ? " " : "\n"),
  };
}

/**
 * With a mirror, the credentials may be unnecessary, because the mirror may have the file.
 * @throws CliError if there is no mirror and a setting that the publisher requires is missing
 */
function checkCredentials({ feed, lacking }: FeedLine, { mirror }: Settings, terminal: ErrorOutput): void {
  if (lacking.length === 0) return;
  const names = lacking.map(variableName).join(" and ");
  if (mirror !== undefined) {
    const count = lacking.length === 1 ? "is" : "are";
    warn(terminal, `${names} ${count} not set: builds can read ${feed.id} only from the mirror`);
    return;
  }
  throw new CliError(
    `${feed.id} needs ${names}`,
    `set the credentials from its publisher (${feed.homepage}), or put the file into a mirror: docs/configuration.md`,
  );
}

function termsOf({ title, licence, attribution, optIn }: Feed): string[] {
  return [
    title,
    `  licence: ${licence}`,
    ...(optIn === undefined ? [] : [`  terms: ${optIn.terms}`]),
    ...(attribution === undefined ? [] : [`  show this with its data: ${attribution}`]),
  ];
}

/** @throws CliError if the operator must agree to the terms and has not done so */
async function agree(feed: Feed, context: Context, yes: boolean): Promise<void> {
  if (yes || !asksForAgreement(feed)) return;
  const { id } = feed;
  await confirm(context, "Do you agree to these terms?", {
    unasked: `${id} needs your agreement`,
    declined: `${id} remains off`,
    hint: `\`inkling feeds enable ${id} --yes\` agrees to its terms`,
  });
}

function addDisable(feeds: Command, context: Context): void {
  const command = feeds
    .command("disable <feed...>")
    .description("disable feeds")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  inkling feeds disable dshield\n  inkling feeds disable ipsum-3 greensnow",
    );
  addAction(command, context, READ_SETTINGS, async ({ settings }, given) => {
    const choice = choiceOf(settings.dataDir);
    const chosen = feedsNamed(settings, given).map((feed) => ({ feed, changed: isChosen(feed, choice) }));
    for (const { feed, changed } of chosen) if (changed) await save(settings, context.terminal, feed, false);
    return choiceAnswer(chosen.map(({ feed, changed }) => ({ id: feed.id, on: false, changed })));
  });
}

function addExportMirror(feeds: Command, context: Context): void {
  const command = feeds
    .command("export-mirror <folder>")
    .description("copy the last good copy of every enabled feed to a folder, for machines without internet")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Use the folder as INKLING_MIRROR. It has one file per feed, with the copy's timestamp. Feeds that come with Inkling are
left out. The feeds' licences also apply on the other machine: some do not allow redistribution.

Examples:
  inkling feeds export-mirror /media/usb/feeds
  INKLING_MIRROR=/media/usb/feeds inkling up      on the other machine`,
    );
  addAction(command, context, READ_SETTINGS, async ({ settings }, folder: string) => {
    const chosen = linesOf(settings).flatMap(({ feed, on }) => (on ? [feed] : []));
    const path = resolve(context.cwd, folder);
    // Imported only here, because it loads network and archive code that no other command needs.
    const { exportMirror } = await import("@inkling/compiler/export-mirror");
    const result = await exportMirror(chosen, settings.dataDir, path, new Date()).catch((error) => {
      const explained = explainFileError(error, `the folder ${path}`);
      if (!(explained instanceof CliError)) throw explained;
      throw new CliError(
        explained.message,
        "choose a folder that this user can write to, with room for all feeds",
      );
    });
    const { exported, leftOut } = result;
    const rows = exported.map(({ feed, file, bytes, source }) => [feed, file, formatBytes(bytes), source]);
    const left = leftOut.map(({ feed, why }) => [feed, "-", "-", why]);
    const files = table([["FEED", "FILE", "SIZE", "SOURCE"], ...rows, ...left], [2]);
    return { json: { folder: path, ...result }, text: `${files}\n\n${exported.length} feeds in ${path}` };
  });
}

async function save(settings: Settings, terminal: ErrorOutput, feed: Feed, on: boolean): Promise<void> {
  const { dataDir } = settings;
  ensureWritable(dataDir);
  warnOfNewDatabase(settings, terminal);
  const action = on ? "feed-enabled" : "feed-disabled";
  await audited(settings, { action, subject: feed.id, before: { on: !on }, after: { on } }, () =>
    writeFeedChoice(dataDir, choose(choiceOf(dataDir), feed, on)),
  );
}
