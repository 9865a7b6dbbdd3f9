// problems.ts: generates the TypeScript client's error codes and hints, and the tables of docs/errors.md and
// docs/admin-api.md.

import { ADMIN_PROBLEMS, CLIENT_PROBLEMS, PROBLEMS, RETURNERS } from "@inkling/contract";
import { type Generated, markdownTable } from "./generated.ts";

const PAGE = "docs/errors.md";
const ADMIN_PAGE = "docs/admin-api.md";

export const problems = (): Generated[] => [
  { path: "packages/client/src/error-codes.ts", content: codes() },
  { path: PAGE, section: "problems", content: publicTable() },
  {
    path: ADMIN_PAGE,
    section: "admin problems",
    content: table(ADMIN_PROBLEMS, (code) => (Object.hasOwn(PROBLEMS, code) ? "errors.md" : "")),
  },
];

function codes(): string {
  const rows = (problems: Readonly<Record<string, { readonly status?: number; readonly hint: string }>>) =>
    Object.entries(problems)
      .map(([code, { status, hint }]) => {
        const fields = `${status === undefined ? "" : `status: ${status}, `}hint: ${JSON.stringify(hint)}`;
        return `  ${code}: { ${fields} },`;
      })
      .join("\n");
  return `// error-codes.ts: lists every code of a lookup's error, and what to do about it. Written by \`npm run generate\`; do not edit.

// biome-ignore-all format: one row a line

/** Of the server (docs/errors.md). */
export const SERVER_ERRORS = {
${rows(PROBLEMS)}
} as const;

/** Failures that only the client can detect. */
export const CLIENT_ERRORS = {
${rows(CLIENT_PROBLEMS)}
} as const;
`;
}

function publicTable(): string {
  return markdownTable(
    ["code", "status", "title", "returned by"],
    Object.entries(PROBLEMS).map(([code, { status, title, by }]) => [
      linkTo(code),
      String(status),
      title,
      by === RETURNERS ? "all" : by.join(", "),
    ]),
  );
}

const linkTo = (code: string, page = "") => `[\`${code}\`](${page}#${code.toLowerCase()})`;

/** @param pageOf returns the page with a code's section, or "" for the table's page */
function table(
  rows: Readonly<Record<string, { readonly status: number; readonly title: string }>>,
  pageOf: (code: string) => string,
): string {
  return markdownTable(
    ["code", "status", "title"],
    Object.entries(rows).map(([code, { status, title }]) => [
      linkTo(code, pageOf(code)),
      String(status),
      title,
    ]),
  );
}
