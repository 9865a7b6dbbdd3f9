// operations.ts: generates the tables of requests in docs/api.md and docs/admin-api.md, and of tools in docs/agents.md.

import { OPERATIONS, type OperationRow } from "@inkling/contract";
import { RESOURCES, roleOf } from "../../packages/operations/src/index.ts";
import { ADMIN_ROUTES } from "../../packages/server/src/admin/routes.ts";
import { type Generated, markdownTable } from "./generated.ts";

export const operations = (): Generated[] => [
  { path: "docs/api.md", section: "operations", content: publicTable() },
  { path: "docs/admin-api.md", section: "operations", content: adminTable() },
  { path: "docs/agents.md", section: "tools", content: toolTable() },
];

const KEYS: Readonly<Record<OperationRow["access"], string>> = {
  open: "none",
  key: "any",
  geolocate: "`geolocate` scope",
  reputation: "`reputation` scope",
  email: "`email` scope",
  assess: "`assess` scope",
};

function publicTable(): string {
  const rows = Object.values(OPERATIONS).flatMap(({ method, path, access, docs }) =>
    docs === undefined ? [] : [[`\`${method === "ANY" ? "" : `${method} `}${path}\``, KEYS[access], docs]],
  );
  return markdownTable(["request", "key", "answer"], rows);
}

function adminTable(): string {
  const rows = [...ADMIN_ROUTES.values()].map(({ row }) => [
    `\`${row.method} ${row.path}\``,
    row.isOpen ? "none" : `\`${row.role}\``,
    row.docs,
  ]);
  return markdownTable(["request", "role", "answer"], rows);
}

function toolTable(): string {
  const all = RESOURCES.flatMap(({ operations }) => Object.entries(operations));
  const rows = all.map(([id, operation]) => [
    `\`${id}\``,
    `\`${roleOf(operation)}\``,
    operation.needsServer ? `${operation.summary} (only over HTTP)` : operation.summary,
  ]);
  return markdownTable(["tool", "role", "what it does"], rows);
}
