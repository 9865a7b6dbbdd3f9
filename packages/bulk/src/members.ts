// members.ts: an answer as a row: the name of each column, and its path in the answer.
//
// A value that the answer omits is undefined, and empty in a file.

import { REPUTATION_FLAGS } from "@inkling/contract";
import { LOOKUPS, type Lookup } from "@inkling/engine";

/** What rows are made of: the lookups, and the `network` that the API includes in those of addresses. */
export const TABLES = ["geolocate", "reputation", "network", "email"] as const;
export type Table = (typeof TABLES)[number];
export type IpTable = Exclude<Table, "email">;

export type Value = string | number | boolean | undefined;

export interface Member {
  /** As columns are called in files: `country_iso_code`. */
  readonly name: string;
  readonly type: "text" | "number" | "integer" | "uint32" | "boolean";
  of(answer: Answer): Value;
}

/** A parsed answer of the member's lookup, or its `network`. */
// biome-ignore lint/suspicious/noExplicitAny: the one place that reads answers by path
export type Answer = any;

const text = (name: string, of: (answer: Answer) => Value): Member => ({ name, type: "text", of });
const flag = (name: string): Member => ({ name, type: "boolean", of: (answer) => answer[name] });

export const MEMBERS: Readonly<Record<Table, readonly Member[]>> = {
  geolocate: [
    text("continent_code", ({ continent }) => continent.code),
    text("continent_name", ({ continent }) => continent.name),
    text("country_iso_code", ({ country }) => country.iso_code),
    text("country_name", ({ country }) => country.name),
    text("registered_country_iso_code", (answer) => answer.registered_country.iso_code),
    text("registered_country_name", (answer) => answer.registered_country.name),
    text("subdivision_1_iso_code", ({ subdivisions }) => subdivisions[0]?.iso_code),
    text("subdivision_1_name", ({ subdivisions }) => subdivisions[0]?.name),
    text("subdivision_2_iso_code", ({ subdivisions }) => subdivisions[1]?.iso_code),
    text("subdivision_2_name", ({ subdivisions }) => subdivisions[1]?.name),
    text("city_name", ({ city }) => city.name),
    text("postal_code", ({ postal }) => postal.code),
    { name: "latitude", type: "number", of: ({ location }) => location.latitude },
    { name: "longitude", type: "number", of: ({ location }) => location.longitude },
    { name: "accuracy_radius", type: "integer", of: ({ location }) => location.accuracy_radius },
    text("time_zone", ({ location }) => location.time_zone),
  ],
  reputation: REPUTATION_FLAGS.map(flag),
  network: [
    { name: "network_asn", type: "uint32", of: ({ asn }) => asn },
    text("network_organization", ({ organization }) => organization),
    text("network_kind", ({ kind }) => kind),
    { name: "network_shared", type: "boolean", of: ({ shared }) => shared },
    text("network_services", ({ services }) => services.join(" ")),
    text("network_prefix", ({ prefix }) => prefix),
  ],
  email: [flag("valid"), flag("disposable"), text("providers", ({ providers }) => providers.join(" "))],
};

/** The values of an answer, in the order of the members. */
export function rowOf(answer: string, members: readonly Member[]): Value[] {
  const parsed: Answer = JSON.parse(answer);
  return members.map((member) => member.of(parsed));
}

/** The names that a name or a pattern means: `country_name`, `network_*`; none if there is no such name. */
export function namesMatching(pattern: string, names: readonly string[]): readonly string[] {
  if (!pattern.includes("*")) return names.includes(pattern) ? [pattern] : [];
  const expression = new RegExp(`^${pattern.split("*").map(RegExp.escape).join(".*")}$`);
  return names.filter((name) => expression.test(name));
}

export function perTable<T>(make: (table: Table) => T): Record<Table, T> {
  return Object.fromEntries(TABLES.map((table) => [table, make(table)])) as Record<Table, T>;
}

export function perLookup<T>(make: (lookup: Lookup) => T): Record<Lookup, T> {
  return Object.fromEntries(LOOKUPS.map((lookup) => [lookup, make(lookup)])) as Record<Lookup, T>;
}
