// overrides.tsx: lists, searches, changes and removes active overrides, and shows the history of all overrides.

import type { Override } from "@inkling/server/admin-answers";
import { useState } from "preact/hooks";
import { call, listAll } from "../../api.ts";
import { Button, Card } from "../../components/basics.tsx";
import { TextField } from "../../components/form.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { Paged } from "../../components/paged.tsx";
import { Table } from "../../components/table.tsx";
import { formatCount } from "../../format.ts";
import { useLoad } from "../../hooks.ts";
import { forgetAnswers } from "../lookup/search.ts";
import { AddCard } from "./add.tsx";
import { FilesCard } from "./files.tsx";
import { HISTORY_COLUMNS, overrideColumns } from "./override-columns.tsx";

const MAX_OVERRIDES = 10_000;
const MAX_SHOWN = 500;
/** Minimum number of overrides for which the page shows a search field. */
const MIN_SEARCHED = 6;

export function OverridesPage() {
  const loading = useLoad((signal) => listAll<Override>("overrides", "overrides", signal, MAX_OVERRIDES), []);
  const reload = () => {
    forgetAnswers();
    loading.reload();
  };
  return (
    <Loaded from={loading}>
      {(overrides) => (
        <>
          <ListCard overrides={overrides} reload={reload} />
          <div class="pair">
            <AddCard reload={reload} />
            <FilesCard reload={reload} />
          </div>
          <HistoryCard overrides={overrides} />
        </>
      )}
    </Loaded>
  );
}

/** All overrides that ever existed. Reloaded when the active ones change. */
function HistoryCard({ overrides }: { overrides: readonly Override[] }) {
  const [isOpen, setOpen] = useState(false);
  const read = async (cursor: string, signal: AbortSignal | null) => {
    const input = { ended: true, limit: 50, ...(cursor && { cursor }) };
    const page = await call("GET overrides", input, signal);
    return { items: page.overrides, next: page.next_cursor };
  };
  const key = overrides.map(({ id, note, expires_at }) => [id, note, expires_at].join()).join();
  return (
    <Card title="History">
      {isOpen ? (
        <Paged key={key} read={read}>
          {(all) => (
            <Table
              caption="History of overrides"
              rows={all}
              rowKey={({ id }) => id}
              columns={HISTORY_COLUMNS}
              empty="No overrides yet."
            />
          )}
        </Paged>
      ) : (
        <p class="actions">
          <Button text="Also show removed and expired overrides" onClick={() => setOpen(true)} />
        </p>
      )}
    </Card>
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
    <Card title="Active overrides">
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
          caption="Active overrides"
          rows={found.slice(0, MAX_SHOWN)}
          rowKey={({ id }) => id}
          columns={overrideColumns(reload)}
          empty={overrides.length === 0 ? "No overrides. Only feeds decide." : "No overrides match."}
        />
        {found.length > MAX_SHOWN && (
          <p class="faint">{`The first ${MAX_SHOWN} of ${formatCount(found.length)}.`}</p>
        )}
      </div>
    </Card>
  );
}
