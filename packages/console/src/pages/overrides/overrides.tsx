// overrides.tsx: the overrides in force: search, add, remove, export, import; and the audit trail.

import { useState } from "preact/hooks";
import { api, listAll } from "../../api.ts";
import { Badge, Card, RelativeTime } from "../../components/basics.tsx";
import { ConfirmButton } from "../../components/dialog.tsx";
import { Field, TextInput } from "../../components/form.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { flagName } from "../../format.ts";
import { notify, useLoad } from "../../hooks.ts";
import type { AuditEntry, Override } from "../../types.ts";
import { AddCard } from "./add.tsx";
import { AuditCard } from "./audit.tsx";
import { FilesCard } from "./files.tsx";

const MAX_OVERRIDES = 10_000;
const MAX_SHOWN = 500;
/** From this many on there is a search field. */
const MIN_SEARCHED = 6;

export function OverridesPage() {
  const loading = useLoad(async (signal) => {
    const [overrides, audit] = await Promise.all([
      listAll<Override>("overrides", "overrides", signal, MAX_OVERRIDES),
      api<{ entries: AuditEntry[] }>("audit?limit=50", { signal }),
    ]);
    return { overrides, entries: audit.entries };
  }, []);
  return (
    <Loaded from={loading}>
      {({ overrides, entries }) => (
        <>
          <ListCard overrides={overrides} reload={loading.reload} />
          <div class="pair">
            <AddCard reload={loading.reload} />
            <FilesCard reload={loading.reload} />
          </div>
          <AuditCard entries={entries} />
        </>
      )}
    </Loaded>
  );
}

interface ListCardProps {
  readonly overrides: readonly Override[];
  readonly reload: () => void;
}

function ListCard({ overrides, reload }: ListCardProps) {
  const [search, setSearch] = useState("");
  const text = search.trim().toLowerCase();
  const found = overrides.filter(({ value, note, author, flag, mute }) =>
    [value, note, author, flag, mute].some((part) => part?.toLowerCase().includes(text)),
  );
  const shown = found.slice(0, MAX_SHOWN);
  return (
    <Card title="Overrides in force">
      {overrides.length >= MIN_SEARCHED && (
        <Field label="Search">
          <TextInput
            type="search"
            placeholder="value, reason, author"
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
        </Field>
      )}
      <div aria-live="polite">
        <Table
          caption="Overrides in force"
          rows={shown}
          rowKey={({ id }) => id}
          columns={columns(reload)}
          empty={overrides.length === 0 ? "No overrides: feeds alone decide." : "No override matches."}
        />
        {shown.length < found.length && (
          <p class="faint">
            The first {shown.length} of {found.length}.
          </p>
        )}
      </div>
    </Card>
  );
}

const columns = (reload: () => void): readonly Column<Override>[] => [
  {
    name: "Value",
    cell: ({ value, kind }) => (
      <>
        <code>{value}</code>
        <small>{kind.replace("_", " ")}</small>
      </>
    ),
  },
  {
    name: "Verdict",
    cell: ({ mute, flag, verdict }) =>
      mute ? (
        `mutes ${mute}`
      ) : (
        <Badge kind={verdict ? "bad" : "good"}>
          {flagName(flag ?? "")}: {verdict ? "yes" : "no"}
        </Badge>
      ),
  },
  {
    name: "Reason",
    cell: ({ note, author, created_at }) => (
      <>
        {note}
        <small>
          {author}, <RelativeTime iso={created_at} />
        </small>
      </>
    ),
  },
  { name: "Expires", cell: ({ expires_at }) => (expires_at ? <RelativeTime iso={expires_at} /> : "never") },
  {
    name: "Action",
    cell: ({ id, value }) => (
      <ConfirmButton
        label={`Remove the override of ${value}`}
        title="Remove this override?"
        text={`Feeds decide about ${value} again within a second.`}
        confirm="Remove"
        run={async () => {
          await api(`overrides/${id}`, { method: "DELETE" });
          notify("Override removed.");
          reload();
        }}
      >
        Remove
      </ConfirmButton>
    ),
  },
];
