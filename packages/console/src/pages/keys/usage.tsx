// usage.tsx: shows a key's lookups and refusals, by day or by hour.

import { REPUTATION_FLAGS, recordOf, SCOPES as SCOPE_NAMES } from "@inkling/contract";
import type { Refusals, Usage, UsagePoint } from "@inkling/server/admin-answers";
import { sum } from "d3-array";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Definitions } from "../../components/basics.tsx";
import { BarChart, Meter, type MeterColor } from "../../components/chart.tsx";
import { Select } from "../../components/form.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { countryName, flagName, formatCount, formatPercent } from "../../format.ts";
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
/** Number of countries to show. The countries with the most locations come first. */
const MAX_COUNTRIES = 8;

const SERIES = [
  ...SCOPES.map(([scope, name]) => ({ name, of: (point: UsagePoint) => point[scope] })),
  { name: "Refused", of: (point: UsagePoint) => countRefused(point.refused) },
];

const formatDay = (at: string) => at.slice(5);
const formatHour = (at: string) => `${at.slice(11)}:00`;
/** Each period's name, its steps, and the format of its times. */
const PERIODS = {
  day: { last: "30 days", stepMs: 86_400_000, suffix: "T00:00:00Z", format: formatDay },
  hour: { last: "24 hours", stepMs: 3_600_000, suffix: ":00:00Z", format: formatHour },
};
type Period = keyof typeof PERIODS;
const OPTIONS = Object.entries(PERIODS).map(([by, { last }]) => [by, last] as const);

export function KeyUsage({ id }: { id: string }) {
  const [by, setBy] = useState<Period>("day");
  const load = (signal: AbortSignal) => api<Usage>(`keys/${id}/usage?by=${by}`, { signal });
  const loading = useLoad(async (signal) => ({ by, usage: await load(signal) }), [id, by]);
  const choose = (value: string) => setBy(value as Period); // the options are the keys of PERIODS
  return (
    <>
      <p class="actions">
        <Select aria-label="Usage of the last" options={OPTIONS} value={by} onChoose={choose} />
      </p>
      <Loaded from={loading}>{(loaded) => <UsageCharts {...loaded} />}</Loaded>
    </>
  );
}

/** A row for a share of a whole. A row for 0 has no content, so it is omitted. */
function shareOf(name: string, n: number, whole: number, color: MeterColor) {
  const text = `${formatCount(n)}, ${formatPercent(n / whole)}`;
  return [name, n > 0 && <Meter part={n / whole} text={text} color={color} />] as const;
}

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

function UsageCharts({ by, usage }: { by: Period; usage: Usage }) {
  const { last, format } = PERIODS[by];
  const points = fillGaps(by, usage);
  const total = (of: (point: UsagePoint) => number) => sum(points, of);
  const served = total((point) => point.total);
  const all = served + total(({ refused }) => countRefused(refused));
  if (all === 0) return <p class="empty faint">No lookups in the last {last}.</p>;
  const refusals = REFUSALS.map(([id, name]) => [name, total(({ refused }) => refused[id])] as const);
  const lookups = SCOPES.map(([scope, name]) => [name, total((point) => point[scope])] as const);
  const countries = Object.entries(usage.countries).sort(([, a], [, b]) => b - a);
  const batched = total(({ batch }) => sum(SCOPES, ([scope]) => batch[scope]));
  return (
    <div class="usage">
      <BarChart title={`Lookups per ${by} (UTC)`} points={points} series={SERIES} formatTime={format} />
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
      {countries.length > 0 && (
        <div>
          <Shares
            title="Countries"
            rows={countries.slice(0, MAX_COUNTRIES).map(([code, n]) =>
              shareOf(
                countryName(code),
                n,
                sum(countries, ([, all]) => all),
                "series-0",
              ),
            )}
          />
          <MoreCountries count={countries.length - MAX_COUNTRIES} />
        </div>
      )}
    </div>
  );
}

/** @param count the number of countries that are not shown */
export const MoreCountries = ({ count }: { count: number }) =>
  count > 0 && <p class="faint">{`and ${count} more ${count === 1 ? "country" : "countries"}`}</p>;

const NO_LOOKUPS = recordOf(SCOPE_NAMES, () => 0);
const NONE = {
  ...NO_LOOKUPS,
  batch: NO_LOOKUPS,
  refused: { not_allowed: 0, rate_limited: 0, quota_exceeded: 0 },
  flagged: recordOf(FLAGS, () => 0),
  total: 0,
};

/** Returns a point for each day or hour, including those without lookups. */
function fillGaps(by: Period, { from, to, usage }: Usage): UsagePoint[] {
  const { stepMs, suffix } = PERIODS[by];
  const known = new Map(usage.map((point) => [point.at, point]));
  const points: UsagePoint[] = [];
  for (let time = Date.parse(from + suffix); time <= Date.parse(to + suffix); time += stepMs) {
    const at = new Date(time).toISOString().slice(0, from.length);
    points.push(known.get(at) ?? { at, ...NONE });
  }
  return points;
}
