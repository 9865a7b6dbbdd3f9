// overrides.tsx: lists, searches, adds, changes and removes active overrides, and shows the history of all overrides.

import { useState } from "preact/hooks";
import { call } from "../../api.ts";
import { Button, Card } from "../../components/basics.tsx";
import { ResourceDetail, ResourceList } from "../../components/resource.tsx";
import { TableCard } from "../../components/table.tsx";
import type { PageProps } from "../../hooks.ts";
import { forgetAnswers } from "../lookup/search.ts";
import { FilesCard } from "./files.tsx";
import {
  ADDED,
  HISTORY_COLUMNS,
  isActive,
  NEW_FIELDS,
  OVERRIDE_COLUMNS,
  overrideActions,
} from "./override-columns.tsx";

const MAX_OVERRIDES = 10_000;

export const OverridesPage = ({ rest }: PageProps) =>
  rest === "" ? (
    <Overview />
  ) : (
    <ResourceDetail route="GET overrides/{id}" id={rest} noun="override" nameOf={({ value }) => value}>
      {(override, reload) => (
        <TableCard
          caption={`Override ${override.id}`}
          rows={[override]}
          rowKey={({ id }) => id}
          columns={[
            ...HISTORY_COLUMNS,
            ["Action", (one) => isActive(one) && <span class="actions">{overrideActions(one, reload)}</span>],
          ]}
          empty=""
        />
      )}
    </ResourceDetail>
  );

function Overview() {
  const [changes, setChanges] = useState(0);
  const [hasHistory, setHistory] = useState(false);
  const changed = () => {
    forgetAnswers();
    setChanges((n) => n + 1);
  };
  return (
    <>
      <ResourceList
        route="GET overrides"
        rows={({ overrides }) => overrides}
        rowKey={({ id }) => id}
        caption="Active overrides"
        empty="No overrides. Only feeds decide."
        columns={OVERRIDE_COLUMNS}
        actions={(override) => overrideActions(override, changed)}
        bulk={{
          verb: ["Remove", "Removed"],
          needs: "analyst",
          question: () => "Feeds decide about these values again within a second.",
          run: ({ id }) => call("DELETE overrides/{id}", { id }),
        }}
        first={MAX_OVERRIDES}
        changes={changes}
        onChange={changed}
        create={{
          route: "POST overrides",
          title: "Add an override",
          action: "Add",
          fields: NEW_FIELDS,
          message: ({ outcome }) => (outcome === "unchanged" ? "This override already exists." : ADDED),
        }}
      />
      <FilesCard reload={changed} />
      {hasHistory ? (
        <ResourceList
          route="GET overrides"
          input={{ ended: true }}
          rows={({ overrides }) => overrides}
          rowKey={({ id }) => id}
          caption="History of overrides"
          empty="No overrides yet."
          columns={HISTORY_COLUMNS}
          first={50}
          changes={changes}
        />
      ) : (
        <Card title="History">
          <Button text="Also show removed and expired overrides" onClick={() => setHistory(true)} />
        </Card>
      )}
    </>
  );
}
