// feed-rows.ts: reads the operator's own feeds from inkling.toml, with line numbers for mistakes and absolute file
// paths.

import { resolve } from "node:path";
import { ownFeedProblems } from "@inkling/compiler/own-feed";
import type { OwnFeed } from "@inkling/contract";
import { z } from "zod";
import type { SettingsFile } from "./sources.ts";

/** Returns the problems, each with the line of the field or of its [[feed]]. */
export function feedProblems(
  issues: readonly z.core.$ZodIssue[],
  rows: unknown,
  { path, text }: SettingsFile,
): readonly string[] {
  const inRows = issues.map((issue) => ({ ...issue, path: issue.path.slice(1) }));
  return ownFeedProblems(rows, new z.ZodError(inRows)).map(
    ({ index, field, text: problem }) => `line ${lineOf(text, index, field)} of ${path}: ${problem}`,
  );
}

/** Returns the line of a field of the `index`th [[feed]] table, or of the table itself if the field has no line. */
export function lineOf(text: string, index: number | undefined, field: string | undefined): number {
  const lines = text.split("\n");
  const tables = lines.flatMap((line, at) => (/^\s*\[\[\s*"?feed"?\s*\]\]/.test(line) ? at : []));
  const inline = lines.findIndex((line) => /^\s*"?feed"?\s*=/.test(line));
  const start = index === undefined ? (tables[0] ?? inline) : tables[index];
  if (start === undefined) return Math.max(inline, 0) + 1;
  const found = lines.findIndex((line, at) => at > start && /^\s*"?([\w-]+)"?\s*=/.exec(line)?.[1] === field);
  const end = lines.findIndex((line, at) => at > start && /^\s*\[/.test(line));
  const isInside = field !== undefined && found > start && (end < 0 || found < end);
  return (isInside ? found : start) + 1;
}

/** Makes the feed's file path absolute. A relative path is resolved against the folder of the file that contains it. */
export const withAbsoluteFile = (feed: OwnFeed, base: string): OwnFeed =>
  feed.file === undefined ? feed : { ...feed, file: resolve(base, feed.file) };
