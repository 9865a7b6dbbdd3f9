// issues.ts: turns zod's issues into lines for people: "scopes: must be some of …", "`note` is required". Refuses
// documents with which a schema would be slow.

import type { z } from "zod";

const MAX_LINES = 20;

/**
 * Returns one line for each problem, without duplicates, and at most MAX_LINES.
 * @param root name of the whole input, for problems that do not concern a particular field
 * @param input the checked input, which shows whether a field is missing or invalid; undefined if the schema's
 *   messages already say this
 * @param depth number of path fields to show, for inputs where all elements of a list get the same message
 */
export function issueLines(
  error: z.ZodError,
  root: string,
  input: unknown,
  depth = Number.POSITIVE_INFINITY,
): string[] {
  const lines = error.issues.slice(0, MAX_LINES).flatMap(({ path, message, ...issue }) => {
    if (issue.code === "unrecognized_keys" && message.startsWith("Unrecognized"))
      return issue.keys
        .slice(0, MAX_LINES)
        .map((key) => `unknown field \`${[...path, key].join(".").slice(0, 60)}\``);
    if (path.length > 0 && isMissing(input, path))
      return `\`${path.join(".")}\` is required${message.startsWith("must ") ? ` and ${message}` : ""}`;
    const place = path.slice(0, depth).join(".");
    return `${place || root}: ${message}`;
  });
  return [...new Set(lines)].slice(0, MAX_LINES);
}

/** Returns whether the last field of this path is missing from its object. */
function isMissing(input: unknown, path: readonly PropertyKey[]): boolean {
  let inner = input;
  for (const key of path) {
    if (typeof inner !== "object" || inner === null) return false;
    inner = (inner as Record<PropertyKey, unknown>)[key];
  }
  return inner === undefined;
}

/**
 * Refuses a parsed JSON document that a schema would check slowly or incompletely. A schema reports every mistake, and
 * each costs up to 30 µs, so thousands of wrong values would occupy the thread. It also skips `__proto__`.
 * @param most maximum number of values in the document, containers included
 * @returns one line about the document; undefined if a schema can check it
 */
export function whyUncheckable(document: unknown, most: number): string | undefined {
  const waiting: unknown[] = [document];
  let seen = 0;
  while (waiting.length > 0) {
    const value = waiting.pop();
    seen++;
    if (typeof value === "object" && value !== null) {
      if (Object.hasOwn(value, "__proto__")) return 'unknown field "__proto__"';
      const inner: unknown[] = Array.isArray(value) ? value : Object.values(value);
      if (seen + waiting.length + inner.length > most) return `more than ${most} values`;
      waiting.push(...inner);
    }
  }
  return undefined;
}

/** Explains that a document has a text with U+0000, which PostgreSQL cannot store or compare; undefined if it has none. */
export function whyUnstorable(document: unknown): string | undefined {
  const waiting: unknown[] = [document];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value === "string" && value.includes("\0")) return "must not contain the character U+0000";
    if (typeof value === "object" && value !== null)
      for (const inner of Object.values(value)) waiting.push(inner);
  }
  return undefined;
}
