// feeds.ts: `inkling feeds list | enable | disable | export-mirror` shows and chooses which feeds are used, and on
// which terms. own-feeds.ts handles the operator's feeds.
//
// The choice is stored in <dataDir>/feeds.json. Builds read it, so a running server applies it with its next build.

import { resolve } from "node:path";
import { isChosen } from "@inkling/compiler/feed-choice";
import { NO_LICENCE } from "@inkling/compiler/feeds";
import type { Settings } from "@inkling/contract";
import { FEEDS, type FeedRow, type Output } from "@inkling/operations";
import type { Command } from "commander";
import { requireBuilder } from "../runtime/build.ts";
import { addResultAction, type Context, confirm } from "../runtime/command.ts";
import { ensureWritable } from "../runtime/data-folder.ts";
import { allFeeds, choiceOf, feedOf, feedTableOf } from "../runtime/feeds.ts";
import { addResource, type OperationCall, runOperation } from "../runtime/operation-command.ts";
import { CliError, explainFileError } from "../terminal/errors.ts";
import { copyAge, stateWord } from "../terminal/release-tables.ts";
import { counted, type ErrorOutput, formatBytes, roomyTable, table, warn } from "../terminal/terminal.ts";
import { addCheck } from "./feed-check.ts";
import { addOwnFeeds, NEXT_ROUND } from "./own-feeds.ts";

const ENABLE_SETTINGS = ["dataDir", "mirror"] as const;

export const addFeeds = (program: Command, context: Context) =>
  addResource(program, context, FEEDS, {
    list_feeds: { text: (feeds) => listText(feeds, context.terminal.width) },
    "inkling feeds enable": addEnable,
    "inkling feeds disable": addDisable,
    "inkling feeds add | remove": addOwnFeeds,
    "inkling feeds check": addCheck,
    "inkling feeds export-mirror": addExportMirror,
  });

const HEAD = ["FEED", "SETS", "STATE", "AGE", "LICENCE", "REMARK"];
type Feeds = Output<typeof FEEDS.operations.list_feeds>;

function listText({ feeds, unused }: Feeds, width: number | undefined): string {
  const tableOf = (on: boolean) => {
    const state = on ? "on" : "off";
    const rows = [...feeds, ...unused].filter((feed) => feed.on === on).map((feed) => [state, ...row(feed)]);
    return roomyTable([[state.toUpperCase(), ...HEAD], ...rows], [], 5, width);
  };
  const more = "`inkling feeds enable FEED` shows its terms and turns it on; docs/feeds.md describes each.";
  return [tableOf(true), tableOf(false), more].join("\n\n");
}

function row(feed: Feeds["feeds"][number] | Feeds["unused"][number]): string[] {
  const { id, sets, licence, own, why_off: why, not_set } = feed;
  const read = feed.on && "state" in feed ? feed : undefined;
  const remarks = [
    ...(own ? ["your own"] : []),
    ...(read?.error ? [read.error] : []),
    ...(why === "licence" || licence === NO_LICENCE ? ["no clear licence"] : []),
    ...(why === "non-commercial" || why === "noisy" ? [why] : []),
    ...(not_set?.length ? [`needs ${not_set.join(" and ")}`] : []),
  ];
  const state = read === undefined ? "-" : stateWord(read);
  const isOfFile = read?.source === "mirror" && read.published_at === null;
  const age = copyAge(read?.age_seconds, isOfFile);
  return [id, sets, state, age, licence, remarks.join("; ")];
}

function addEnable(feeds: Command, context: Context): void {
  const command = feeds
    .command("enable <feed...>")
    .description("enable feeds after showing their licences and terms")
    .option("--yes", "agree to the terms without a prompt")
    .addHelpText(
      "after",
      `
Feeds without a clear licence, and feeds for non-commercial use only, need your agreement. With several feeds, nothing
changes until you have agreed to the terms of each of them.
Credentials are settings, not flags: see docs/configuration.md.

Examples:
  inkling feeds enable geolite2-city
  inkling feeds enable dshield --yes
  inkling feeds enable thespeedx-proxies greensnow`,
    );
  addResultAction(command, context, ENABLE_SETTINGS, async (call, given) => {
    const { settings, flags } = call;
    requireBuilder(settings);
    const feeds = feedsNamed(settings, given);
    for (const feed of feeds) checkCredentials(feed, settings, context.terminal);
    for (const feed of feeds.filter(({ on }) => !on)) {
      for (const text of termsOf(feed)) context.terminal.err(`${text}\n`);
      await agree(feed, context, flags.yes === true);
    }
    return choose(feeds, true, { ...call, context });
  });
}

