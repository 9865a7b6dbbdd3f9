// decisions.tsx: shows the decisions that servers stored, by day and as a list with filters and pages, and labels and
// deletes them. Shows a single decision if the page's address has an id.

import { ACTIONS, OUTCOMES, REASON_CODES } from "@inkling/contract";
import type { Api } from "@inkling/operations";
import type { Decision } from "@inkling/server/admin-answers";
import { useState } from "preact/hooks";
import { call } from "../../api.ts";
import { Badge, Card, RelativeTime } from "../../components/basics.tsx";
import { PeriodFilter, SelectFilter, TextFilter, useFilters } from "../../components/filters.tsx";
import type { Options } from "../../components/form.tsx";
import { Paged } from "../../components/paged.tsx";
import { Table, TwoLines } from "../../components/table.tsx";
import type { PageProps } from "../../hooks.ts";
import { ActionBadge } from "../assess/decision.tsx";
import { DecisionsByDay } from "./by-day.tsx";
import { DecisionDetail, OutcomeBadge } from "./decision.tsx";
import { DeleteDecisions } from "./delete.tsx";
import { LabelMany } from "./label-many.tsx";

export const DecisionsPage = ({ rest }: PageProps) =>
  rest === "" || rest.startsWith("?") ? <Overview rest={rest} /> : <DecisionDetail key={rest} id={rest} />;

const optionsOf = (values: readonly string[]): Options => [
  ["", "all"],
  ...values.map((text) => [text, text] as const),
];
const ACTION_OPTIONS = optionsOf(ACTIONS);
const REASON_OPTIONS = optionsOf(REASON_CODES);
const OUTCOME_OPTIONS = optionsOf([...OUTCOMES, "none"]);

function Overview({ rest }: { rest: string }) {
  const filters = useFilters(rest);
  const { query } = filters;
  const [deletions, setDeletions] = useState(0);
  const [labellings, setLabellings] = useState(0);
  return (
    <>
      <DecisionsByDay changes={deletions + labellings} />
      <Card title="Decisions">
        <div class="filters">
          <SelectFilter of={filters} label="Action" name="action" options={ACTION_OPTIONS} />
          <SelectFilter of={filters} label="Reason" name="reason" options={REASON_OPTIONS} />
          <SelectFilter of={filters} label="Outcome" name="outcome" options={OUTCOME_OPTIONS} />
          <PeriodFilter of={filters} />
          <TextFilter of={filters} label="Event" name="event" placeholder="sign_up" />
          <TextFilter of={filters} label="Rule" name="rule" />
          <TextFilter of={filters} label="Network" name="network" placeholder="address, /24 or /48" />
          <TextFilter of={filters} label="Domain" name="domain" placeholder="example.com" />
          <TextFilter of={filters} label="Ref" name="ref" />
        </div>
        <div aria-live="polite">
          <Decisions
            key={`${deletions} ${query}`}
            query={query}
            onLabelled={() => setLabellings((n) => n + 1)}
          />
        </div>
      </Card>
      <DeleteDecisions onDeleted={() => setDeletions(deletions + 1)} />
    </>
  );
}

function Decisions({ query, onLabelled }: { query: string; onLabelled: () => void }) {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  /** The decisions that were labelled here, by id. They replace the loaded ones. */
  const [labelled, setLabelled] = useState<ReadonlyMap<string, Decision>>(new Map());
  const select = (id: string, isSelected: boolean) => {
    const next = new Set(selected);
    if (isSelected) next.add(id);
    else next.delete(id);
    setSelected(next);
  };
  /** Decisions that failed remain selected, so that the user can try again. */
  const take = (decisions: readonly Decision[]) => {
    const byId = new Map(decisions.map((decision) => [decision.id, decision]));
    setLabelled((old) => new Map([...old, ...byId]));
    setSelected((old) => new Set([...old].filter((id) => !byId.has(id))));
    onLabelled();
  };
  const read = async (cursor: string, signal: AbortSignal | null) => {
    // A search that takes long returns pages without decisions.
    for (let after = cursor; ; ) {
      const filter = Object.fromEntries(new URLSearchParams(query)) as Api["GET decisions"]["input"];
      const input = { ...filter, limit: 50, ...(after && { cursor: after }) };
      const { decisions, next_cursor } = await call("GET decisions", input, signal);
      if (decisions.length > 0 || next_cursor === null) return { items: decisions, next: next_cursor };
      after = next_cursor;
    }
  };
  return (
    <Paged read={read}>
      {(loaded) => {
        const decisions = loaded.map((decision) => labelled.get(decision.id) ?? decision);
        return (
          <>
            {decisions.length > 0 && (
              <LabelMany
                shown={decisions}
                selected={selected}
                onSelect={(ids) => setSelected(new Set(ids))}
                onLabelled={take}
              />
            )}
            <Table
              caption="Decisions"
              rows={decisions}
              rowKey={({ id }) => id}
              columns={[
                ["When", (decision) => whenCell(decision, selected, select)],
                ["Action", actionOf],
                ["Event", ({ event, ref }) => <TwoLines below={ref}>{event}</TwoLines>],
                ["Visitor", visitorOf],
                ["Reasons", ({ reasons }) => reasons.map(({ code }) => code).join(", ") || "none"],
                ["Outcome", ({ outcome }) => <OutcomeBadge outcome={outcome} />],
              ]}
              empty={query === "" ? "No decisions are stored yet." : "No decisions match."}
            />
          </>
        );
      }}
    </Paged>
  );
}

const whenCell = (
  { id, at }: Decision,
  selected: ReadonlySet<string>,
  select: (id: string, isSelected: boolean) => void,
) => (
  <span class="one-line">
    <input
      type="checkbox"
      class="row-choice"
      aria-label={`Select ${id}`}
      checked={selected.has(id)}
      onChange={(event) => select(id, event.currentTarget.checked)}
    />
    <a href={`#/decisions/${id}`}>
      <RelativeTime iso={at} />
    </a>
  </span>
);

const actionOf = ({ action, review, rule, score }: Decision) => (
  <TwoLines below={rule === null ? `score ${score.toFixed(2)}` : `rule ${rule}`}>
    <ActionBadge action={action} />
    {review && <Badge kind="warn">review</Badge>}
  </TwoLines>
);

/** The stored parts of the visitor's IP address and email address. */
function visitorOf({ facts }: Decision) {
  const [domain, ...network] = [facts["email.domain"], facts["ip.network"], facts["ip.country"]];
  const below = network.filter(Boolean).join(", ");
  return domain ? <TwoLines below={below}>{String(domain)}</TwoLines> : below;
}
