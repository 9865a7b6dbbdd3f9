// data-state.ts: how complete the data behind an answer is.
//
// in   the response's Inkling-Data-State and Inkling-Data-Version
// out  DataState, the same object for all answers of a response; DATA_INCOMPLETE where a required answer has no data
// src  docs/errors.md of the server (DATA_NOT_LOADED); RFC 9651: an item with parameters
// note `data` is not enumerable on an answer: JSON.stringify, a spread, deep equality and a row that is stored hold what
//      the API sent, and nothing else

import type { Lookup } from "./answers.ts";
import { type ErrorDetails, InklingError } from "./errors.ts";
import type { DATA_OF, Open } from "./generated.ts";

/** A flag, or "geolocation", whose data a lookup can require. */
export type DataName = (typeof DATA_OF)[Lookup][number];

/** How complete the data is that an answer was made from. */
export interface DataState {
  /** No data at all is loaded for these: the flag is `false` for every value. */
  readonly missing: readonly Open<DataName>[];
  /** Some of the feeds behind these could not be loaded: the flag may be `false` where it should not be. */
  readonly incomplete: readonly Open<DataName>[];
  /** How many hours ago publishers made the data behind these, if the server has it; empty if the server sends no ages. */
  readonly ageHours: Readonly<Partial<Record<Open<DataName>, number>>>;
  /** The server's release of data; undefined if something on the way removed Inkling-Data-Version. */
  readonly version: string | undefined;
}

/** What an answer has beside the members of the API: not enumerable, so not in its JSON. */
export interface WithData {
  readonly data: DataState;
}

export function readDataState(headers: Headers): DataState {
  const state = headers.get("inkling-data-state") ?? "";
  const names = (parameter: string) => {
    const [, list = ""] = new RegExp(`;\\s*${parameter}="([^"]*)"`).exec(state) ?? [];
    return Object.freeze(list.split(" ").filter((name) => name !== ""));
  };
  return Object.freeze({
    missing: names("missing"),
    incomplete: names("incomplete"),
    ageHours: Object.freeze(Object.fromEntries(names("age").flatMap(readAge))),
    version: headers.get("inkling-data-version") ?? undefined,
  });
}

/** "geolocation:171d" or "is_proxy:3h"; other units, which a later server may use, are left out. */
function readAge(text: string): [name: string, hours: number][] {
  const [, name, count, unit] = /^([a-z_]+):(\d+)([hd])$/.exec(text) ?? [];
  return name === undefined ? [] : [[name, Number(count) * (unit === "d" ? 24 : 1)]];
}

export function withData<T>(answer: T, data: DataState): T & WithData {
  return Object.defineProperty(answer, "data", { value: data, enumerable: false }) as T & WithData;
}

/** Is everything there? Without a version the header for the state may have been removed as well. */
export function isComplete(required: readonly DataName[], data: DataState): boolean {
  return required.length === 0 || (data.version !== undefined && lackingIn(required, data).length === 0);
}

function lackingIn(required: readonly DataName[], { missing, incomplete }: DataState): readonly DataName[] {
  return required.filter((name) => missing.includes(name) || incomplete.includes(name));
}

/** @throws DATA_INCOMPLETE */
export function requireData(required: readonly DataName[], data: DataState, details: ErrorDetails): void {
  if (isComplete(required, data)) return;
  const lacking = lackingIn(required, data);
  if (lacking.length > 0) {
    const isMissing = lacking.every((name) => data.missing.includes(name));
    const what = isMissing ? "The server has no data for" : "The server's data is incomplete for";
    throw new InklingError("DATA_INCOMPLETE", `${what} ${lacking.join(", ")}`, details);
  }
  throw new InklingError("DATA_INCOMPLETE", "It is not known whether the server has all data", {
    ...details,
    hint: "the answer has no Inkling-Data-Version header: a proxy removes it, and Inkling-Data-State with it",
  });
}
