// json.ts: JSON of a publisher -> a checked value.

import type { z } from "zod";
import { FeedError } from "../catalog/feed.ts";

/**
 * @param what names the text in errors: "the file", "line 7"
 * @throws FeedError when `text` is not JSON (cut short, most often) or not of the schema's shape
 */
export function readJson<T>(text: string, schema: z.ZodType<T>, what = "the file"): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new FeedError(`${what} is not JSON, or is cut short`);
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  const place =
    issue.path.length === 0 ? "at its top" : `at ${issue.path.map(String).join(".").slice(0, 80)}`;
  throw new FeedError(`${what} does not have the expected form ${place}: ${issue.message}`);
}
