// usage.tsx: shows a key's lookups and refusals of the last 30 days.

import { REPUTATION_FLAGS, recordOf, SCOPES as SCOPE_NAMES } from "@inkling/contract";
import { sum } from "d3-array";
import type { Refusals, Usage, UsagePoint } from "../../answers.ts";
import { call } from "../../api.ts";
import { Definitions } from "../../components/basics.tsx";
import { BarChart, type MeterColor, PartMeter } from "../../components/chart.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { DAY_MS, flagName } from "../../format.ts";
import { useLoad } from "../../hooks.ts";

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

const FLAGS = [...REPUTATION_FLAGS, "disposable"] as const;

const SERIES = [
  ...SCOPES.map(([scope, name]) => ({ name, of: (point: UsagePoint) => point[scope] })),
  { name: "Refused", of: (point: UsagePoint) => countRefused(point.refused) },
];

const formatDay = (at: string) => at.slice(5);

export function KeyUsage({ id }: { id: string }) {
  const loading = useLoad((signal) => call("GET keys/{id}/usage", { id }, signal), [id]);
  return <Loaded from={loading}>{(usage) => <UsageCharts usage={usage} />}</Loaded>;
}

/** A row for a share of a whole. A row for 0 has no content, so it is omitted. */
const shareOf = (name: string, n: number, whole: number, color: MeterColor) =>
  [name, n > 0 && <PartMeter n={n} of={whole} color={color} />] as const;

interface SharesProps {
  readonly title: string;
  readonly rows: readonly ReturnType<typeof shareOf>[];
}

const Shares = ({ title, rows }: SharesProps) => (
  <div>
    <h3>{title}</h3>
    <Definitions rows={rows} />
    {rows.every(([, meter]) => !meter) && <p class="faint">None.</p>}
  </div>
);

function UsageCharts({ usage }: { usage: Usage }) {
  const points = fillGaps(usage);
  const total = (of: (point: UsagePoint) => number) => sum(points, of);
  const served = total((point) => point.total);
  const all = served + total(({ refused }) => countRefused(refused));
  if (all === 0) return <p class="empty faint">No lookups in the last 30 days.</p>;
  const refusals = REFUSALS.map(([id, name]) => [name, total(({ refused }) => refused[id])] as const);
  const lookups = SCOPES.map(([scope, name]) => [name, total((point) => point[scope])] as const);
  const batched = total(({ batch }) => sum(SCOPES, ([scope]) => batch[scope]));
  return (
    <div class="usage">
      <BarChart title="Lookups per day (UTC)" points={points} series={SERIES} formatTime={formatDay} />
      <Shares
        title="Served and refused"
        rows={[
          shareOf("Served", served, all, "good"),
          ...refusals.map(([name, n]) => shareOf(name, n, all, "bad")),
        ]}
      />
      <Shares title="Lookups" rows={lookups.map(([name, n]) => shareOf(name, n, served, "series-0"))} />
      <Shares
        title="Requests"
        rows={[
          shareOf("Single lookups", served - batched, served, "series-0"),
          shareOf("Values in batches", batched, served, "series-1"),
        ]}
      />
      <Shares
        title="Answers that set a flag"
        rows={FLAGS.map((flag) =>
          shareOf(
            flagName(flag),
            total(({ flagged }) => flagged[flag]),
            served,
            "bad",
          ),
        )}
      />
    </div>
  );
}

const NO_LOOKUPS = recordOf(SCOPE_NAMES, () => 0);
const NONE = {
  ...NO_LOOKUPS,
  batch: NO_LOOKUPS,
  refused: { not_allowed: 0, rate_limited: 0, quota_exceeded: 0 },
  flagged: recordOf(FLAGS, () => 0),
  total: 0,
};

/** Returns a point for each day, including those without lookups. */
function fillGaps({ from, to, usage }: Usage): UsagePoint[] {
  const known = new Map(usage.map((point) => [point.at, point]));
  const points: UsagePoint[] = [];
  for (let time = Date.parse(from); time <= Date.parse(to); time += DAY_MS) {
    const at = new Date(time).toISOString().slice(0, from.length);
    points.push(known.get(at) ?? { at, ...NONE });
  }
  return points;
}
