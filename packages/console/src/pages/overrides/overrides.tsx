// overrides.tsx: lists, searches and removes active overrides.

import type { Override } from "@inkling/server/admin-answers";
import { useState } from "preact/hooks";
import { listAll } from "../../api.ts";
import { Card } from "../../components/basics.tsx";
import { TextField } from "../../components/form.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { Table } from "../../components/table.tsx";
import { formatCount } from "../../format.ts";
import { useLoad } from "../../hooks.ts";
import { AddCard } from "./add.tsx";
import { FilesCard } from "./files.tsx";
import { overrideColumns } from "./override-columns.tsx";

const MAX_OVERRIDES = 10_000;
const MAX_SHOWN = 500;
/** From this many on there is a search field. */
const MIN_SEARCHED = 6;

export function OverridesPage() {
  const loading = useLoad((signal) => listAll<Override>("overrides", "overrides", signal, MAX_OVERRIDES), []);
  const { reload } = loading;
  return (
    <Loaded from={loading}>
      {(overrides) => (
        <>
          <ListCard overrides={overrides} reload={reload} />
          <div class="pair">
            <AddCard reload={reload} />
            <FilesCard reload={reload} />
          </div>
        </>
      )}
    </Loaded>
  );
}

function ListCard({ overrides, reload }: { overrides: readonly Override[]; reload: () => void }) {
  const [search, setSearch] = useState("");
  const text = search.trim().toLowerCase();
  const found = overrides.filter(({ value, note, author, flag }) =>
    [value, note, author, flag].some((part) => part.toLowerCase().includes(text)),
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
