// decisions.tsx: shows the decisions that servers stored, by day and as a list with filters and pages, and labels and
// deletes them. Shows a single decision if the page's address has an id.

import { useState } from "preact/hooks";
import type { Decision } from "../../answers.ts";
import { Card } from "../../components/basics.tsx";
import type { BulkAction } from "../../components/list.tsx";
import { Action } from "../../components/operation.tsx";
import { ResourceList } from "../../components/resource.tsx";
import { countOf, formatCount } from "../../format.ts";
import type { PageProps } from "../../hooks.ts";
import { DecisionsByDay } from "./by-day.tsx";
import { DECISION_COLUMNS } from "./columns.tsx";
import { DecisionDetail } from "./decision.tsx";
import { ImportOutcomes } from "./outcomes.tsx";

export const DecisionsPage = ({ rest }: PageProps) =>
  rest === "" || rest.startsWith("?") ? <Overview rest={rest} /> : <DecisionDetail key={rest} id={rest} />;

function Overview({ rest }: { rest: string }) {
  const [changes, setChanges] = useState(0);
  const changed = () => setChanges((n) => n + 1);
  return (
    <>
      <ResourceList
        route="GET decisions"
        caption="Decisions"
        empty="No decisions are stored yet."
        first={50}
        changes={changes}
        onChange={changed}
        filters={[
          rest,
          {
            event: { placeholder: "sign_up" },
            rule: { note: "Also decisions that the rule matched in shadow." },
            network: { placeholder: "address, /24 or /48" },
            domain: { placeholder: "example.com" },
            mailbox: { placeholder: "jane@example.com" },
          },
        ]}
        bulk={LABEL}
        isOneLine
        columns={DECISION_COLUMNS}
      />
      <DecisionsByDay changes={changes} />
      <ImportOutcomes onImported={changed} />
      <DeleteDecisions onDeleted={changed} />
    </>
  );
}

const LABEL: BulkAction<Decision, "POST decisions/{id}/outcome"> = {
  route: "POST decisions/{id}/outcome",
  verb: ["Label", "Labelled"],
  ask: (decisions) => {
    const replaced = decisions.filter(({ outcome }) => outcome !== null).length;
    const note = ` The new outcome replaces the earlier outcome of ${formatCount(replaced)}.`;
    return `How the visitors turned out.${replaced > 0 ? note : ""}`;
  },
  input: ({ id }) => ({ id }),
  link: (id) => `#/decisions/${id}`,
};

/** Deletes the decisions about one `ref`, or all decisions before a day. */
const DeleteDecisions = ({ onDeleted }: { onDeleted: () => void }) => (
  <Card title="Delete decisions">
    <p class="faint">Deleted decisions and their outcomes cannot be restored.</p>
    <p>
      <Action
        route="DELETE decisions"
        class="danger"
        text="Delete"
        of="decisions"
        ask="These decisions and their outcomes are deleted. Fill in one of the fields."
        fields={{
          ref: { label: "All decisions with the ref", note: "" },
          before: { label: "All decisions before this day (UTC)", note: "", isDay: true },
        }}
        message={({ deleted }) => `Deleted ${countOf(deleted, "decision")}.`}
        done={onDeleted}
      />
    </p>
  </Card>
);
