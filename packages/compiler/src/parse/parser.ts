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
type MakeList<Result> = new (tally: Tally) => EntryList<Result>;
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

/** Returns the newer of two dates, because a file is at least as new as its newest entry. */
export function newerOf(a: Date | undefined, b: Date | undefined): Date | undefined {
  return a === undefined || (b !== undefined && b > a) ? b : a;
}

/** @param read reads the records of a file and returns the date that the file states */
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

/** Matches member names of the formats. Other keys are content, usually domains. */
const NAME = /^[a-z][a-z0-9_]{0,23}$/i;

/**
 * @param what names the text in errors: "the file", "line 7"
 * @throws FeedError if `text` is not JSON (most often because it was cut short), or does not match the schema
 */
export function readJson<T>(text: string, schema: z.ZodType<T>, what = "the file"): T {
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
  throw new FeedError(`${what} does not have the expected form ${place}: ${message}`);
}
