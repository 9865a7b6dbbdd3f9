// fields.ts: turns an answer into a row, with the name of each column and its path in the answer.
//
// The columns follow from the rows of the contract. A value that the answer omits is undefined, and is empty in a file.

import { ANSWER_FIELDS, type Field as FieldRow, NETWORK, recordOf, type Shape } from "@inkling/contract";
import { nearest } from "@inkling/engine";

/** The parts of a row: the lookups, and the `network` that the API adds to address lookups on request. */
export const TABLES = ["geolocate", "reputation", "network", "email"] as const;
export type Table = (typeof TABLES)[number];
export type IpTable = Exclude<Table, "email">;

export type Value = string | number | boolean | undefined;

export interface Field {
  /** The name of the column in files, such as `country_iso_code`. */
  readonly name: string;
  readonly type: "text" | "number" | "integer" | "uint32" | "boolean";
  readonly of: (answer: Answer) => Value;
}

/** A parsed answer of the field's lookup, or its `network`. */
// biome-ignore lint/suspicious/noExplicitAny: the one place that reads answers by path
export type Answer = any;

/** Fields whose columns come first, in this order. The columns of all other fields follow. */
const FIRST: Readonly<Record<Table, readonly string[]>> = {
  geolocate: [
    "continent",
    "country",
    "registered_country",
    "subdivisions",
    "city",
    "postal",
    "location.latitude",
    "location.longitude",
  ],
  reputation: [],
  network: ["asn", "organization", "kind", "shared", "services", "operator"],
  email: [],
};

/** Returns the columns of a field, by its path. */
function columnsAt(
  path: string,
  name: string,
  shape: Shape,
  of: (answer: Answer) => Answer,
): (Field & { path: string })[] {
  switch (shape.type) {
    case "object":
      return Object.entries(shape.fields).flatMap(([field, row]) =>
        columnsAt(
          `${path}.${field}`,
          name === "location" ? field : `${name}_${field}`,
          row,
          (answer) => of(answer)?.[field],
        ),
      );
    case "list": {
      const { columns = 0 } = shape;
      if (shape.of.type === "object")
        return Array.from({ length: columns }, (_, i) =>
          columnsAt(path, `${name.replace(/s$/, "")}_${i + 1}`, shape.of, (answer) => of(answer)?.[i]),
        ).flat();
      return [{ path, name, type: "text", of: (answer) => of(answer)?.join(" ") }];
    }
    case "time":
      return [{ path, name, type: "text", of }];
    case "true":
      return [{ path, name, type: "boolean", of }];
    default:
      return [{ path, name, type: shape.type, of }];
  }
}

function columnsOf(table: Table): readonly Field[] {
  const { fields } = table === "network" ? NETWORK : ANSWER_FIELDS[table];
  const prefix = table === "network" ? "network_" : "";
  const columns = Object.entries<FieldRow>(fields).flatMap(([field, row]) =>
    row.optIn === undefined ? columnsAt(field, prefix + field, row, (answer) => answer[field]) : [],
  );
  const rank = ({ path }: { path: string }) => {
    const found = FIRST[table].findIndex((first) => path === first || path.startsWith(`${first}.`));
    return found < 0 ? FIRST[table].length : found;
  };
  return columns.sort((a, b) => rank(a) - rank(b)).map(({ name, type, of }) => ({ name, type, of }));
}

export const FIELDS: Readonly<Record<Table, readonly Field[]>> = perTable(columnsOf);

/** Returns the values of an answer, in the order of the fields. */
export function rowOf(answer: string, fields: readonly Field[]): Value[] {
  const parsed: Answer = JSON.parse(answer);
  return fields.map((field) => field.of(parsed));
}

/** Returns the names that match a name or a pattern such as `network_*`. Empty if there is no match. */
export function namesMatching(pattern: string, names: readonly string[]): readonly string[] {
  if (!pattern.includes("*")) return names.includes(pattern) ? [pattern] : [];
  const expression = new RegExp(`^${pattern.split("*").map(RegExp.escape).join(".*")}$`);
  return names.filter((name) => expression.test(name));
}

/**
 * Returns a hint with the name that was probably meant. It is a name that has the word as a part ("proxy" is part of
 * "is_proxy"), or else the nearest name, or else the first name of the nearest part of the answer ("contry" matches the
 * part "country"). Empty if nothing is near.
 */
export function didYouMean(word: string, names: readonly string[]): string {
  const partOf = (name: string) => name.split("_")[0]!;
  const part = nearest(word, names.map(partOf));
  const near =
    names.find((name) => name.split("_").includes(word.toLowerCase())) ??
    nearest(word, names) ??
    names.find((name) => partOf(name) === part);
  return near === undefined ? "" : `did you mean ${near}? `;
}

export function perTable<T>(make: (table: Table) => T): Record<Table, T> {
  return recordOf(TABLES, make);
}
