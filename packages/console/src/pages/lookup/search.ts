// search.ts: holds what the Lookup page looks up, and the last list with its answers. The list is kept only in memory.
// In a page's address, a list would put pasted text into the browser's history.

import type { AdminSession, Lookup } from "../../answers.ts";
import { type Found, findTyped } from "./find-values.ts";
import { lookUp } from "./requests.ts";

export interface Search {
  /** The text in the field. */
  readonly text: string;
  readonly found: Found;
  /** The file's name; undefined for a typed text. */
  readonly source?: string;
}

/** The part after the page's name in the address of the last list. */
export const LIST = "?list";

export const searchOf = (text: string): Search => ({ text, found: findTyped(text) });

/** Is the text a single value and nothing else? */
export const isOneValue = ({ text, found: { values } }: Search) =>
  values.length === 1 && values[0] === text.trim();

/** Returns the address after the page's name: a single value, {@link LIST}, or "" for an empty field. */
export function placeOf(search: Search): string {
  const text = search.text.trim();
  if (isOneValue(search)) return text;
  return text === "" && search.source === undefined ? "" : LIST;
}

/** The last list of each session. It is forgotten when the session ends. */
const lists = new WeakMap<AdminSession, Search>();

export function keepList(search: Search, session: AdminSession | undefined): void {
  if (session !== undefined) lists.set(session, search);
}

/** @param rest the address after the page's name */
export function searchAt(rest: string, session: AdminSession | undefined): Search {
  if (rest !== LIST) return searchOf(rest);
  return (session && lists.get(session)) ?? searchOf("");
}

let answers = new WeakMap<Search, Lookup>();

/** Call it after an override has changed. */
export function forgetAnswers(): void {
  answers = new WeakMap();
}

/**
 * Looks up the values. A second call for the same object returns the same answers.
 * @throws {ApiError}
 */
export async function answersTo(
  search: Search,
  signal: AbortSignal,
  show: (part: Lookup) => void,
): Promise<Lookup> {
  const known = answers.get(search);
  if (known !== undefined) return known;
  const lookup = await lookUp(search.found.values, signal, show);
  answers.set(search, lookup);
  return lookup;
}
