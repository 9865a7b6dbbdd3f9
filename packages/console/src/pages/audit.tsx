// audit.tsx: shows the audit trail: who changed what, when, and through which interface.

import { AUDIT_ACTIONS } from "@inkling/contract";
import type { AuditEntry } from "@inkling/server/admin-answers";
import { Code, RelativeTime } from "../components/basics.tsx";
import { ResourceList } from "../components/resource.tsx";
import { TwoLines } from "../components/table.tsx";
import type { PageProps } from "../hooks.ts";

const actionText = (action: string) => action.replaceAll("-", " ");
const ACTIONS = AUDIT_ACTIONS.map((action) => [action, actionText(action)] as const);
const SOURCES: Readonly<Record<NonNullable<AuditEntry["source"]>, string>> = {
  api: "admin API",
  console: "console",
  cli: "command line",
  file: "settings",
};

export const AuditPage = ({ rest }: PageProps) => (
  <ResourceList
    route="GET audit"
    rows={({ entries }) => entries}
    rowKey={({ sequence }) => `${sequence}`}
    caption="Audit trail"
    empty="No changes yet."
    first={50}
    filters={[
      rest,
      {
        action: { options: ACTIONS },
        source: { options: Object.entries(SOURCES) },
        subject: { note: "Enter the exact id, not a name or a value.", placeholder: "key_…, ovr_…, feed" },
      },
    ]}
    columns={[
      ["When", ({ at }) => <RelativeTime iso={at} />],
      "author",
      ["Source", ({ source }) => (source === null ? "unknown" : SOURCES[source])],
      ["Action", ({ action }) => actionText(action)],
      [
        "Subject",
        (entry) => (
          <TwoLines below={nameOf(entry)}>
            <code>{entry.subject}</code>
          </TwoLines>
        ),
      ],
      [
        "Details",
        ({ before, after }) => (
          <details>
            <summary>before, after</summary>
            <Code text={JSON.stringify({ before, after }, null, 2)} />
          </details>
        ),
      ],
    ]}
  />
);

/** Returns the name that people use: an override's value, a key's name, a webhook's URL. */
function nameOf({ before, after }: AuditEntry): string | undefined {
  const row = (after ?? before) as { value?: unknown; name?: unknown; url?: unknown } | null | undefined;
  const name = row?.value ?? row?.name ?? row?.url;
  return typeof name === "string" ? name : undefined;
}
