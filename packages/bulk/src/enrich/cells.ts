// cells.ts: finds the address or email address in a cell, fields of JSON objects by path, and the column or field
// that holds the client's address.
//
// in   the text of a cell, of a field or of a log line's field; names of columns
// out  the text to look up; a column, or a path such as request.client_ip
// cost a text is read a second time only if it is not a bare address
//
// A column whose value a request may set (such as X-Forwarded-For) is never chosen automatically. The operator must
// choose it.

import { MAX_IP_TEXT, parseIp, specialUse } from "@inkling/engine";
import { trimmed } from "../values.ts";

/** Maximum cell length in characters. Longer cells contain something else. */
const MAX_CELL = 4096;
const MAX_LISTED = 64;

/**
 * Finds an address: by itself, with a port, or in brackets. In a comma-separated list, it uses the first public
 * address, or otherwise the first address. It skips everything that is not an address.
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

/** Finds an email address: by itself, or in angle brackets after a name. */
export function emailIn(cell: string): string {
  const text = trimmed(cell);
  return text.endsWith(">") ? trimmed(text.slice(text.lastIndexOf("<") + 1, -1)) : text;
}

/** Parses a line of NDJSON. Returns {} if the line is not an object. */
export function objectOf(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {}; // a broken row is counted later, when it is read
  }
}

/** Finds a field by its name, or by a path of names separated by dots. */
export function fieldAt(fields: Readonly<Record<string, unknown>>, path: string): unknown {
  if (Object.hasOwn(fields, path)) return fields[path];
  let value: unknown = fields;
  for (const name of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

const MAX_DEPTH = 3;

/** Returns the paths of all fields that are not objects, up to MAX_DEPTH levels deep. */
export function pathsOf(fields: Readonly<Record<string, unknown>>, before = "", depth = 1): string[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return depth < MAX_DEPTH
        ? pathsOf(value as Record<string, unknown>, `${before}${name}.`, depth + 1)
        : [];
    return [before + name];
  });
}

/** Patterns of names that stand for the client, the most certain names first. */
const IP_NAMES = [
  /^(client|c)[-_ ]?(ip|ip[-_ ]?addr(ess)?|addr(ess)?|host)$/i,
  /^((remote|source|src|visitor|user|peer|caller)?[-_ ]?(ip|ip[-_ ]?addr(ess)?|addr)|(downstream[-_ ])?(remote|source|peer)[-_ ]?(address|host))$/i,
];
/**
 * Matches names that cannot stand for a postal address. A column with such a name is chosen even if the examined rows
 * contain no address.
 */
const SURE = /ip|addr$/i;
/** Matches names of values that the client may set itself. */
const FORWARDED = /forwarded|x[-_ ]?real|xff|true[-_ ]?client|connecting[-_ ]?ip|header/i;
/** Matches fields that contain other addresses, or values that only look like an address. */
const OTHERS =
  /(^|[._ -])(server|dst|dest|destination|upstream|local|target|backend|listener)|(^|\.)(host|observer|node|agent)\.|version|build|release/i;

const lastName = (path: string) => path.slice(path.lastIndexOf(".") + 1).trim();

/** The columns or fields that hold addresses. */
interface Found<Key> {
  readonly chosen: Key | undefined;
  /** Other keys with which the chosen key may be confused, because most rows have an address there. */
  readonly others: readonly Key[];
}

/** Chooses the column or field that contains the client's address. See {@link choose} for the parameters. */
export function clientAmong<Key>(
  keys: readonly Key[],
  nameOf: (key: Key) => string,
  count: (key: Key) => number,
  rows: number,
): Found<Key> {
  const able = keys.filter((key) => !FORWARDED.test(nameOf(key)));
  const ofOthers = able.filter((key) => OTHERS.test(nameOf(key)));
  const likely = able.filter((key) => !ofOthers.includes(key));
  const named = IP_NAMES.flatMap((pattern) => likely.filter((key) => pattern.test(lastName(nameOf(key)))));
  const sure = named.find((key) => SURE.test(lastName(nameOf(key))));
  return choose(named, likely, fullest(ofOthers, count) ?? sure, count, rows);
}

/** A telling name counts if its column has an address in at least this share of the rows of the fullest column. */
const NAMED_SHARE = 1 / 5;

/**
 * Chooses the first key with a telling name, unless its column has an address in hardly any row, or in less than half
 * as many rows as another one with a telling name. Otherwise chooses the key with an address in the most rows.
 * @param named the keys with telling names, the most certain names first
 * @param likely all keys that may be chosen, including `named`
 * @param lastResort the key to choose if no likely key has an address
 * @param count returns the number of rows with an address ({@link rowsThatFit})
 * @param rows number of rows
 */
export function choose<Key>(
  named: readonly Key[],
  likely: readonly Key[],
  lastResort: Key | undefined,
  count: (key: Key) => number,
  rows: number,
): Found<Key> {
  const counts = new Map(likely.map((key) => [key, count(key)]));
  const countOf = (key: Key) => counts.get(key)!;
  const most = fullest(likely, countOf);
  const telling = named.filter((key) => most !== undefined && countOf(key) >= NAMED_SHARE * countOf(most));
  const clearest = fullest(telling, countOf);
  const chosen = clearest === undefined ? most : telling.find((key) => 2 * countOf(key) >= countOf(clearest));
  return {
    chosen: chosen ?? lastResort,
    others: likely.filter((key) => key !== chosen && 2 * countOf(key) > rows),
  };
}

/** Returns the key with the highest count, or the first of several. Returns undefined if all counts are 0. */
function fullest<Key>(keys: readonly Key[], count: (key: Key) => number): Key | undefined {
  const counts = keys.map(count);
  return keys[counts.indexOf(Math.max(1, ...counts))];
}

/**
 * Returns the number of texts that match. If most texts do not match, returns 0, because they contain something else.
 */
export function rowsThatFit(values: readonly unknown[], fits: (value: string) => boolean): number {
  const texts = textsOf(values);
  const count = texts.filter(fits).length;
  return 2 * count > texts.length ? count : 0;
}

/** Returns the share of texts that match, ignoring empty texts. */
export function shareOf(values: readonly unknown[], fits: (value: string) => boolean): number {
  const texts = textsOf(values);
  return texts.filter(fits).length / Math.max(1, texts.length);
}

const textsOf = (values: readonly unknown[]) =>
  values.filter((value): value is string => typeof value === "string" && value !== "");
