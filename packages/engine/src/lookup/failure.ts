// failure.ts: why a lookup has no answer: a closed set of frozen values, without words for any protocol.

import { SPECIAL_USE } from "../address/special-use.ts";

export type LookupFailure =
  | { readonly reason: "address_invalid" | "no_release" | "not_found" }
  /** A special-use address: `use` fits "… is a <use> address". */
  | { readonly reason: "reserved"; readonly use: string }
  /** Answers without any loaded feed, or the lookup whose segment is not there. */
  | { readonly reason: "data_missing"; readonly names: readonly string[] };

export const ADDRESS_INVALID: LookupFailure = Object.freeze({ reason: "address_invalid" });
export const NO_RELEASE: LookupFailure = Object.freeze({ reason: "no_release" });
export const NOT_FOUND: LookupFailure = Object.freeze({ reason: "not_found" });

/** By use. */
export const RESERVED: ReadonlyMap<string, LookupFailure> = new Map(
  SPECIAL_USE.map(({ use }) => [use, Object.freeze({ reason: "reserved", use })]),
);

export function dataMissing(names: readonly string[]): LookupFailure {
  return Object.freeze({ reason: "data_missing", names: Object.freeze(names) });
}
