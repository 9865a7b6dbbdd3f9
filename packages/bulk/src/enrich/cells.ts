// cells.ts: the address, or email address, in a cell that holds more than that.
//
// in   the text of a cell, or of a field of a log line
// out  the text to look up
// cost only paid for cells that are not an address alone

import { MAX_IP_TEXT, parseIp, specialUse } from "@inkling/engine";
import { trimmed } from "../values.ts";

/** Longer cells hold something else. */
const MAX_CELL = 4096;
const MAX_LISTED = 64;

/**
 * The address: alone, with a port, in brackets. Of a list separated by commas the first public one, otherwise the
 * first; what is not an address is passed over.
 */
export function addressIn(cell: string): string | undefined {
  if (cell.length > MAX_CELL) return undefined;
  let first: string | undefined;
  for (const part of cell.split(",", MAX_LISTED)) {
    const text = withoutPort(part.trim());
    const address = text.length <= MAX_IP_TEXT ? parseIp(text) : undefined;
    if (address === undefined) continue;
    if (specialUse(address) === undefined) return text;
    first ??= text;
  }
  return first;
}

function withoutPort(text: string): string {
  const found = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text) ?? /^([\d.]+):\d{1,5}$/.exec(text);
  return found?.[1] ?? text;
}

/** The email address: alone, or after a name, in angle brackets. */
export function emailIn(cell: string): string {
  const text = trimmed(cell);
  return text.endsWith(">") ? trimmed(text.slice(text.lastIndexOf("<") + 1, -1)) : text;
}
