// audit.tsx: lists who changed what, with the states before and after.

import { AUDIT_ACTIONS } from "@inkling/contract";
import type { AuditEntry } from "../answers.ts";
import { Code, RelativeTime } from "../components/basics.tsx";
import { ResourceList } from "../components/resource.tsx";
import { TwoLines } from "../components/table.tsx";
import type { Columns } from "../components/value.tsx";
import type { PageProps } from "../hooks.ts";
import { placeOfId } from "../places.ts";

const actionText = (action: string) => action.replaceAll("-", " ");
const ACTIONS = AUDIT_ACTIONS.map((action) => [action, actionText(action)] as const);
const SOURCES: Readonly<Record<NonNullable<AuditEntry["source"]>, string>> = {
  api: "admin API",
  console: "console",
  cli: "command line",
  mcp: "agent (MCP)",
  file: "settings",
};

export const AUDIT_COLUMNS: Columns<AuditEntry> = [
  ["When", ({ at }) => <RelativeTime iso={at} />],
  "author",
  ["Source", ({ source }) => (source === null ? "unknown" : SOURCES[source])],
  ["Action", ({ action }) => actionText(action)],
  ["Subject", (entry) => <TwoLines below={nameOf(entry)}>{subjectOf(entry)}</TwoLines>],
  [
    "Details",
    ({ before, after }) => (
      <details>
        <summary>before, after</summary>
        <Code text={JSON.stringify({ before, after }, null, 2)} />
      </details>
    ),
  ],
];

export const AuditPage = ({ rest }: PageProps) => (
  <ResourceList
    route="GET audit"
    caption="Audit trail"
    empty="No changes yet."
    first={50}
    filters={[
      rest,
      {
        action: { options: ACTIONS },
        source: { options: Object.entries(SOURCES) },
        subject: { note: "Enter a whole id, value or name.", placeholder: "key_…, ovr_…, feed" },
      },
    ]}
    columns={AUDIT_COLUMNS}
  />
);

/** A subject, as a link if it has a page. */
function subjectOf({ subject }: AuditEntry) {
  const place = placeOfId(subject);
  const text = <code>{subject}</code>;
  return place === undefined ? text : <a href={`#/${place}`}>{text}</a>;
}

/** Returns the name that people use: an override's value, a key's name, a webhook's URL. */
function nameOf({ before, after }: AuditEntry): string | undefined {
  const row = (after ?? before) as { value?: unknown; name?: unknown; url?: unknown } | null | undefined;
  const name = row?.value ?? row?.name ?? row?.url;
  return typeof name === "string" ? name : undefined;
}
