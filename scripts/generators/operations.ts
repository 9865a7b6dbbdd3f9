// operations.ts: generates the tables of requests in docs/api.md and docs/admin-api.md.

import { OPERATIONS, type OperationRow } from "@inkling/contract";
import { ADMIN_ROUTES } from "../../packages/server/src/admin/routes.ts";
import { type Generated, markdownTable } from "./generated.ts";

export const operations = (): Generated[] => [
  { path: "docs/api.md", section: "operations", content: publicTable() },
  { path: "docs/admin-api.md", section: "operations", content: adminTable() },
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
