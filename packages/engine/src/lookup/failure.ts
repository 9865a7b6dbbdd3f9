// failure.ts: lists the reasons why a lookup has no answer, as a closed set of frozen values, independent of any
// protocol.

import { parsePrefix, SPECIAL_USE } from "../address/ip.ts";
import { PrefixTable } from "../segment/prefix-table.ts";

export type LookupFailure =
  | { readonly reason: "address_invalid" | "no_release" | "not_found" }
  /** A special-use address. `use` fits into the sentence "… is a <use> address". */
  | { readonly reason: "reserved"; readonly use: string }
  /** `names` lists the answers that no loaded feed provides, or the lookup whose segment is missing. */
  | { readonly reason: "data_missing"; readonly names: readonly string[] };

export const ADDRESS_INVALID: LookupFailure = Object.freeze({ reason: "address_invalid" });
export const NO_RELEASE: LookupFailure = Object.freeze({ reason: "no_release" });
export const NOT_FOUND: LookupFailure = Object.freeze({ reason: "not_found" });

/** The failures for special-use addresses, keyed by use. */
export const RESERVED: ReadonlyMap<string, LookupFailure> = new Map(
  SPECIAL_USE.map(({ use }) => [use, Object.freeze({ reason: "reserved", use })]),
);

export function dataMissing(names: readonly string[]): LookupFailure {
  return Object.freeze({ reason: "data_missing", names: Object.freeze(names) });
}

let unanswered: PrefixTable<true, true> | undefined;

/**
 * Returns the networks that have no answers, for code that iterates over the address space. These are the special-use
 * networks, and 6to4 and NAT64 (64:ff9b::/96), whose addresses are looked up as the IPv4 address that they contain.
 */
export function unansweredNetworks(): PrefixTable<true, true> {
  unanswered ??= makeUnanswered();
  return unanswered;
}

function makeUnanswered(): PrefixTable<true, true> {
  const embedded = ["2002::/16", "64:ff9b::/96"].flatMap((text) => parsePrefix(text) ?? []);
  const networks = [...SPECIAL_USE.map(({ prefix }) => prefix), ...embedded];
  return new PrefixTable(
    networks.map((network) => [network, true]),
    () => true,
  );
}
