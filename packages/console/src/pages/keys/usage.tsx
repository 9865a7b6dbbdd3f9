// usage.tsx: a key's lookups and refusals, by day or by hour.

import { sum } from "d3-array";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import type { Kind } from "../../components/basics.tsx";
import { BarChart } from "../../components/chart.tsx";
import { Select } from "../../components/form.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { Meter } from "../../components/meter.tsx";
import { formatCount, formatPercent } from "../../format.ts";
import { useLoad } from "../../hooks.ts";
import type { Refusals, Scope, Usage, UsagePoint } from "../../types.ts";

export const SCOPES: readonly (readonly [scope: Scope, name: string])[] = [
  ["geolocate", "Geolocate"],
  ["reputation", "Reputation"],
  ["email", "Email"],
];

const REFUSALS: readonly (readonly [reason: keyof Refusals, name: string])[] = [
  ["not_allowed", "Not allowed"],
  ["rate_limited", "Rate limit"],
  ["quota_exceeded", "Quota"],
];
const NONE: Refusals = { not_allowed: 0, rate_limited: 0, quota_exceeded: 0 };

export const countRefused = (refused: Refusals) => sum(REFUSALS, ([reason]) => refused[reason]);

const SERIES = [
  ...SCOPES.map(([scope, name]) => ({ name, of: (point: UsagePoint) => point[scope] })),
  { name: "Refused", of: (point: UsagePoint) => countRefused(point.refused) },
];

/** How each period is named, and how the times of its points are written. */
const PERIODS = {
  day: {
    title: "Lookups per day (UTC)",
    empty: "No lookups in the last 30 days.",
    stepMs: 86_400_000,
    suffix: "T00:00:00Z",
    formatTime: (at: string) => at.slice(5),
  },
  hour: {
    title: "Lookups per hour (UTC)",
    empty: "No lookups in the last 24 hours.",
    stepMs: 3_600_000,
    suffix: ":00:00Z",
    formatTime: (at: string) => `${at.slice(11)}:00`,
  },
};
type Period = keyof typeof PERIODS;

export function KeyUsage({ id }: { id: string }) {
  const [by, setBy] = useState<Period>("day");
  const loading = useLoad(
    async (signal) => ({ by, usage: await api<Usage>(`keys/${id}/usage?by=${by}`, { signal }) }),
    [id, by],
  );
  return (
    <>
      <p class="actions">
        <Select
          aria-label="Usage of the last"
          options={[
            ["day", "30 days"],
            ["hour", "24 hours"],
          ]}
          value={by}
          onChange={(event) => setBy(event.currentTarget.value as Period)}
        />
      </p>
      <Loaded from={loading}>{(loaded) => <UsageCharts {...loaded} />}</Loaded>
    </>
  );
}

function UsageCharts({ by, usage }: { by: Period; usage: Usage }) {
  const { title, empty, formatTime } = PERIODS[by];
  const points = fillGaps(by, usage);
  const served = sum(points, ({ total }) => total);
  const refused = sum(points, (point) => countRefused(point.refused));
  const all = served + refused;
  if (all === 0) return <p class="empty">{empty}</p>;
  return (
    <div class="usage">
      <BarChart title={title} points={points} series={SERIES} formatTime={formatTime} />
      <div>
        <h3>Served and refused</h3>
        <dl>
          <Share name="Served" n={served} of={all} kind="good" />
          {REFUSALS.map(([reason, name]) => (
            <Share key={reason} name={name} n={sum(points, (p) => p.refused[reason])} of={all} kind="bad" />
          ))}
        </dl>
        <h3>Lookups</h3>
        <dl>
          {SCOPES.map(([scope, name]) => (
            <Share key={scope} name={name} n={sum(points, (p) => p[scope])} of={served} kind="plain" />
          ))}
        </dl>
      </div>
    </div>
  );
}

interface ShareProps {
  readonly name: string;
  readonly n: number;
  readonly of: number;
  readonly kind: Kind;
}

/** A row of a list of shares; nothing for 0. */
function Share({ name, n, of, kind }: ShareProps) {
  if (n === 0) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <Meter part={n / of} text={`${formatCount(n)}, ${formatPercent(n / of)}`} kind={kind} />
      </dd>
    </>
  );
}

/** A point for each day or hour, also for those without lookups. */
function fillGaps(by: Period, { from, to, usage }: Usage): UsagePoint[] {
  const { stepMs, suffix } = PERIODS[by];
  const known = new Map(usage.map((point) => [point.at, point]));
  const points: UsagePoint[] = [];
  for (let time = Date.parse(from + suffix); time <= Date.parse(to + suffix); time += stepMs) {
    const at = new Date(time).toISOString().slice(0, from.length);
    points.push(known.get(at) ?? { at, geolocate: 0, reputation: 0, email: 0, total: 0, refused: NONE });
  }
  return points;
}
