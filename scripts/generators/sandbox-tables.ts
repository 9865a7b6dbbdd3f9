// sandbox-tables.ts: generates what shows the sandbox's answers: the tables of docs/sandbox.md, the examples in
// docs/evidence.md, and the table of columns in docs/exports.md.

import {
  PROBLEMS,
  SANDBOX_ADDRESSES,
  SANDBOX_CHECKS,
  SANDBOX_DOMAINS,
  SANDBOX_PROBLEMS,
} from "@inkling/contract";
import { INCLUDE, parseIp } from "@inkling/engine";
import { type Answer, FIELDS, TABLES, type Table } from "../../packages/bulk/src/fields.ts";
import { sandboxDecisions } from "../../packages/server/src/api/openapi-examples.ts";
import { sandboxAddress, sandboxEmail } from "../../packages/server/src/lookup/sandbox.ts";
import { code, type GeneratedSection, markdownTable, tableOn } from "./generated.ts";

export function sandboxTables(): readonly GeneratedSection[] {
  const tables = {
    addresses: markdownTable(
      ["address", "or", "stands for", "geolocate", "reputation"],
      SANDBOX_ADDRESSES.map(({ v4, v6, meaning, geolocation, flags }) => [
        code(v4),
        code(v6),
        meaning,
        geolocation === undefined
          ? "404 `IP_ADDRESS_NOT_FOUND`"
          : !("name" in geolocation.city)
            ? "countries"
            : "full",
        flags === undefined ? "all `false`" : flags.map(code).join(", "),
      ]),
    ),
    domains: markdownTable(
      ["domain", "stands for", "valid", "disposable", "providers"],
      SANDBOX_DOMAINS.map(({ domain, meaning, valid, providers }) => [
        code(domain),
        meaning,
        code(String(valid)),
        code(String(providers.length > 0)),
        code(JSON.stringify(providers)),
      ]),
    ),
    checks: markdownTable(
      ["domain", "stands for", "valid", "disposable", "providers", "checks.mx"],
      SANDBOX_CHECKS.map(({ domain, meaning, mx, valid, providers }) => [
        code(domain),
        meaning,
        code(String(valid)),
        code(String(providers.length > 0)),
        code(JSON.stringify(providers)),
        code(mx),
      ]),
    ),
    visitors: markdownTable(
      ["visitor, in addition to `event`", "action", "score", "reasons"],
      sandboxDecisions().map(({ visitor: { event: _, ...visitor }, answer }) => [
        code(JSON.stringify(visitor)),
        code(answer.action),
        String(answer.score),
        answer.reasons.map((reason) => code(reason.code)).join(", "),
      ]),
    ),
    problems: markdownTable(
      ["status", "code", "address", "or", "domain"],
      SANDBOX_PROBLEMS.map((row) => [
        String(PROBLEMS[row.code].status),
        code(row.code),
        code(row.v4),
        code(row.v6),
        code(row.domain),
      ]),
    ),
  };
  return [
    ...Object.entries(tables).map(([section, content]) => ({ path: "docs/sandbox.md", section, content })),
    ...EXAMPLES.map(evidenceExample),
    tableOn("docs/exports.md", "columns", ["lookup", "column", "type", "example"], TABLES.flatMap(columnsOf)),
  ];
}

const EXAMPLES = [
  { lookup: "reputation", path: "/v1/ip-intel/reputation/192.0.2.8" },
  { lookup: "geolocate", path: "/v1/ip-intel/geolocate/2001:db8::1" },
  { lookup: "email", path: "/v1/user-intel/email/jane@relay.example" },
] as const;

const LINE = 110;

/** Formats JSON with each list of texts on one line, and each innermost object on one line if it fits. */
const print = (value: unknown) =>
  JSON.stringify(value, null, 2)
    .replace(/\[\s+("[^{}[\]]*")\s+\]/g, (_, texts: string) => `[${texts.replace(/\s+/g, " ")}]`)
    .replace(/\{\s+([^{}[\]]*?)\s+\}/g, (whole, fields: string) => {
      const line = `{ ${fields.replace(/\s+/g, " ")} }`;
      return line.length <= LINE ? line : whole;
    });

function evidenceExample({ lookup, path }: (typeof EXAMPLES)[number]): GeneratedSection {
  const value = path.split("/").at(-1)!;
  const answer =
    lookup === "email"
      ? sandboxEmail(value, true)
      : sandboxAddress(lookup, parseIp(value)!, INCLUDE.evidence);
  if (!(answer instanceof Uint8Array)) throw new Error(`the sandbox answers ${path} with ${answer.code}`);
  const json = print(JSON.parse(new TextDecoder().decode(answer)));
  const content = `\`\`\`\nGET ${path}?include=evidence\n\`\`\`\n\n\`\`\`json\n${json}\n\`\`\``;
  return { path: "docs/evidence.md", section: `${lookup} example`, content };
}

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

function columnsOf(table: Table): string[][] {
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
