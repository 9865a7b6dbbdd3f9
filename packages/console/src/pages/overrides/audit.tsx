// audit.tsx: who changed what.

import { Card, Code, RelativeTime } from "../../components/basics.tsx";
import { Table } from "../../components/table.tsx";
import type { AuditEntry } from "../../types.ts";

/** What people call it: the value of an override, the name of a key. */
function nameOf({ before, after }: AuditEntry): string | undefined {
  const row = (after ?? before) as { value?: unknown; name?: unknown } | null | undefined;
  const name = row?.value ?? row?.name;
  return typeof name === "string" ? name : undefined;
}

export const AuditCard = ({ entries }: { entries: readonly AuditEntry[] }) => (
  <Card title="Audit trail">
    <Table
      caption="Audit trail"
      rows={entries}
      rowKey={({ sequence }) => sequence}
      columns={[
        { name: "When", cell: ({ at }) => <RelativeTime iso={at} /> },
        { name: "Who", cell: ({ actor }) => actor },
        { name: "Action", cell: ({ action }) => action.replaceAll("-", " ") },
        {
          name: "Subject",
          cell: (entry) => (
            <>
              <code>{entry.subject}</code>
              <small>{nameOf(entry)}</small>
            </>
          ),
        },
        {
          name: "Details",
          cell: ({ before, after }) => (
            <details>
              <summary>before, after</summary>
              <Code>{JSON.stringify({ before, after }, null, 2)}</Code>
            </details>
          ),
        },
      ]}
      empty="No changes yet."
    />
  </Card>
);
