// issue-lines.ts: what zod found wrong with an input -> lines for people: "scopes: must be some of …".

import type { z } from "zod";

/**
 * One line for each problem, without repetitions.
 * @param root name of the whole input, for problems of no member
 * @param depth members of the path that are shown, for inputs where all elements of a list get the same message
 */
export function issueLines(error: z.ZodError, root: string, depth = Number.POSITIVE_INFINITY): string[] {
  const lines = error.issues.map((issue) => {
    const place = issue.path.slice(0, depth).join(".");
    return `${place || root}: ${textOf(issue)}`;
  });
  return [...new Set(lines)];
}

/** Zod's own words about types, where a schema has none. */
const textOf = ({ message }: z.core.$ZodIssue): string =>
  message
    .replace(/^Invalid input: expected \w+, received undefined$/, "is required")
    .replace(/^Unrecognized key(s?): /, "unknown member$1 ");
