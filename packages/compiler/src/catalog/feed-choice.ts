// feed-choice.ts: reads and writes <dataDir>/feeds.json, which lists the feeds that the operator turned on or off, or
// added on the command line.
//
// An unreadable file never counts as the default choice.
//
// A feed in both lists is off. Unknown ids are kept, because another version of Inkling may have these feeds.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DATA_FOLDER, replaceJson } from "@inkling/data";
import { z } from "zod";
import type { Feed } from "./feed.ts";
import { ownFeedProblems, ownFeeds } from "./own-feed.ts";

const ids = z.array(z.string().regex(/^[a-z0-9-]{1,64}$/, "is not a feed id")).readonly();

const withFormat = (added: unknown) =>
  Array.isArray(added) ? added.map((row) => (row?.form === undefined ? row : renamed(row))) : added;
const renamed = ({ form, ...row }: Record<string, unknown>) => ({ ...row, format: form });

const feedChoice = z.strictObject({
  enabled: ids.default([]),
  disabled: ids.default([]),
  /** Rows as in [[feed]] of inkling.toml. An earlier version called `format` `form`. */
  added: z.preprocess(withFormat, ownFeeds.optional()),
});
export type FeedChoice = z.infer<typeof feedChoice>;

export class FeedChoiceError extends Error {
  override readonly name = "FeedChoiceError";
}

const NO_CHOICE: FeedChoice = { enabled: [], disabled: [] };

/** @throws FeedChoiceError if the file exists but cannot be used */
export function readFeedChoice(dataDir: string): FeedChoice {
  const path = join(dataDir, DATA_FOLDER.feedChoice);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return NO_CHOICE;
    throw new FeedChoiceError(`${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  return parseFeedChoice(text, path);
}

/** @param path the path to show in error messages. @throws FeedChoiceError */
export function parseFeedChoice(text: string, path: string): FeedChoice {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new FeedChoiceError(`${path} is not JSON`);
  }
  const parsed = feedChoice.safeParse(value);
  if (parsed.success) return parsed.data;
  const [first, index] = parsed.error.issues[0]!.path;
  if (first === "added" && index !== undefined) {
    const issues = parsed.error.issues.flatMap((issue) =>
      issue.path[0] === "added" ? { ...issue, path: issue.path.slice(1) } : [],
    );
    const [problem] = ownFeedProblems((value as { added: unknown }).added, new z.ZodError(issues));
    throw new FeedChoiceError(`${path} cannot be used: ${problem!.text}`);
  }
  const { path: place, message } = parsed.error.issues[0]!;
  throw new FeedChoiceError(`${path} cannot be used: ${[...place, message].join(" ")}`);
}

/** Writes the choice atomically. @throws errors of node:fs */
export function writeFeedChoice(dataDir: string, choice: FeedChoice): void {
  const content = {
    enabled: [...new Set(choice.enabled)].sort(),
    disabled: [...new Set(choice.disabled)].sort(),
    ...(choice.added !== undefined && choice.added.length > 0 && { added: choice.added }),
  };
  replaceJson(join(dataDir, DATA_FOLDER.feedChoice), content);
}

/** Returns whether the choice includes the feed. */
export function isChosen(
  feed: Pick<Feed, "id" | "optIn">,
  { enabled, disabled }: Pick<FeedChoice, "enabled" | "disabled">,
): boolean {
  if (disabled.includes(feed.id)) return false;
  return feed.optIn === undefined || enabled.includes(feed.id);
}

/** Returns the choice with one feed turned on or off. A feed in its default state is in neither list. */
export function choose(choice: FeedChoice, feed: Pick<Feed, "id" | "optIn">, on: boolean): FeedChoice {
  const without = (list: readonly string[]) => list.filter((id) => id !== feed.id);
  const [enabled, disabled] = [without(choice.enabled), without(choice.disabled)];
  if (on && feed.optIn !== undefined) enabled.push(feed.id);
  if (!on && feed.optIn === undefined) disabled.push(feed.id);
  return { ...choice, enabled, disabled };
}
