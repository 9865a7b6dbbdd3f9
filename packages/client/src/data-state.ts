// data-state.ts: finds out how complete the data behind an answer is.
//
// Source: docs/errors.md of the server (DATA_NOT_LOADED); RFC 9651: an item with parameters. `data` is not enumerable
// on an answer. JSON.stringify, a spread, deep equality and a stored row therefore contain only what the API sent.

import type { Lookup } from "./answers.ts";
import { type ErrorDetails, InklingError } from "./errors.ts";
import type { DATA_OF, Open } from "./generated.ts";

/** A flag, or "geolocation", whose data a lookup can require. */
export type DataName = (typeof DATA_OF)[Lookup][number];

/** How complete the data behind an answer is. */
export interface DataState {
  /** Flags and answers without any loaded data. These flags are `false` for every value. */
  readonly missing: readonly Open<DataName>[];
  /**
   * Flags and answers for which some feeds could not be loaded. These flags may be `false` when they should
   * be true.
   */
  readonly incomplete: readonly Open<DataName>[];
  /**
   * Age in hours of the publishers' data behind each flag or answer, if it is known. Empty if the server does not send
   * ages.
   */
  readonly ageHours: Readonly<Partial<Record<Open<DataName>, number>>>;
  /** The server's data release. Undefined if a proxy removed Inkling-Data-Version. */
  readonly version: string | undefined;
}

/**
 * What an answer contains in addition to the API's fields. It is not enumerable, so it is not part of the answer's
 * JSON.
 */
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

/** Parses "geolocation:171d" or "is_proxy:3h". Skips other units, which a later server may use. */
function readAge(text: string): [name: string, hours: number][] {
  const [, name, count, unit] = /^([a-z_]+):(\d+)([hd])$/.exec(text) ?? [];
  return name === undefined ? [] : [[name, Number(count) * (unit === "d" ? 24 : 1)]];
}

export function withData<T>(answer: T, data: DataState): T & WithData {
  return Object.defineProperty(answer, "data", { value: data, enumerable: false }) as T & WithData;
}

/** Is all required data complete? If the version header is missing, the state header may also have been removed. */
export function isComplete(required: readonly DataName[], data: DataState): boolean {
  return required.length === 0 || (data.version !== undefined && lackingIn(required, data).length === 0);
}

function lackingIn(required: readonly DataName[], { missing, incomplete }: DataState): readonly DataName[] {
  return required.filter((name) => missing.includes(name) || incomplete.includes(name));
}

/** @throws InklingError DATA_INCOMPLETE if required data is missing or incomplete */
export function requireData(required: readonly DataName[], data: DataState, details: ErrorDetails): void {
  if (isComplete(required, data)) return;
  const lacking = lackingIn(required, data);
  if (lacking.length > 0) {
    const isMissing = lacking.every((name) => data.missing.includes(name));
    const what = isMissing ? "The server has no data for" : "The server's data is incomplete for";
    throw new InklingError("DATA_INCOMPLETE", `${what} ${lacking.join(", ")}`, details);
  }
  throw new InklingError("DATA_INCOMPLETE", "The client cannot tell whether the server has all data", {
    ...details,
    hint: "the answer has no Inkling-Data-Version header: a proxy removes it, and probably Inkling-Data-State as well",
  });
}
