// text.ts: the bytes of a feed file -> its text, and the lines of it.
//
// in   bytes as published; a byte-order mark, CRLF and a missing last line end occur
// out  text; lines without their ends, numbered from 1
// note no error quotes the text: it may have come from elsewhere than where it should, and everybody sees the error
// err  FeedError for anything but text: empty, a web page, a packed or binary file, another encoding

import { FeedError } from "../catalog/feed.ts";

/** Longest line that is parsed; the longest in any default feed has 200 characters. */
export const MAX_LINE = 65_536;
export const LONG = `is longer than ${MAX_LINE} characters`;
const HEAD = 1024;

/**
 * Decodes a feed's body.
 * @throws FeedError when it is empty, HTML or XML, packed, binary, or not UTF-8
 */
export function readText(body: Uint8Array): string {
  if (body.length === 0) throw new FeedError("is empty");
  if (body[0] === 0x1f && body[1] === 0x8b) throw new FeedError("is still packed: it is a gzip file");
  if (body[0] === 0x50 && body[1] === 0x4b) throw new FeedError("is still packed: it is a zip file");
  if (body.includes(0)) throw new FeedError("is a binary file: it holds a zero byte");
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    throw new FeedError("is not UTF-8 text");
  }
  const start = text.trimStart();
  if (start === "") throw new FeedError("is empty but for white space");
  if (start.startsWith("<") || /<!doctype html|<html[\s>]/i.test(start.slice(0, HEAD))) {
    throw new FeedError("is a web page, not a list");
  }
  return text;
}

/**
 * Calls `visit` with each line that holds more than white space, trimmed, and its number.
 * @param onLong called for a line of more than {@link MAX_LINE} characters; by default it is an error
 */
export function forEachLine(
  text: string,
  visit: (line: string, number: number) => void,
  onLong: (line: string, number: number) => void = refuseLong,
): void {
  let number = 0;
  for (let from = 0; from < text.length; ) {
    const found = text.indexOf("\n", from);
    const to = found < 0 ? text.length : found;
    const line = text.slice(from, to).trim(); // takes the CR of CRLF with it
    number++;
    if (line.length > MAX_LINE) onLong(line, number);
    else if (line !== "") visit(line, number);
    from = to + 1;
  }
}

function refuseLong(_line: string, number: number): never {
  throw new FeedError(`line ${number} ${LONG}`);
}

const STATED_DATE = /\blast[ -]?(?:updated?|modified)\s*(?:\([^()]*\)\s*)?:\s*(.+?)[\s#]*$/i;
/** Longest comment searched for a date: the pattern takes quadratic time. */
const MAX_COMMENT = 200;

/** The date that a comment such as "# Last updated: 2026-03-07 21:15:07 UTC" states. */
export function findStatedDate(comment: string): Date | undefined {
  if (comment.length > MAX_COMMENT) return undefined;
  const stated = STATED_DATE.exec(comment)?.[1];
  return stated === undefined ? undefined : findDate(stated);
}

/** 9999-12-31T23:59:59Z in seconds since 1970: later times have another ISO form, which no release can hold. */
export const LAST_SECOND = 253_402_300_799;

/** As "GMT", "Z" or "+01:00". */
const ZONE = /(?:[a-z]|:\d\d(?:\.\d+)? ?[+-]\d\d:?\d\d)$/i;

/** "2026-03-07 21:15:07[ UTC]", ISO 8601 or an HTTP date, from 1970 to 9999. A time without a zone is UTC. */
export function findDate(text = ""): Date | undefined {
  const date = new Date(ZONE.test(text) ? text.replace(/ ?UTC$/, "Z") : `${text}Z`);
  return date.getTime() >= 0 && date.getTime() <= LAST_SECOND * 1000 ? date : undefined;
}
