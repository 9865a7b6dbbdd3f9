// decisions.tsx: shows the decisions that servers stored, by day and as a list with filters and pages, and labels and
// deletes them. Shows a single decision if the page's address has an id.

import { OUTCOMES, type Outcome } from "@inkling/contract";
import { useState } from "preact/hooks";
import type { Decision } from "../../answers.ts";
import { Badge, Card } from "../../components/basics.tsx";
import type { BulkAction } from "../../components/bulk.tsx";
import { Action } from "../../components/operation.tsx";
import { ResourceList } from "../../components/resource.tsx";
import { type Column, OneLine } from "../../components/table.tsx";
import { formatCount, formatTime } from "../../format.ts";
import { notify, type PageProps } from "../../hooks.ts";
import { ActionBadge } from "../assess/decision.tsx";
import { DecisionsByDay } from "./by-day.tsx";
import { DecisionDetail, OUTCOME_TEXTS, OutcomeBadge, setOutcome } from "./decision.tsx";
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
        rows={({ decisions }) => decisions}
        rowKey={({ id }) => id}
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
        columns={COLUMNS}
      />
      <DecisionsByDay changes={changes} />
      <ImportOutcomes onImported={changed} />
      <DeleteDecisions onDeleted={changed} />
    </>
  );
}

const LABEL: BulkAction<Decision> = {
  verb: ["Label", "Labelled"],
  needs: "analyst",
  question: (decisions) => {
    const replaced = decisions.filter(({ outcome }) => outcome !== null).length;
    const note = ` The new outcome replaces the earlier outcome of ${formatCount(replaced)}.`;
    return `How the visitors turned out.${replaced > 0 ? note : ""}`;
  },
  choices: [...OUTCOMES.map((outcome) => [outcome, OUTCOME_TEXTS[outcome]] as const), ["none", "No outcome"]],
  run: ({ id }, outcome) => setOutcome(id, outcome as Outcome | "none"), // one of the choices
  link: (id) => `#/decisions/${id}`,
};

const COLUMNS: readonly Column<Decision>[] = [
  [
    "Time (UTC)",
    ({ id, at }) => (
      <a href={`#/decisions/${id}`}>
        <time dateTime={at}>{formatTime(at)}</time>
      </a>
    ),
    "time",
  ],
  ["Action", ({ action }) => <ActionBadge action={action} />, "small"],
  [
    "Decided by",
    ({ rule, score }) => <OneLine text={rule === null ? `score ${score.toFixed(2)}` : `rule ${rule}`} />,
    "medium",
  ],
  ["Event", ({ event }) => <OneLine text={event} />, "small"],
  ["Ref", ({ ref }) => <OneLine text={ref} />, "small"],
  ["Visitor", (decision) => <OneLine text={visitorOf(decision)} />, "large"],
  ["Reasons", ({ reasons }) => <OneLine text={reasons.map(({ code }) => code).join(", ") || "none"} />],
  [
    "Outcome",
    ({ outcome, review }) =>
      outcome === null && review ? <Badge kind="warn">review</Badge> : <OutcomeBadge outcome={outcome} />,
    "small",
  ],
];

/** The stored parts of the visitor's email address and IP address. */
const visitorOf = ({ facts }: Decision) =>
  [facts["email.domain"], facts["ip.network"], facts["ip.country"]].filter(Boolean).join(", ");

/** Deletes the decisions about one `ref`, or all decisions before a day. */
function DeleteDecisions({ onDeleted }: { onDeleted: () => void }) {
  const done = ({ deleted }: { deleted: number }) => {
    notify(`Deleted ${formatCount(deleted)} ${deleted === 1 ? "decision" : "decisions"}.`);
    onDeleted();
  };
  const shared = {
    route: "DELETE decisions",
    class: "danger",
    question: ["Delete decisions?", "These decisions and their outcomes are deleted.", "Delete"],
    isDanger: true,
    done,
  } as const;
  return (
    <Card title="Delete decisions">
      <p class="faint">Deleted decisions and their outcomes cannot be restored.</p>
      <div class="actions">
        <Action
          {...shared}
          text="Delete by ref"
          input={{ before: undefined }}
          fields={{ ref: { label: "All decisions with the ref", note: "" } }}
        />
        <Action
          {...shared}
          text="Delete by time"
          input={{ ref: undefined }}
          fields={{
            before: { label: "All decisions before this day (UTC)", note: "", isDay: true },
          }}
        />
      </div>
    </Card>
  );
}
