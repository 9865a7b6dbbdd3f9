// difference.ts: finds the first place where a response differs from the recorded one.

import type { Response } from "./exchange.ts";

/** Number of characters to show from the first difference on. */
const SHOWN = 60;

/** @returns undefined if both are equal */
export function difference(want: Response, got: Response): string | undefined {
  if (want.status !== got.status) return `status: got ${quoted(got.status)}, want ${quoted(want.status)}`;
  const header = headerDifference(want.headers, got.headers);
  // If the bodies differ in length, so does Content-Length. The first difference in the body is then more helpful.
  if (header !== undefined && !/"content-length:/i.test(header)) return header;
  return bodyDifference(want.body, got.body) ?? header;
}

function headerDifference(want: readonly string[], got: readonly string[]): string | undefined {
  const wanted = lengthLast(want).find((line) => !got.includes(line));
  const added = lengthLast(got).find((line) => !want.includes(line));
  if (wanted !== undefined || added !== undefined)
    return `header: got ${quoted(added)}, want ${quoted(wanted)}`;
  return want.length === got.length ? undefined : "header: one is sent twice";
}

const isLength = (line: string) => /^content-length:/i.test(line);
const lengthLast = (lines: readonly string[]) => [
  ...lines.filter((line) => !isLength(line)),
  ...lines.filter(isLength),
];

function bodyDifference(want: string, got: string): string | undefined {
  if (want === got) return undefined;
  let index = 0;
  while (want[index] === got[index]) index++;
  const at = Buffer.byteLength(want.slice(0, index));
  const part = (text: string) => quoted(text.slice(index, index + SHOWN));
  return `body byte ${at}: got ${part(got)}, want ${part(want)}`;
}

const quoted = (text: string | undefined) => (text === undefined ? "nothing" : JSON.stringify(text));
