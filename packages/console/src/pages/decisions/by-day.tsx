// by-day.tsx: shows stored decisions by day and action, and how to turn on storing.

import { ACTIONS, type Action, OUTCOMES } from "@inkling/contract";
import { sum } from "d3-array";
import type { DecisionCounts } from "../../answers.ts";
import { call } from "../../api.ts";
import { Card, Code, Definitions } from "../../components/basics.tsx";
import { BarChart, type MeterColor, PartMeter } from "../../components/chart.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { DAY_MS, formatCount } from "../../format.ts";
import { useLoad } from "../../hooks.ts";

const DAYS = 30;
/** Colours of the chart's series: green, orange, red. */
const COLORS: Readonly<Record<Action, number>> = { allow: 2, challenge: 1, deny: 3 };

type Day = { readonly at: string } & Readonly<Record<Action, number>>;
const SERIES = ACTIONS.map((action) => ({
  name: action,
  color: COLORS[action],
  of: (day: Day) => day[action],
}));

/** @param changes number of changes that the page has made to decisions; a new number reloads the counts */
export function DecisionsByDay({ changes }: { changes: number }) {
  const loading = useLoad((signal) => call("GET decisions/counts", {}, signal), [changes]);
  return (
    <Loaded from={loading}>
      {({ stores_decisions, days }) => (
        <>
          {!stores_decisions && <TurnOn />}
          {days.length > 0 && (
            <Card title="The last 30 days">
              <div class="usage">
                <BarChart
                  title="Decisions per day (UTC)"
                  points={daysOf(days)}
                  series={SERIES}
                  formatTime={(at) => at.slice(5)}
                />
                <Totals of={days} />
              </div>
            </Card>
          )}
        </>
      )}
    </Loaded>
  );
}

const METERS: Readonly<Record<Action, MeterColor>> = { allow: "good", challenge: "warn", deny: "bad" };

function Totals({ of: days }: { of: DecisionCounts["days"] }) {
  const all = sum(days, ({ count }) => count);
  const shareOf = (action: Action) => (
    <PartMeter
      n={sum(days, (day) => (day.action === action ? day.count : 0))}
      of={all}
      color={METERS[action]}
    />
  );
  return (
    <div>
      <h3>Actions</h3>
      <Definitions rows={ACTIONS.map((action) => [action, shareOf(action)])} />
      <h3>Outcomes</h3>
      <Definitions
        rows={OUTCOMES.map((outcome) => [outcome, formatCount(sum(days, (day) => day[outcome]))])}
      />
    </div>
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

/** The last 30 days, including days without decisions. */
function daysOf(counts: DecisionCounts["days"]): Day[] {
  const today = Math.floor(Date.now() / DAY_MS);
  return Array.from({ length: DAYS }, (_, i) => {
    const at = new Date((today - DAYS + 1 + i) * DAY_MS).toISOString().slice(0, 10);
    const countOf = (wanted: Action) =>
      counts.find(({ day, action }) => day === at && action === wanted)?.count ?? 0;
    return { at, allow: countOf("allow"), challenge: countOf("challenge"), deny: countOf("deny") };
  });
}
