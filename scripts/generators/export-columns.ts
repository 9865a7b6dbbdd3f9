// export-columns.ts: generates the table of columns in docs/exports.md, with examples from the sandbox's answers.

import { SANDBOX_ADDRESSES, SANDBOX_DOMAINS } from "@inkling/contract";
import { INCLUDE, parseIp } from "@inkling/engine";
import { type Answer, FIELDS, TABLES, type Table } from "../../packages/bulk/src/fields.ts";
import { sandboxAddress, sandboxEmail } from "../../packages/server/src/lookup/sandbox.ts";
import { code, type GeneratedSection, tableOn } from "./generated.ts";

/** The columns of each table that show what a row is about. */
const KEYS: Readonly<Record<Table, readonly [name: string, example: string]>> = {
  geolocate: ["network", "192.0.2.0/24"],
  reputation: ["network", "192.0.2.0/24"],
  network: ["network", "192.0.2.0/24"],
  email: ["domain", SANDBOX_DOMAINS.find(({ providers }) => providers.length > 0)!.domain],
};

/** The answers whose first value is a column's example. Some columns have none. */
function answersOf(table: Table): readonly Answer[] {
  const answers =
    table === "email"
      ? SANDBOX_DOMAINS.map(({ domain }) => sandboxEmail(`jane@${domain}`))
      : SANDBOX_ADDRESSES.map(({ v4 }) =>
          sandboxAddress(table === "geolocate" ? table : "reputation", parseIp(v4)!, INCLUDE.network),
        );
  const parsed = answers.flatMap((answer) =>
    answer instanceof Uint8Array ? [JSON.parse(new TextDecoder().decode(answer))] : [],
  );
  return table === "network" ? parsed.map(({ network }) => network) : parsed;
}

function rowsOf(table: Table): string[][] {
  const answers = answersOf(table);
  const isWritten = (name: string) => (table === "email" ? name === "providers" : name !== "network_prefix");
  const values = FIELDS[table].flatMap(({ name, type, of }) => {
    if (!isWritten(name)) return [];
    const known = answers.map(of).filter((value) => value !== undefined && value !== "");
    const example = known.find((value) => value !== false) ?? known[0];
    return [
      [
        code(table),
        code(name),
        type === "uint32" ? "integer" : type,
        example === undefined ? "" : code(String(example)),
      ],
    ];
  });
  const [name, example] = KEYS[table];
  return [[code(table), code(name), "text", code(example)], ...values];
}

export const exportColumns = (): readonly GeneratedSection[] => [
  tableOn("docs/exports.md", "columns", ["lookup", "column", "type", "example"], TABLES.flatMap(rowsOf)),
];
