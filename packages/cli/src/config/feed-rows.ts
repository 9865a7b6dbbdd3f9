// feed-rows.ts: the operator's own feeds as they stand in inkling.toml: lines of what is wrong, and their files' paths.

import { resolve } from "node:path";
import { ownFeedProblems } from "@inkling/compiler/own-feed";
import type { OwnFeed } from "@inkling/contract";
import { z } from "zod";
import type { SettingsFile } from "./sources.ts";

/** With the line of the member, or of its [[feed]]. */
export function feedProblems(
  issues: readonly z.core.$ZodIssue[],
  rows: unknown,
  { path, text }: SettingsFile,
): readonly string[] {
  const inRows = issues.map((issue) => ({ ...issue, path: issue.path.slice(1) }));
  return ownFeedProblems(rows, new z.ZodError(inRows)).map(
    ({ index, member, text: problem }) => `line ${lineOf(text, index, member)} of ${path}: ${problem}`,
  );
}

/** The line of a member of the table [[feed]] that is the `index`th; of the table where it has none. */
export function lineOf(text: string, index: number | undefined, member: string | undefined): number {
  const lines = text.split("\n");
  const tables = lines.flatMap((line, at) => (/^\s*\[\[\s*"?feed"?\s*\]\]/.test(line) ? at : []));
  const inline = lines.findIndex((line) => /^\s*"?feed"?\s*=/.test(line));
  const start = index === undefined ? (tables[0] ?? inline) : tables[index];
  if (start === undefined) return Math.max(inline, 0) + 1;
  const found = lines.findIndex(
    (line, at) => at > start && /^\s*"?([\w-]+)"?\s*=/.exec(line)?.[1] === member,
  );
  const end = lines.findIndex((line, at) => at > start && /^\s*\[/.test(line));
  const isInside = member !== undefined && found > start && (end < 0 || found < end);
  return (isInside ? found : start) + 1;
}

/** Its file's path, which starts at the folder of what names it. */
export const withAbsoluteFile = (feed: OwnFeed, base: string): OwnFeed =>
  feed.file === undefined ? feed : { ...feed, file: resolve(base, feed.file) };
