// columns.tsx: shows a stored decision as one line.

import type { Decision } from "../../answers.ts";
import { State } from "../../components/basics.tsx";
import { OneLine } from "../../components/table.tsx";
import type { Columns } from "../../components/value.tsx";
import { formatTime } from "../../format.ts";

export const DECISION_COLUMNS: Columns<Decision> = [
  [
    "Time (UTC)",
    ({ id, at }) => (
      <a href={`#/decisions/${id}`}>
        <time dateTime={at}>{formatTime(at)}</time>
      </a>
    ),
    "time",
  ],
  ["Action", ({ action }) => <State of={action} />, "small"],
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
    ({ outcome, review }) => {
      const state = outcome ?? (review ? "review" : undefined);
      return state && <State of={state} />;
    },
    "small",
  ],
];

/** The stored parts of the visitor's email address and IP address. */
const visitorOf = ({ facts }: Decision) =>
  [facts["email.domain"], facts["ip.network"], facts["ip.country"]].filter(Boolean).join(", ");
