// decisions.tsx: shows the decisions that servers stored, by day and as a list with filters and pages, and labels and
// deletes them. Shows a single decision if the page's address has an id.

import { OUTCOMES, type Outcome } from "@inkling/contract";
import { useState } from "preact/hooks";
import type { Decision } from "../../answers.ts";
import { call } from "../../api.ts";
import { Badge, RelativeTime } from "../../components/basics.tsx";
import type { BulkAction } from "../../components/bulk.tsx";
import { ResourceList } from "../../components/resource.tsx";
import { TwoLines } from "../../components/table.tsx";
import { formatCount } from "../../format.ts";
import type { PageProps } from "../../hooks.ts";
import { ActionBadge } from "../assess/decision.tsx";
import { DecisionsByDay } from "./by-day.tsx";
import { DecisionDetail, OUTCOME_TEXTS, OutcomeBadge } from "./decision.tsx";
import { DeleteDecisions } from "./delete.tsx";

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
            network: { placeholder: "address, /24 or /48" },
            domain: { placeholder: "example.com" },
          },
        ]}
        bulk={LABEL}
        columns={[
          [
            "When",
            ({ id, at }) => (
              <a href={`#/decisions/${id}`}>
                <RelativeTime iso={at} />
              </a>
            ),
          ],
          ["Action", actionOf],
          ["Event", ({ event, ref }) => <TwoLines below={ref}>{event}</TwoLines>],
          ["Visitor", visitorOf],
          ["Reasons", ({ reasons }) => reasons.map(({ code }) => code).join(", ") || "none"],
          ["Outcome", ({ outcome }) => <OutcomeBadge outcome={outcome} />],
        ]}
      />
      <DecisionsByDay changes={changes} />
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
  choices: OUTCOMES.map((outcome) => [outcome, OUTCOME_TEXTS[outcome]] as const),
  run: ({ id }, outcome) => call("POST decisions/{id}/outcome", { id, outcome: outcome as Outcome }), // one of the choices
  link: (id) => `#/decisions/${id}`,
};

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
