// decisions.tsx: the decisions that servers stored: by day, filtered, page by page, deleted; one of them by its id.

import { ACTIONS, OUTCOMES, REASON_CODES } from "@inkling/contract";
import type { Decision } from "@inkling/server/admin-answers";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Badge, Card, RelativeTime } from "../../components/basics.tsx";
import { Field, type Options, PeriodField, Select, TextField } from "../../components/form.tsx";
import { Paged } from "../../components/paged.tsx";
import { Table, TwoLines } from "../../components/table.tsx";
import type { PageProps } from "../../hooks.ts";
import { ActionBadge } from "../assess/assessment.tsx";
import { DecisionsByDay } from "./by-day.tsx";
import { DecisionDetail, OutcomeBadge } from "./decision.tsx";
import { DeleteDecisions } from "./delete.tsx";

export const DecisionsPage = ({ rest }: PageProps) =>
  rest === "" || rest.startsWith("?") ? <Overview query={rest} /> : <DecisionDetail id={rest} />;

const optionsOf = (values: readonly string[]): Options => [
  ["", "all"],
  ...values.map((text) => [text, text] as const),
];
const ACTION_OPTIONS = optionsOf(ACTIONS);
const REASON_OPTIONS = optionsOf(REASON_CODES);
const OUTCOME_OPTIONS = optionsOf([...OUTCOMES, "none"]);

/** @param query filters to begin with: `?rule=no-hosting-sign-ups` */
function Overview({ query: given }: { query: string }) {
  const [filter, setFilter] = useState<Readonly<Record<string, string>>>(
    Object.fromEntries(new URLSearchParams(given)),
  );
  const take = (name: string) => (value: string) => setFilter((old) => ({ ...old, [name]: value.trim() }));
  const select = (name: string, options: Options) => (
    <Select options={options} value={filter[name] ?? ""} onChoose={take(name)} />
  );
  const text = (name: string) => ({
    type: "search" as const,
    defaultValue: filter[name] ?? "",
    onChange: (event: { currentTarget: HTMLInputElement }) => take(name)(event.currentTarget.value),
  });
  const [deletions, setDeletions] = useState(0);
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== "")).toString();
  return (
    <>
      <DecisionsByDay key={deletions} />
      <Card title="Decisions">
        <div class="filters">
          <Field label="Action">{select("action", ACTION_OPTIONS)}</Field>
          <Field label="Reason">{select("reason", REASON_OPTIONS)}</Field>
          <Field label="Outcome">{select("outcome", OUTCOME_OPTIONS)}</Field>
          <PeriodField onSince={take("since")} />
          <TextField label="Event" placeholder="sign_up" {...text("event")} />
          <TextField label="Rule" {...text("rule")} />
          <TextField label="Ref" {...text("ref")} />
        </div>
        <div aria-live="polite">
          <Decisions key={`${deletions} ${query}`} query={query} />
        </div>
      </Card>
      <DeleteDecisions onDeleted={() => setDeletions(deletions + 1)} />
    </>
  );
}

interface Page {
  readonly decisions: readonly Decision[];
  readonly next_cursor: string | null;
}

function Decisions({ query }: { query: string }) {
  const read = async (cursor: string, signal: AbortSignal | null) => {
    const path = `decisions?limit=50${query && `&${query}`}${cursor && `&cursor=${cursor}`}`;
    const { decisions, next_cursor } = await api<Page>(path, { signal });
    return { items: decisions, next: next_cursor };
  };
  return (
    <Paged read={read}>
      {(decisions) => (
        <Table
          caption="Decisions"
          rows={decisions}
          rowKey={({ id }) => id}
          columns={[
            ["When", whenOf],
            ["Action", actionOf],
            ["Event", ({ event, ref }) => <TwoLines below={ref}>{event}</TwoLines>],
            ["Visitor", visitorOf],
            ["Reasons", ({ reasons }) => reasons.map(({ code }) => code).join(", ") || "none"],
            ["Outcome", ({ outcome }) => <OutcomeBadge outcome={outcome} />],
          ]}
          empty={query === "" ? "No decision is stored yet." : "No decision matches."}
        />
      )}
    </Paged>
  );
}

const whenOf = ({ id, at }: Decision) => (
  <a href={`#/decisions/${id}`}>
    <RelativeTime iso={at} />
  </a>
);

const actionOf = ({ action, review, rule, score }: Decision) => (
  <TwoLines below={rule === null ? `score ${score.toFixed(2)}` : `rule ${rule}`}>
    <ActionBadge action={action} />
    {review && <Badge kind="warn">review</Badge>}
  </TwoLines>
);

/** What is stored of an address and a mailbox. */
function visitorOf({ facts }: Decision) {
  const [domain, ...network] = [facts["email.domain"], facts["ip.network"], facts["ip.country"]];
  const below = network.filter(Boolean).join(", ");
  return domain ? <TwoLines below={below}>{String(domain)}</TwoLines> : below;
}
