// cells.ts: the address, or email address, in a cell; members of JSON objects by path; and which column or member holds
// the client.
//
// in   the text of a cell, of a member or of a field of a log line; names of columns
// out  the text to look up; a column, or a path such as request.client_ip
// cost texts are only read again where they are not an address alone
//
// A column that a request may set (X-Forwarded-For and its like) is never chosen: the operator has to name it.

import { MAX_IP_TEXT, parseIp, specialUse } from "@inkling/engine";
import { trimmed } from "../values.ts";

/** Longer cells hold something else. */
const MAX_CELL = 4096;
const MAX_LISTED = 64;

/**
 * The address: by itself, with a port, in brackets. Of a list separated by commas the first public one, otherwise the
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

/** The email address: by itself, or after a name, in angle brackets. */
export function emailIn(cell: string): string {
  const text = trimmed(cell);
  return text.endsWith(">") ? trimmed(text.slice(text.lastIndexOf("<") + 1, -1)) : text;
}

/** A line of NDJSON; {} when it is none. */
export function objectOf(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {}; // a broken row is counted when it is met
  }
}

/** A member by its name, or by a path of names with dots between them. */
export function memberAt(members: Readonly<Record<string, unknown>>, path: string): unknown {
  if (Object.hasOwn(members, path)) return members[path];
  let value: unknown = members;
  for (const name of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

const MAX_DEPTH = 3;

/** Paths of all members that are text. */
export function pathsOf(members: Readonly<Record<string, unknown>>, before = "", depth = 1): string[] {
  return Object.entries(members).flatMap(([name, value]) => {
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return depth < MAX_DEPTH
        ? pathsOf(value as Record<string, unknown>, `${before}${name}.`, depth + 1)
        : [];
    return [before + name];
  });
}

/** Names that mean the client, the surest first. */
const IP_NAMES = [
  /^(client|c)[-_ ]?(ip|ip[-_ ]?addr(ess)?|addr(ess)?|host)$/i,
  /^((remote|source|src|visitor|user|peer|caller)?[-_ ]?(ip|ip[-_ ]?addr(ess)?|addr)|(downstream[-_ ])?(remote|source|peer)[-_ ]?(address|host))$/i,
];
/** Of these names, those that mean no postal address: such a column may be empty in all rows that were looked at. */
const SURE = /ip|addr$/i;
/** What a request may say of itself. */
const FORWARDED = /forwarded|x[-_ ]?real|xff|true[-_ ]?client|connecting[-_ ]?ip|header/i;
/** Members that hold addresses of others, or what only looks like an address. */
const OTHERS =
  /(^|[._ -])(server|dst|dest|destination|upstream|local|target|backend|listener)|(^|\.)(host|observer|node|agent)\.|version|build|release/i;

const lastName = (path: string) => path.slice(path.lastIndexOf(".") + 1).trim();

/**
 * The column or member that holds the client.
 * @param names of columns, or paths
 * @param share of its values that are addresses
 */
export function clientAmong<Key>(
  keys: readonly Key[],
  nameOf: (key: Key) => string,
  share: (key: Key) => number,
): Key | undefined {
  const able = keys.filter((key) => !FORWARDED.test(nameOf(key)));
  const others = able.filter((key) => OTHERS.test(nameOf(key)));
  const likely = able.filter((key) => !others.includes(key));
  const named = IP_NAMES.flatMap((pattern) => likely.filter((key) => pattern.test(lastName(nameOf(key)))));
  const ranked = [...named, ...likely, ...others];
  return ranked.find((key) => share(key) > 0.5) ?? named.find((key) => SURE.test(lastName(nameOf(key))));
}

/** The share of texts that fit, empty ones left out. */
export function shareOf(values: readonly unknown[], fits: (value: string) => boolean): number {
  const texts = values.filter((value): value is string => typeof value === "string" && value !== "");
  return texts.filter(fits).length / Math.max(1, texts.length);
}
