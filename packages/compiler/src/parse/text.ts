// text.ts: decodes the bytes of a feed file into text and lines.
//
// in   bytes as published, possibly with a byte-order mark, with CRLF, or without a line end after the last line
// out  text; lines without their ends (CR, LF or CRLF), numbered from 1
// note errors never quote the text, because anyone can see them, and the text may come from the wrong place
// err  FeedError if the file is not text: empty, a web page, packed, binary, or in another encoding

import { parseTime } from "@inkling/engine";
import { FeedError } from "../catalog/feed.ts";

/** Maximum length of a line that is parsed, in characters. The longest line in any default feed has 200. */
export const MAX_LINE = 65_536;
export const LONG = `is longer than ${MAX_LINE} characters`;
const HEAD = 1024;

/**
 * Decodes a feed's body.
 * @throws FeedError if it is empty, HTML or XML, packed, binary, or not UTF-8
 */
export function readText(body: Uint8Array): string {
  if (body.length === 0) throw new FeedError("is empty");
  if (body[0] === 0x1f && body[1] === 0x8b) throw new FeedError("is still compressed: it is a gzip file");
  if (body[0] === 0x50 && body[1] === 0x4b) throw new FeedError("is still compressed: it is a zip file");
  if (body.includes(0)) throw new FeedError("is a binary file: it contains a zero byte");
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    throw new FeedError("is not UTF-8 text");
  }
  const start = text.trimStart();
  if (start === "") throw new FeedError("contains only white space");
  if (start.startsWith("<") || /<!doctype html|<html[\s>]/i.test(start.slice(0, HEAD))) {
    throw new FeedError("is a web page, not a list");
  }
  return text;
}

/**
 * Calls `visit` with each non-blank line, trimmed, and its number.
 * @param onLong called for a line of more than {@link MAX_LINE} characters; by default, such a line is an error
 */
export function forEachLine(
  text: string,
  visit: (line: string, number: number) => void,
  onLong: (line: string, number: number) => void = refuseLong,
): void {
  let number = 0;
  const next = (end: string, from: number) => {
    const found = text.indexOf(end, from);
    return found < 0 ? text.length : found;
  };
  let [cr, lf] = [next("\r", 0), next("\n", 0)];
  for (let from = 0; from < text.length; ) {
    if (cr < from) cr = next("\r", from);
    if (lf < from) lf = next("\n", from);
    const to = Math.min(cr, lf);
    const line = text.slice(from, to).trim();
    number++;
    if (line.length > MAX_LINE) onLong(line, number);
    else if (line !== "") visit(line, number);
    from = to + (to === cr && to + 1 === lf ? 2 : 1);
  }
}

function refuseLong(_line: string, number: number): never {
  throw new FeedError(`line ${number} ${LONG}`);
}

const STATED_DATE = /\blast[ -]?(?:updated?|modified)\s*(?:\([^()]*\)\s*)?:\s*(.+?)[\s#]*$/i;
/** Maximum length of a comment that is searched for a date, because the pattern takes quadratic time. */
const MAX_COMMENT = 200;

/** Returns the date in a comment such as "# Last updated: 2026-03-07 21:15:07 UTC". */
export function findStatedDate(comment: string): Date | undefined {
  if (comment.length > MAX_COMMENT) return undefined;
  const stated = STATED_DATE.exec(comment)?.[1];
  return stated === undefined ? undefined : findDate(stated);
}

/** 9999-12-31T23:59:59Z in seconds since 1970. Later times have a different ISO form, which a release cannot hold. */
export const LAST_SECOND = 253_402_300_799;

/** Reads an HTTP date and similar formats. `Date.parse` makes the 31st of February the 3rd of March. */
function parseOther(text: string): number | undefined {
  const at = Date.parse(ZONE.test(text) ? text.replace(/ ?UTC$/, "Z") : `${text}Z`);
  const day = Number(/(?:^|[^\d:])0?([12]?\d|3[01])(?![\d:])/.exec(text)?.[1]);
  const isMoved = day > 28 && IS_UTC.test(text) && new Date(at).getUTCDate() !== day;
  return isMoved ? undefined : at;
}
const IS_UTC = /(?:GMT|UTC|Z|(?<![+-]\d\d:?\d)\d)$/;

/** Matches a time zone such as "GMT", "Z" or "+01:00". */
const ZONE = /(?:[a-z]|:\d\d(?:\.\d+)? ?[+-]\d\d:?\d\d)$/i;

/** Reads "2026-03-07 21:15:07[ UTC]", ISO 8601 or an HTTP date, from 1970 to 9999. A time without a zone is UTC. */
export function findDate(text = ""): Date | undefined {
  const date = new Date((/^\d{4}-\d/.test(text) ? parseTime(text) : parseOther(text)) ?? Number.NaN);
  return date.getTime() >= 0 && date.getTime() <= LAST_SECOND * 1000 ? date : undefined;
}

/** Returns GB for UK. @param code two upper-case letters */
export const isoCountry = (code: string): string => (code === "UK" ? "GB" : code);
