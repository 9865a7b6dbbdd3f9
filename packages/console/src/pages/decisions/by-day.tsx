// by-day.tsx: shows stored decisions by day and action, and how to turn on storing.

import { ACTIONS, type Action, OUTCOMES } from "@inkling/contract";
import { sum } from "d3-array";
import type { DecisionCounts } from "../../answers.ts";
import { call } from "../../api.ts";
import { Card, Code } from "../../components/basics.tsx";
import { BarCharts } from "../../components/chart.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { lastDays } from "../../format.ts";
import { useLoad } from "../../hooks.ts";

const DAYS = 30;
/** Colours of the chart's series: green, orange, red. */
const COLORS: Readonly<Record<Action, number>> = { allow: 2, challenge: 1, deny: 3 };
const OUTCOME_COLORS = { legitimate: 2, fraud: 3 } as const;

interface Day {
  readonly at: string;
  readonly counts: DecisionCounts["days"];
}
const CHARTS = [
  [
    "Decisions per day (UTC)",
    ACTIONS.map((action) => ({
      name: action,
      color: COLORS[action],
      of: ({ counts }: Day) => sum(counts, (one) => (one.action === action ? one.count : 0)),
    })),
  ],
  [
    "Outcomes per day",
    OUTCOMES.map((outcome) => ({
      name: outcome,
      color: OUTCOME_COLORS[outcome],
      of: ({ counts }: Day) => sum(counts, (one) => one[outcome]),
    })),
  ],
] as const;

/** @param changes number of changes that the page has made to decisions; a new number reloads the counts */
export function DecisionsByDay({ changes }: { changes: number }) {
  const loading = useLoad((signal) => call("GET decisions/counts", {}, signal), [changes]);
  return (
    <Loaded from={loading}>
      {({ stores_decisions, days }) => (
        <>
          {!stores_decisions && <TurnOn />}
          <div class="pair even">
            <BarCharts
              charts={CHARTS}
              points={lastDays(DAYS).map((at) => ({ at, counts: days.filter(({ day }) => day === at) }))}
              formatTime={(at) => at.slice(5)}
            />
          </div>
        </>
      )}
    </Loaded>
  );
}

const TurnOn = () => (
  <Card title="Decisions are not stored">
    <p>
      This server does not store decisions. To look up why someone was denied, to mark outcomes and to replay
      rulesets, add these lines to <code>inkling.toml</code> and restart the server. Chargebacks come weeks or
      months later, so the lines keep decisions for 180 days instead of the default 30.
    </p>
    <Code text={"decisions = true\ndecisions_days = 180"} />
    <p class="faint">
      The environment variable is <code>INKLING_DECISIONS=1</code>. The server never stores a full address or
      mailbox; docs/decisions.md#stored-decisions lists what it stores.
    </p>
  </Card>
);
