// feeds.ts: lists all feeds that exist with these settings, chooses feeds, and finds the credentials that are set.

import { readFileSync } from "node:fs";
import { CREDENTIALS, type Feed } from "@inkling/compiler/feed";
import {
  choose,
  type FeedChoice,
  FeedChoiceError,
  isChosen,
  readFeedChoice,
  writeFeedChoice,
} from "@inkling/compiler/feed-choice";
import { credentialOf, feedTable, OwnFeedError } from "@inkling/compiler/feed-table";
import { asksForAgreement } from "@inkling/compiler/feeds";
import { feedWeight } from "@inkling/compiler/labels";
import { type OwnFeed, type Settings, variableName } from "@inkling/contract";
import { accessHint, isDenied } from "@inkling/data";
import { nearest } from "@inkling/engine";
import type { FeedRow, FeedTable } from "@inkling/operations";
import type { LoadedSettings } from "../config/settings.ts";
import { lineOf } from "../config/settings.ts";
import { CliError, SettingsError, usage } from "../terminal/errors.ts";

/** @throws CliError if the choice cannot be read */
export function choiceOf(dataDir: string): FeedChoice {
  try {
    return readFeedChoice(dataDir);
  } catch (error) {
    if (!(error instanceof FeedChoiceError)) throw error;
    const fix =
      "fix the file, or delete it: then the default feeds are on, and feeds from `feeds add` are lost";
    throw new CliError(error.message, isDenied(error.cause) ? accessHint(dataDir) : fix);
  }
}

/**
 * Returns the built-in feeds, then feeds from inkling.toml, then feeds added on the command line.
 * @throws CliError
 */
export function allFeeds({ feed, dataDir }: Pick<Settings, "feed" | "dataDir">): readonly Feed[] {
  try {
    return feedTable([...feed, ...(choiceOf(dataDir).added ?? [])]);
  } catch (error) {
    if (!(error instanceof OwnFeedError)) throw error;
    throw usage(error.message, OWN_FEED_HINT);
  }
}

/**
 * Checks the feeds in inkling.toml together with all other feeds.
 * @throws SettingsError with the line
 */
export function checkOwnFeeds({ settings, file }: Pick<LoadedSettings, "settings" | "file">): void {
  const { feed, dataDir } = settings;
  if (feed.length === 0 || file === undefined) return;
  try {
    feedTable([...feed, ...addedIn(dataDir)]);
  } catch (error) {
    if (!(error instanceof OwnFeedError)) throw error;
    const index = feed.indexOf(error.row);
    if (index < 0) return; // `feeds remove` must still run, and a build reports the problem
    const line = lineOf(readFileSync(file, "utf8"), index, error.field);
    throw new SettingsError([`line ${line} of ${file}: ${error.message}`]);
  }
}

/** Returns no feeds if the choice cannot be read. Each command that needs the choice reports this error. */
function addedIn(dataDir: string): readonly OwnFeed[] {
  try {
    return choiceOf(dataDir).added ?? [];
  } catch (error) {
    if (error instanceof CliError) return [];
    throw error;
  }
}

/** Returns the ids of the operator's feeds that are files on this machine. Empty if the choice cannot be read. */
export function localFiles({ feed, dataDir }: Pick<Settings, "feed" | "dataDir">): readonly string[] {
  return [...feed, ...addedIn(dataDir)].flatMap(({ id, file }) => (file === undefined ? [] : [id]));
}

/** The settings that define which feeds exist, and which credentials are set. */
export type FeedSettings = Pick<Settings, "feed" | "dataDir"> &
  Partial<Pick<Settings, "feedSecret" | (typeof CREDENTIALS)[number]>>;

/** Returns what operations do with feeds. @throws CliError if the feeds or the choice cannot be read */
export const feedTableOf = (settings: FeedSettings): FeedTable => ({
  get all() {
    return feedRows(allFeeds(settings), choiceOf(settings.dataDir), settings);
  },
  choose: (id, on) => {
    const { dataDir } = settings;
    writeFeedChoice(dataDir, choose(choiceOf(dataDir), feedOf(settings, id), on));
  },
});

export function feedRows(
  feeds: readonly Feed[],
  choice: FeedChoice,
  settings: FeedSettings,
): readonly FeedRow[] {
  const credentials = credentialsOf(settings);
  return feeds.map((feed) => {
    const { credentials: needs = [] } = feed;
    const lacking = needs.filter((name) => credentials[name] === undefined);
    return {
      id: feed.id,
      title: feed.title,
      sets: feed.sets,
      homepage: feed.homepage,
      licence: feed.licence,
      attribution: feed.attribution ?? null,
      cadence_hours: feed.cadenceHours,
      stale_hours: feed.age.staleHours,
      weight: feedWeight(feed) ?? null,
      on: isChosen(feed, choice),
      on_by_default: feed.optIn === undefined,
      own: feed.definition !== undefined,
      why_off: feed.optIn?.why ?? null,
      terms: feed.optIn?.terms ?? null,
      needs_agreement: asksForAgreement(feed),
      needs: needs.map(variableName),
      not_set: lacking.map(variableName),
    };
  });
}

const OWN_FEED_HINT = "fix its [[feed]] in inkling.toml, or `inkling feeds remove ID`";

/** @throws CliError if the feed does not exist; the message suggests the most similar id */
export function feedOf(settings: Pick<Settings, "feed" | "dataDir">, id: string): Feed {
  const feeds = allFeeds(settings);
  const feed = feeds.find((one) => one.id === id);
  if (feed !== undefined) return feed;
  const near = nearest(
    id,
    feeds.map((one) => one.id),
  );
  const run = near === undefined ? "run" : `did you mean ${near}? Run`;
  throw usage(
    `there is no feed ${JSON.stringify(id.slice(0, 60))}`,
    `${run} \`inkling feeds list\` to see all feeds`,
  );
}

/** Returns the credentials that are set, by their names in the feed table. */
export function credentialsOf(settings: FeedSettings): Record<string, string> {
  return Object.fromEntries([
    ...CREDENTIALS.flatMap((name) => {
      const value = settings[name];
      return value === undefined ? [] : [[name, value]];
    }),
    ...Object.entries(settings.feedSecret ?? {}).map(([id, value]) => [credentialOf({ id }), value]),
  ]);
}
