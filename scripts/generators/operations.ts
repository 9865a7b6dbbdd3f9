// operations.ts: generates the tables of requests in docs/api.md and docs/admin-api.md, and of tools in docs/agents.md.

import { OPERATIONS, type OperationRow } from "@inkling/contract";
import { RESOURCES, roleOf } from "../../packages/operations/src/index.ts";
import { ADMIN_ROUTES } from "../../packages/server/src/admin/routes.ts";
import { code, type GeneratedSection, tableOn } from "./generated.ts";

export const operations = (): GeneratedSection[] => [
  tableOn("docs/api.md", "operations", ["request", "key", "answer"], publicRows()),
  tableOn("docs/admin-api.md", "operations", ["request", "role", "answer"], adminRows()),
  tableOn("docs/agents.md", "tools", ["tool", "role", "what it does"], toolRows()),
];

const KEYS: Readonly<Record<OperationRow["access"], string>> = {
  open: "none",
  key: "any",
  geolocate: "`geolocate` scope",
  reputation: "`reputation` scope",
  email: "`email` scope",
  assess: "`assess` scope",
};

const publicRows = () =>
  Object.values(OPERATIONS).flatMap(({ method, path, access, docs }) =>
    docs === undefined ? [] : [[code(`${method === "ANY" ? "" : `${method} `}${path}`), KEYS[access], docs]],
  );

const adminRows = () =>
  [...ADMIN_ROUTES.values()].map(({ row }) => [
    code(`${row.method} ${row.path}`),
    row.isOpen ? "none" : code(row.role),
    row.docs,
  ]);

const toolRows = () =>
  RESOURCES.flatMap(({ operations }) => Object.entries(operations)).map(([id, operation]) => [
    code(id),
    code(roleOf(operation)),
    operation.needsServer ? `${operation.summary} (only over HTTP)` : operation.summary,
  ]);
