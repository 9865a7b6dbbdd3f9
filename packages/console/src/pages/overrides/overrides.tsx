// overrides.tsx: the overrides in force, searched and removed; and the audit trail.

import type { AuditEntry, Override } from "@inkling/server/admin-answers";
import { useState } from "preact/hooks";
import { api, listAll } from "../../api.ts";
import { Card, Code, RelativeTime } from "../../components/basics.tsx";
import { TextField } from "../../components/form.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { Table, TableCard, TwoLines } from "../../components/table.tsx";
import { formatCount } from "../../format.ts";
import { useLoad } from "../../hooks.ts";
import { AddCard } from "./add.tsx";
import { FilesCard } from "./files.tsx";
import { overrideColumns } from "./override-columns.tsx";

const MAX_OVERRIDES = 10_000;
const MAX_SHOWN = 500;
/** From this many on there is a search field. */
const MIN_SEARCHED = 6;

async function loadOverrides(signal: AbortSignal) {
  const [overrides, { entries }] = await Promise.all([
    listAll<Override>("overrides", "overrides", signal, MAX_OVERRIDES),
    api<{ entries: AuditEntry[] }>("audit?limit=50", { signal }),
  ]);
  return { overrides, entries };
}

export function OverridesPage() {
  const loading = useLoad(loadOverrides, []);
  const { reload } = loading;
  return (
    <Loaded from={loading}>
      {({ overrides, entries }) => (
        <>
          <ListCard overrides={overrides} reload={reload} />
          <div class="pair">
            <AddCard reload={reload} />
            <FilesCard reload={reload} />
          </div>
          <AuditCard entries={entries} />
        </>
      )}
    </Loaded>
  );
}

function ListCard({ overrides, reload }: { overrides: readonly Override[]; reload: () => void }) {
  const [search, setSearch] = useState("");
  const text = search.trim().toLowerCase();
  const found = overrides.filter(({ value, note, author, flag, mute }) =>
    [value, note, author, flag, mute].some((part) => part?.toLowerCase().includes(text)),
  );
  const follow = (event: { currentTarget: HTMLInputElement }) => setSearch(event.currentTarget.value);
  return (
    <Card title="Overrides in force">
      {overrides.length >= MIN_SEARCHED && (
        <TextField
          label="Search"
          type="search"
          placeholder="value, reason, author"
          value={search}
          onInput={follow}
        />
      )}
      <div aria-live="polite">
        <Table
          caption="Overrides in force"
          rows={found.slice(0, MAX_SHOWN)}
          rowKey={({ id }) => id}
          columns={overrideColumns(reload)}
          empty={overrides.length === 0 ? "No overrides: feeds alone decide." : "No override matches."}
        />
        {found.length > MAX_SHOWN && (
          <p class="faint">{`The first ${MAX_SHOWN} of ${formatCount(found.length)}.`}</p>
        )}
      </div>
    </Card>
  );
}

const subjectOf = (entry: AuditEntry) => (
  <TwoLines below={nameOf(entry)}>
    <code>{entry.subject}</code>
  </TwoLines>
);

const AuditCard = ({ entries }: { entries: readonly AuditEntry[] }) => (
  <TableCard
    caption="Audit trail"
    rows={entries}
    rowKey={({ sequence }) => sequence}
    columns={[
      ["When", ({ at }) => <RelativeTime iso={at} />],
      ["Who", ({ actor }) => actor],
      ["Action", ({ action }) => action.replaceAll("-", " ")],
      ["Subject", subjectOf],
      ["Details", detailsOf],
    ]}
    empty="No changes yet."
  />
);

/** What people call it: the value of an override, the name of a key. */
function nameOf({ before, after }: AuditEntry): string | undefined {
  const row = (after ?? before) as { value?: unknown; name?: unknown } | null | undefined;
  const name = row?.value ?? row?.name;
  return typeof name === "string" ? name : undefined;
}

const detailsOf = ({ before, after }: AuditEntry) => (
  <details>
    <summary>before, after</summary>
    <Code text={JSON.stringify({ before, after }, null, 2)} />
  </details>
);
