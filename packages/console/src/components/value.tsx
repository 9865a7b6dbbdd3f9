// value.tsx: shows a field of an object by the field's name, so that every page shows a time, a state or an author in
// the same way.

import type { ComponentChildren } from "preact";
import { formatCount, formatDuration } from "../format.ts";
import { Definitions, RelativeTime, State } from "./basics.tsx";
import { isTime, labelOf } from "./operation.tsx";
import { type Column, TwoLines } from "./table.tsx";

/** The names of fields, or columns of a page's own. */
export type Columns<Row> = readonly ((keyof Row & string) | Column<Row>)[];

export const columnsOf = <Row,>(columns: Columns<Row>): Column<Row>[] =>
  columns.map((column) =>
    typeof column === "string" ? [labelOf(column), (row) => fieldOf(row, column)] : column,
  );

/** An object's fields, each with its name. */
export const Fields = <Row,>({ of, columns }: { of: Row; columns: Columns<Row> }) => (
  <Definitions rows={columnsOf(columns).map(([name, cell]) => [name, cell(of)])} />
);

interface Made {
  readonly author?: string;
  /** The name of the admin token that created it. */
  readonly parent?: string | null;
  readonly hint?: string;
}

/** A field's value. Null means that something never happened, or that there is none. */
function fieldOf<Row>(row: Row, name: keyof Row & string): ComponentChildren {
  const value: unknown = row[name];
  const { author, parent, hint } = row as Made;
  if (name === "name" && hint) return <TwoLines below={<code>{hint}</code>}>{String(value)}</TwoLines>;
  if (name === "created_at" && author) {
    const by = `by ${author}${parent && parent !== author ? `, with ${parent}` : ""}`;
    return <TwoLines below={by}>{timeOf(value)}</TwoLines>;
  }
  if (isTime(name)) return timeOf(value);
  if (name === "state") return <State of={String(value)} />;
  if (typeof value === "number") {
    if (name.endsWith("_seconds")) return formatDuration(value);
    return name.endsWith("_hours") ? formatDuration(value * 3600) : formatCount(value);
  }
  return (Array.isArray(value) ? value.join(", ") : String(value ?? "")) || "none";
}

/** A day remains a day. */
const timeOf = (value: unknown) =>
  value === null ? (
    "never"
  ) : String(value).includes("T") ? (
    <RelativeTime iso={String(value)} />
  ) : (
    String(value)
  );
