// decision.tsx: shows one stored decision, the reasons for it, and how the visitor turned out.

import { OUTCOMES, type Outcome } from "@inkling/contract";
import type { Decision } from "../../answers.ts";
import { call } from "../../api.ts";
import { Badge, Card, Definitions, RelativeTime } from "../../components/basics.tsx";
import { ResourceDetail } from "../../components/resource.tsx";
import { notify, useAction } from "../../hooks.ts";
import { useRefusal } from "../../session.ts";
import { DecisionCard, FactTable, rulesetName } from "../assess/decision.tsx";
import { Copies } from "../lookup/evidence.tsx";

export const OutcomeBadge = ({ outcome }: { outcome: Outcome | null }) =>
  outcome && <Badge kind={outcome === "fraud" ? "bad" : "good"}>{outcome}</Badge>;

/** @throws {ApiError} */
const labelDecision = (id: string, outcome: Outcome) => call("POST decisions/{id}/outcome", { id, outcome });

export const DecisionDetail = ({ id }: { id: string }) => (
  <ResourceDetail route="GET decisions/{id}" id={id} noun="decision">
    {(decision, reload) => (
      <>
        <DecisionCard of={decision} ruleset={rulesetName(decision.ruleset)}>
          <Definitions rows={aboutOf(decision)} />
          <Copies title="JSON" json={JSON.stringify(decision, null, 2)} />
        </DecisionCard>
        <OutcomeCard of={decision} reload={reload} />
        <FactTable facts={decision.facts} />
      </>
    )}
  </ResourceDetail>
);

const aboutOf = ({ id, at, event, ref, data_version }: Decision) =>
  [
    ["Id", <code key="id">{id}</code>],
    ["Decided", <RelativeTime key="at" iso={at} />],
    ["Event", event],
    ["Ref", ref && <a href={`#/decisions?${new URLSearchParams({ ref })}`}>{ref}</a>],
    ["Data", <code key="data">{data_version}</code>],
  ] as const;

interface OutcomeCardProps {
  readonly of: Decision;
  readonly reload: () => void;
}

export const OUTCOME_TEXTS: Readonly<Record<Outcome, string>> = { legitimate: "Legitimate", fraud: "Fraud" };

function OutcomeCard({ of: { id, outcome, outcome_at }, reload }: OutcomeCardProps) {
  const [start, isBusy] = useAction();
  const readOnly = useRefusal("analyst");
  const label = (chosen: Outcome) =>
    start(async () => {
      await labelDecision(id, chosen);
      notify(`Marked as ${chosen}.`);
      reload();
    });
  return (
    <Card title="Outcome">
      <p class="faint">
        How the visitor turned out. The outcome does not change the decision; replays use it to measure rules
        and reasons.
      </p>
      <p class="actions">
        {OUTCOMES.map((name) => (
          <button
            key={name}
            type="button"
            class={name === outcome ? "" : "quiet"}
            aria-pressed={name === outcome}
            aria-busy={isBusy}
            disabled={readOnly !== undefined}
            title={readOnly}
            onClick={() => label(name)}
          >
            {OUTCOME_TEXTS[name]}
          </button>
        ))}
        {outcome_at && (
          <span class="faint">
            marked <RelativeTime iso={outcome_at} />
          </span>
        )}
      </p>
    </Card>
  );
}
