// operations.ts: generates the table of requests in docs/api.md.

import { OPERATIONS, type OperationRow } from "@inkling/contract";
import { type Generated, markdownTable } from "./generated.ts";

export const operations = (): Generated[] => [
  { path: "docs/api.md", section: "operations", content: table() },
];

const KEYS: Readonly<Record<OperationRow["access"], string>> = {
  open: "none",
  key: "any",
  geolocate: "scope `geolocate`",
  reputation: "scope `reputation`",
  email: "scope `email`",
};

function table(): string {
  const rows = Object.values(OPERATIONS).flatMap(({ method, path, access, docs }) =>
    docs === undefined ? [] : [[`\`${method === "ANY" ? "" : `${method} `}${path}\``, KEYS[access], docs]],
  );
  return markdownTable(["request", "key", "answer"], rows);
}
