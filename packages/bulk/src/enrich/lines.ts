// lines.ts: the fields of a line of text, such as a log line.
//
// in   a line without its end
// out  the text of one field, without its quotes or brackets
// cost linear in the line, also if quotes and brackets never close
//
// Spaces and tabs separate fields. A field that begins with a double quote ends at the next quote before a separator,
// as in `"GET / HTTP/1.1"`; \" does not end it. A field that begins with [ ends at the next ] before a separator, as in
// `[22/Nov/2026:10:00:00 +0000]`. If there is no such end, the quote or bracket is an ordinary character.

const CLOSING: Readonly<Record<string, string>> = { '"': '"', "[": "]" };

const isSeparator = (c: string | undefined) => c === " " || c === "\t";

/** Returns one field of a line; undefined if the line has fewer fields. @param number counts from 1 */
export function fieldOf(line: string, number: number): string | undefined {
  const unclosed = new Set<string>(); // a character that does not close here does not close further right either
  let at = 0;
  for (let count = 1; ; count++) {
    while (isSeparator(line[at])) at++;
    if (at >= line.length) return undefined;
    const closing = CLOSING[line[at]!];
    const close = closing === undefined || unclosed.has(closing) ? -1 : closeOf(line, at + 1, closing);
    if (closing !== undefined && close < 0) unclosed.add(closing);
    let end = close < 0 ? at : close + 1;
    while (end < line.length && !isSeparator(line[end])) end++;
    if (count === number) return close < 0 ? line.slice(at, end) : line.slice(at + 1, close);
    at = end;
  }
}

/** Returns where a field closes that begins before `from`, or -1. */
function closeOf(line: string, from: number, closing: string): number {
  for (let at = line.indexOf(closing, from); at >= 0; at = line.indexOf(closing, at + 1)) {
    const after = line[at + 1];
    if ((after === undefined || isSeparator(after)) && !isEscaped(line, at, from)) return at;
  }
  return -1;
}

/** Returns whether an odd number of backslashes precedes the position. */
function isEscaped(line: string, at: number, from: number): boolean {
  let start = at;
  while (start > from && line[start - 1] === "\\") start--;
  return (at - start) % 2 === 1;
}
