// usage.tsx: shows a key's lookups and refusals of the last 30 days.

import { REPUTATION_FLAGS, SCOPES as SCOPE_NAMES } from "@inkling/contract";
import { sum } from "d3-array";
import type { Refusals, UsagePoint } from "../../answers.ts";
import { call } from "../../api.ts";
import { BarCharts } from "../../components/chart.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { flagName, lastDays } from "../../format.ts";
import { useLoad } from "../../hooks.ts";

const DAYS = 30;

/** Each scope with its title. */
export const SCOPES = SCOPE_NAMES.map(
  (scope) => [scope, `${scope[0]!.toUpperCase()}${scope.slice(1)}`] as const,
);

const REFUSALS = [
  ["not_allowed", "Not allowed"],
  ["rate_limited", "Rate limit"],
  ["quota_exceeded", "Quota"],
] as const;

export const countRefused = (refused: Refusals) => sum(REFUSALS, ([reason]) => refused[reason]);

/** A day, with what was counted on it. */
interface Day {
  readonly at: string;
  readonly usage: UsagePoint | undefined;
}

const seriesOf = (name: string, of: (usage: UsagePoint) => number) => ({
  name,
  of: ({ usage }: Day) => (usage ? of(usage) : 0),
});
const countBatched = ({ batch }: UsagePoint) => sum(SCOPES, ([scope]) => batch[scope]);

const CHARTS = [
  [
    "Lookups per day (UTC)",
    [
      ...SCOPES.map(([scope, name]) => seriesOf(name, (usage) => usage[scope])),
      seriesOf("Refused", ({ refused }) => countRefused(refused)),
    ],
  ],
  ["Refusals", REFUSALS.map(([reason, name]) => seriesOf(name, ({ refused }) => refused[reason]))],
  [
    "Lookups by request",
    [
      seriesOf("Single lookups", (usage) => usage.total - countBatched(usage)),
      seriesOf("Values in batches", countBatched),
    ],
  ],
  [
    "Answers that set a flag",
    [...REPUTATION_FLAGS, "disposable" as const].map((flag) =>
      seriesOf(flagName(flag), ({ flagged }) => flagged[flag]),
    ),
    true,
  ],
] as const;

export function KeyUsage({ id }: { id: string }) {
  const loading = useLoad((signal) => call("GET keys/{id}/usage", { id }, signal), [id]);
  return (
    <Loaded from={loading}>
      {({ to, usage }) =>
        usage.length === 0 ? (
          <p class="empty faint">No lookups in the last {DAYS} days.</p>
        ) : (
          <div class="pair even">
            <BarCharts
              charts={CHARTS}
              points={lastDays(DAYS, to).map((at) => ({ at, usage: usage.find((one) => one.at === at) }))}
              formatTime={(at) => at.slice(5)}
            />
          </div>
        )
      }
    </Loaded>
  );
}
