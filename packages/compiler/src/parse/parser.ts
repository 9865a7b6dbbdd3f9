// parser.ts: the common parts of the line and JSON parsers. line-formats.ts and json-formats.ts define one parser per
// format.
//
// in   the bytes of a feed file
// out  its networks or domains, the skipped lines, and the date that the file states
// err  FeedError if the file is invalid

import { z } from "zod";
import { FeedError } from "../catalog/feed.ts";
import { type Skips, Tally } from "./tally.ts";
import { forEachLine, LAST_SECOND, LONG, readText } from "./text.ts";

/** Where a parser collects entries: a NetworkList or a DomainList. */
export interface EntryList<Result = unknown> {
  readonly tally: Tally;
  add(line: number, text: string, service?: string): unknown;
  result(): Result;
}
export type MakeList<Result> = new (tally: Tally) => EntryList<Result>;
type Parser<Result> = (body: Uint8Array) => Parsed<Result>;
type Parsed<Result> = Result & Skips & Stated;
interface Stated {
  readonly publishedAt?: Date;
  /** The copyright line that must be kept with the data. */
  readonly copyright?: string;
}

/** Reads the entries of one line. @returns the date that the line states */
export type ReadLine = (line: string, number: number, list: EntryList) => Date | undefined;

/** @param reader called once per file, because readers may remember earlier lines */
export function lineParser<Result>(make: MakeList<Result>, reader: () => ReadLine): Parser<Result> {
  return (body) => {
    const text = readText(body);
    const list = new make(new Tally());
    const read = reader();
    let ofFile: Date | undefined;
    let ofNewestEntry: Date | undefined;
    forEachEntry(text, list.tally, (line, number) => {
      const stated = read(line, number, list);
      if (COMMENT.test(line)) ofFile ??= stated;
      else ofNewestEntry = newerOf(ofNewestEntry, stated);
    });
    return parsed(list, { publishedAt: ofFile ?? ofNewestEntry });
  };
}

const COMMENT = /^[#;]/;

/** Calls `visit` with each line, and counts lines that are too long. @throws FeedError like {@link Tally.checkLines} */
export function forEachEntry(
  text: string,
  tally: Tally,
  visit: (line: string, number: number) => void,
): void {
  forEachLine(text, visit, (_line, number) => tally.fail(number, LONG));
  tally.checkLines(text);
}

/** Returns the newer of two dates, because a file is at least as new as its newest entry. */
export function newerOf(a: Date | undefined, b: Date | undefined): Date | undefined {
  return a === undefined || (b !== undefined && b > a) ? b : a;
}

/** @param read reads the records of a file and returns the date that the file states */
export function jsonParser<Result, T>(
  make: MakeList<Result>,
  schema: z.ZodType<T>,
  read: (file: T, list: EntryList) => Date | undefined,
  maxValues?: number,
): Parser<Result> {
  return (body) => {
    const list = new make(new Tally("record"));
    const publishedAt = read(readJson(readText(body), schema, undefined, maxValues), list);
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

/** Matches field names of the formats. Other keys are content, usually domains. */
const NAME = /^[a-z][a-z0-9_]{0,23}$/i;

/**
 * Maximum number of JSON values in a file. With a schema, a value that does not match costs up to 1 KB. The largest
 * known feed has 100,000 values.
 */
const MAX_VALUES = 1_000_000;

/**
 * @param what names the text in errors: "the file", "line 7"
 * @throws FeedError if `text` is not JSON (most often because it was cut short), has too many values, or does not match
 *   the schema
 */
export function readJson<T>(
  text: string,
  schema: z.ZodType<T>,
  what = "the file",
  maxValues = MAX_VALUES,
): T {
  if (hasMoreValues(text, maxValues))
    throw new FeedError(`${what} has more than ${maxValues.toLocaleString("en-US")} JSON values`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new FeedError(`${what} is not JSON, or is truncated`);
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!; // a failed parse has at least one issue
  const names = path.map((key) => (typeof key === "number" || NAME.test(String(key)) ? String(key) : "*"));
  const place = names.length === 0 ? "at its top" : `at ${names.join(".").slice(0, 80)}`;
  throw new FeedError(`${what} does not have the expected format ${place}: ${message}`);
}

const CODE = { quote: 0x22, comma: 0x2c, openBracket: 0x5b, backslash: 0x5c, openBrace: 0x7b };

/**
 * Returns true if the JSON text has more than `most` values. Parsing takes about 100 bytes for each value, so that 64
 * MiB of `{},` took 3.3 GB and 170 s. Counting them first takes 0.2 s. It counts openings and commas, because every
 * value follows one of them.
 */
function hasMoreValues(text: string, most: number): boolean {
  let count = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === CODE.quote) i = endOfString(text, i);
    else if (code === CODE.comma || code === CODE.openBracket || code === CODE.openBrace) count++;
    if (count > most) return true;
  }
  return false;
}

/** Returns the index of the quote that ends the string which begins at `start`, or the text's length. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === CODE.quote) return i;
    if (code === CODE.backslash) i++;
  }
  return text.length;
}