/**
 * Returns the feeds with these ids, each only once.
 * @param given what commander passes for `<feed...>`, which is a list
 * @throws CliError if a feed does not exist
 */
function feedsNamed(settings: Settings, given: unknown): readonly FeedRow[] {
  const ids = [...new Set(given as readonly string[])].map((id) => feedOf(settings, id).id);
  const { all } = feedTableOf(settings);
  return ids.map((id) => all.find((feed) => feed.id === id)!); // every feed has a row
}

/** Turns feeds on or off. @returns a line for each feed, and when the change applies */
async function choose(feeds: readonly FeedRow[], on: boolean, call: OperationCall) {
  if (feeds.some((feed) => feed.on !== on)) ensureWritable(call.settings.dataDir);
  const chosen: Output<typeof FEEDS.operations.choose_feed>[] = [];
  for (const { id } of feeds)
    chosen.push(await runOperation(call, FEEDS, FEEDS.operations.choose_feed, { id, on }));
  const lines = chosen.map(({ id, changed }) => `${id} is ${changed ? "" : "already "}${on ? "on" : "off"}.`);
  const next = chosen.some(({ changed }) => changed) ? [NEXT_ROUND] : [];
  return { json: chosen, text: [...lines, ...next].join(chosen.length === 1 ? " " : "\n") };
}

/**
 * With a mirror, the credentials may be unnecessary, because the mirror may have the file.
 * @throws CliError if there is no mirror and a setting that the publisher requires is missing
 */
function checkCredentials(
  { id, homepage, not_set }: FeedRow,
  { mirror }: Settings,
  terminal: ErrorOutput,
): void {
  if (not_set.length === 0) return;
  const names = not_set.join(" and ");
  if (mirror !== undefined) {
    const count = not_set.length === 1 ? "is" : "are";
    warn(terminal, `${names} ${count} not set: builds can read ${id} only from the mirror`);
    return;
  }
  throw new CliError(
    `${id} needs ${names}`,
    `set the credentials from its publisher (${homepage}), or put the file into a mirror: docs/configuration.md`,
  );
}

function termsOf({ title, licence, attribution, terms }: FeedRow): string[] {
  return [
    title,
    `  licence: ${licence}`,
    ...(terms === null ? [] : [`  terms: ${terms}`]),
    ...(attribution === null ? [] : [`  show this with its data: ${attribution}`]),
  ];
}

/** @throws CliError if the operator must agree to the terms and has not done so */
async function agree({ id, needs_agreement }: FeedRow, context: Context, yes: boolean): Promise<void> {
  if (yes || !needs_agreement) return;
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
    .addHelpText(
      "after",
      "\nExamples:\n  inkling feeds disable dshield\n  inkling feeds disable ipsum-3 greensnow",
    );
  addResultAction(command, context, ["dataDir"], (call, given) => {
    requireBuilder(call.settings);
    return choose(feedsNamed(call.settings, given), false, { ...call, context });
  });
}

function addExportMirror(feeds: Command, context: Context): void {
  const command = feeds
    .command("export-mirror <folder>")
    .description("copy the last good copy of every enabled feed to a folder, for machines without internet")
    .addHelpText(
      "after",
      `
Use the folder as INKLING_MIRROR. It has one file per feed, with the copy's timestamp. Feeds that come with Inkling are
left out. The feeds' licences also apply on the other machine: some do not allow redistribution.

Examples:
  inkling feeds export-mirror /media/usb/feeds
  INKLING_MIRROR=/media/usb/feeds inkling up      on the other machine`,
    );
  addResultAction(command, context, ["dataDir"], async ({ settings }, folder: string) => {
    const choice = choiceOf(settings.dataDir);
    const chosen = allFeeds(settings).filter((feed) => isChosen(feed, choice));
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
    return {
      json: { folder: path, ...result },
      text: `${files}\n\n${counted(exported.length, "feed")} in ${path}`,
    };
  });
}
