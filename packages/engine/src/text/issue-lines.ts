// issue-lines.ts: what zod found wrong with an input -> lines for people: "scopes: must be some of …", "`note` is required".

import type { z } from "zod";

/**
 * One line for each problem, without repetitions.
 * @param root name of the whole input, for problems of no member
 * @param input what was parsed, to tell a missing member from a wrong one; undefined if the schema tells it
 * @param depth members of the path that are shown, for inputs where all elements of a list get the same message
 */
export function issueLines(
  error: z.ZodError,
  root: string,
  input: unknown,
  depth = Number.POSITIVE_INFINITY,
): string[] {
  const lines = error.issues.flatMap(({ path, message, ...issue }) => {
    if (issue.code === "unrecognized_keys" && message.startsWith("Unrecognized"))
      return issue.keys.map((key) => `unknown member \`${[...path, key].join(".").slice(0, 60)}\``);
    if (path.length > 0 && isMissing(input, path))
      return `\`${path.join(".")}\` is required${message.startsWith("must ") ? ` and ${message}` : ""}`;
    const place = path.slice(0, depth).join(".");
    return `${place || root}: ${message}`;
  });
  return [...new Set(lines)];
}

/** Has the object that the path leads to no such member? */
function isMissing(input: unknown, path: readonly PropertyKey[]): boolean {
  let inner = input;
  for (const key of path) {
    if (typeof inner !== "object" || inner === null) return false;
    inner = (inner as Record<PropertyKey, unknown>)[key];
  }
  return inner === undefined;
}
