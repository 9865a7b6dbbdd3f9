// parser.ts: what parsers of lines and of JSON have in common; the formats are rows of line-formats.ts and json-formats.ts.
//
// in   the bytes of a feed file
// out  its networks or domains, the skipped lines, and the date that the file states
// err  FeedError when the file is invalid

import { z } from "zod";
import { FeedError } from "../catalog/feed.ts";
import { type Skips, Tally } from "./tally.ts";
import { forEachLine, LAST_SECOND, LONG, readText } from "./text.ts";

/** What a parser gathers; a NetworkList or a DomainList. */
export interface EntryList<Result = unknown> {
  readonly tally: Tally;
  add(line: number, text: string, service?: string): unknown;
  result(): Result;
}
type MakeList<Result> = new (tally: Tally) => EntryList<Result>;
type Parser<Result> = (body: Uint8Array) => Parsed<Result>;
type Parsed<Result> = Result & Skips & Stated;
interface Stated {
  readonly publishedAt?: Date;
  /** The copyright line that has to remain with the data. */
  readonly copyright?: string;
}

/** Takes what one line holds. @returns the date that it states */
export type ReadLine = (line: string, number: number, list: EntryList) => Date | undefined;

/** @param reader called for each file: readers may keep what earlier lines stated */
export function lineParser<Result>(make: MakeList<Result>, reader: () => ReadLine): Parser<Result> {
  return (body) => {
    const text = readText(body);
    const list = new make(new Tally());
    const read = reader();
    let ofFile: Date | undefined;
    let ofNewestEntry: Date | undefined;
    forEachLine(
      text,
      (line, number) => {
        const stated = read(line, number, list);
        if (COMMENT.test(line)) ofFile ??= stated;
        else ofNewestEntry = newerOf(ofNewestEntry, stated);
      },
      (_line, number) => list.tally.fail(number, LONG),
    );
    list.tally.checkLines(text);
    return parsed(list, { publishedAt: ofFile ?? ofNewestEntry });
  };
}

const COMMENT = /^[#;]/;

/** The newer of two dates: a file was made no earlier than its newest entry. */
export function newerOf(a: Date | undefined, b: Date | undefined): Date | undefined {
  return a === undefined || (b !== undefined && b > a) ? b : a;
}

/** @param read takes the records of a file; @returns the date that it states */
export function jsonParser<Result, T>(
  make: MakeList<Result>,
  schema: z.ZodType<T>,
  read: (file: T, list: EntryList) => Date | undefined,
): Parser<Result> {
  return (body) => {
    const list = new make(new Tally("record"));
    const publishedAt = read(readJson(readText(body), schema), list);
    list.tally.check();
    return parsed(list, { publishedAt });
  };
}

export function parsed<Result>(
  list: EntryList<Result>,
  { publishedAt, copyright }: { [Key in keyof Stated]: Stated[Key] | undefined } = {},
): Parsed<Result> {
  return {
    ...list.result(),
    ...list.tally.report,
    ...(publishedAt && { publishedAt }),
    ...(copyright !== undefined && { copyright }),
  };
}

/** A time in seconds since 1970. */
export const unixTime = z.number().int().positive().max(LAST_SECOND);

/** Of a member; other keys are content, domains above all. */
const NAME = /^[a-z][a-z0-9_]{0,23}$/i;

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
  const { path, message } = result.error.issues[0]!; // a failure has an issue
  const names = path.map((key) => (typeof key === "number" || NAME.test(String(key)) ? String(key) : "*"));
  const place = names.length === 0 ? "at its top" : `at ${names.join(".").slice(0, 80)}`;
  throw new FeedError(`${what} does not have the expected form ${place}: ${message}`);
}
