// decision.tsx: shows one stored decision, the reasons for it, and how the visitor turned out.

import { OUTCOMES, type Outcome } from "@inkling/contract";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Decision, ExplainedDecision } from "../../answers.ts";
import { call } from "../../api.ts";
import { Button, Card, Definitions, RelativeTime } from "../../components/basics.tsx";
import { TextField } from "../../components/form.tsx";
import { ResourceDetail } from "../../components/resource.tsx";
import { notify, useAction } from "../../hooks.ts";
import { useRefusal } from "../../session.ts";
import { DecisionCard, FactTable, rulesetName } from "../assess/decision.tsx";
import { Copies } from "../lookup/evidence.tsx";

export const DecisionDetail = ({ id }: { id: string }) => (
  <ResourceDetail route="GET decisions/{id}" id={id} noun="decision" nameOf={({ id }) => id}>
    {(decision, reload) => (
      <StoredDecision of={decision}>
        <Card title="Outcome">
          <p class="faint">
            How the visitor turned out. The outcome does not change this decision. It measures rules and
            reasons, and facts such as <code>history.mailbox_fraud</code> count fraud against later visitors.
          </p>
          <OutcomeForm
            of={decision}
            done={(outcome) => {
              notify(outcome === null ? "Outcome removed." : `Marked as ${outcome}.`);
              reload();
            }}
          />
        </Card>
      </StoredDecision>
    )}
  </ResourceDetail>
);

interface StoredDecisionProps {
  readonly of: ExplainedDecision;
  /** Shown before the facts. */
  readonly children?: ComponentChildren;
}

/** What was decided, why, and from which facts: first those that a rule or reason read. */
export const StoredDecision = ({ of, children }: StoredDecisionProps) => (
  <div class="beside">
    <DecisionCard of={of} ruleset={rulesetName(of.ruleset)} ruleAction={of.rule_action}>
      <Definitions rows={aboutOf(of)} />
      <Copies title="JSON" json={JSON.stringify(of, null, 2)} />
    </DecisionCard>
    <div>
      {children}
      <FactTable facts={of.facts} read={of.facts_read} />
    </div>
  </div>
);

const aboutOf = ({ id, at, event, ref, ruleset, data_version, request_id }: Decision) =>
  [
    [
      "Id",
      <a key="id" href={`#/decisions/${id}`}>
        <code>{id}</code>
      </a>,
    ],
    ["Decided", <RelativeTime key="at" iso={at} />],
    ["Event", event],
    ["Ref", ref && <a href={`#/decisions?${new URLSearchParams({ ref })}`}>{ref}</a>],
    ["Ruleset", ruleset > 0 && <a href={`#/rules/${ruleset}`}>{ruleset}</a>],
    [
      "Data",
      <a key="data" href={`#/data?${new URLSearchParams({ release: data_version })}`}>
        <code>{data_version}</code>
      </a>,
    ],
    ["Request", request_id && <code>{request_id}</code>],
  ] as const;

const OUTCOME_TEXTS: Readonly<Record<Outcome, string>> = { legitimate: "Legitimate", fraud: "Fraud" };

/** @throws {ApiError} */
export const setOutcome = (id: string, outcome: Outcome | "none", note = "") =>
  call("POST decisions/{id}/outcome", { id, outcome, ...(note !== "" && { note }) });

interface OutcomeFormProps {
  readonly of: Pick<Decision, "id" | "outcome" | "outcome_at" | "outcome_note">;
  /** True if keys label the decision and go to the note. */
  readonly hasKeys?: boolean;
  readonly done: (outcome: Outcome | null) => unknown;
}

const KEYS: Readonly<Record<Outcome, string>> = { legitimate: "l", fraud: "f" };

/** A note, and a button for each outcome. */
export function OutcomeForm({ of, hasKeys = false, done }: OutcomeFormProps) {
  const { id, outcome, outcome_at, outcome_note } = of;
  const [written, setWritten] = useState({ id, note: "" });
  const note = written.id === id ? written.note : ""; // the next decision begins without a note
  const [start, isBusy] = useAction();
  const refusal = useRefusal("analyst");
  const set = (chosen: Outcome | "none") =>
    start(async () => {
      await setOutcome(id, chosen, chosen === "none" ? "" : note.trim());
      setWritten({ id, note: "" });
      done(chosen === "none" ? null : chosen);
    });
  return (
    <>
      <TextField
        label={hasKeys ? "Note (n)" : "Note"}
        note={`Why you think so. It is shown with the outcome.${hasKeys ? " Enter leaves the field." : ""}`}
        maxLength={500}
        value={note}
        aria-keyshortcuts={hasKeys ? "n" : undefined}
        onInput={(event) => setWritten({ id, note: event.currentTarget.value })}
        onKeyDown={(event) => (event.key === "Enter" || event.key === "Escape") && event.currentTarget.blur()}
      />
      <p class="actions">
        {OUTCOMES.map((name) => (
          <Button
            key={name}
            text={OUTCOME_TEXTS[name]}
            class={name === outcome ? "" : "quiet"}
            isPressed={name === outcome}
            isBusy={isBusy}
            shortcut={hasKeys ? KEYS[name] : undefined}
            refusal={refusal}
            onClick={() => set(name)}
          />
        ))}
        {!hasKeys && outcome !== null && (
          <Button text="Remove the outcome" isBusy={isBusy} refusal={refusal} onClick={() => set("none")} />
        )}
        {outcome_at && (
          <span class="faint">
            marked <RelativeTime iso={outcome_at} />
            {outcome_note && `: ${outcome_note}`}
          </span>
        )}
      </p>
    </>
  );
}
