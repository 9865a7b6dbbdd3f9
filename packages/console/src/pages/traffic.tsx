// traffic.tsx: shows request counts and latencies for the last hours, or for up to 30 days.

import { keysOf, REPUTATION_FLAGS } from "@inkling/contract";
import { sum } from "d3-array";
import type { ComponentChildren } from "preact";
import type { CountryCount, Traffic, TrafficPoint } from "../answers.ts";
import { call } from "../api.ts";
import { Card } from "../components/basics.tsx";
import { BarChart, BarCharts, LineChart, Meter } from "../components/chart.tsx";
import { useFilters } from "../components/filters.tsx";
import { Select } from "../components/form.tsx";
import { LazyMap, Loaded } from "../components/loaded.tsx";
import { Table, TableCard } from "../components/table.tsx";
import { countryName, flagName, formatCount, formatMilliseconds } from "../format.ts";
import { type PageProps, useLoad } from "../hooks.ts";
import { SCOPES } from "./keys/usage.tsx";

const REFRESH_MS = 60_000;
/** Number of refusals to show at first, so that cards side by side are about the same height. */
const FIRST_PROBLEMS = 4;
/** Number of countries in the table. The map shows all countries. */
const MAX_COUNTRIES = 10;

type Moment = Pick<TrafficPoint, "lookups" | "batch_lookups">;
type CountsOf = "statuses" | "lookups" | "flags_raised";
const seriesOf = (field: CountsOf, id: string, name = id, color?: number) => ({
  name,
  ...(color !== undefined && { color }),
  of: (point: TrafficPoint) => point[field][id] ?? 0,
});
/** Colours: green, blue, orange, red. */
const STATUS_COLORS = { "2xx": 2, "3xx": 0, "4xx": 1, "5xx": 3 } as const;
const STATUSES = keysOf(STATUS_COLORS).map((status) =>
  seriesOf("statuses", status, status, STATUS_COLORS[status]),
);
const countBatched = ({ batch_lookups }: Moment) => sum(Object.values(batch_lookups));
const countSingle = (moment: Moment) => sum(Object.values(moment.lookups)) - countBatched(moment);
const CHARTS = [
  ["Requests by status", STATUSES],
  ["Lookups by kind", SCOPES.map(([scope, name]) => seriesOf("lookups", scope, name))],
  [
    "Lookups by request",
    [
      { name: "Single lookups", of: countSingle },
      { name: "Values in batches", of: countBatched },
    ],
  ],
  [
    "Flags set",
    [...REPUTATION_FLAGS, "disposable"].map((flag) => seriesOf("flags_raised", flag, flagName(flag))),
    true,
  ],
] as const;
const LATENCIES = (["p50", "p95", "p99"] as const).map((name) => ({
  name,
  of: ({ latency_seconds }: TrafficPoint) => latency_seconds[name],
}));

const timeOfDay = (at: string) =>
  new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
const dayAndTime = (at: string) => `${at.slice(5, 10)} ${at.slice(11, 16)}`;
const day = (at: string) => at.slice(5, 10);

/** Periods up to 6 hours show this host's counts by the minute. Longer periods come from the database. */
const PERIODS = {
  "1": { text: "last hour", step: {}, format: timeOfDay },
  "3": { text: "last 3 hours", step: {}, format: timeOfDay },
  "6": { text: "last 6 hours", step: {}, format: timeOfDay },
  "24": { text: "last 24 hours", step: { step: "60" }, format: timeOfDay },
  "168": { text: "last 7 days", step: { step: "60" }, format: dayAndTime },
  "720": { text: "last 30 days", step: { step: "1440" }, format: day },
} as const;
type Period = keyof typeof PERIODS;
const OPTIONS = keysOf(PERIODS).map((hours) => [hours, PERIODS[hours].text] as const);

export function TrafficPage({ rest }: PageProps) {
  const filters = useFilters(rest);
  const hours = keysOf(PERIODS).find((one) => one === filters.valueOf("hours")) ?? "24";
  const { step } = PERIODS[hours];
  const load = (signal: AbortSignal) => call("GET traffic", { hours, ...step }, signal);
  const traffic = useLoad(async (signal) => ({ hours, traffic: await load(signal) }), [hours], REFRESH_MS);
  return (
    <>
      <p class="actions">
        <Select
          aria-label="Period"
          options={OPTIONS}
          value={hours}
          onChoose={(value) => filters.set("hours", value)}
        />
        {traffic.data && <Source of={traffic.data.traffic} />}
      </p>
      <Loaded from={traffic}>{(loaded) => <Charts {...loaded} />}</Loaded>
    </>
  );
}

const Source = ({ of: { step_minutes, hosts } }: { of: Traffic }) => (
  <span class="faint">
    {step_minutes < 60
      ? "Counts of this host per minute since it started."
      : `Stored per hour for 30 days${hosts > 1 ? `; summed over ${hosts} hosts` : ""}.`}{" "}
    No address, email address or key is stored.
  </span>
);

/** The histogram ends here. */
const MAX_LATENCY_S = 5;
const formatLatency = (seconds: number | null) =>
  seconds !== null && seconds >= MAX_LATENCY_S ? `over ${MAX_LATENCY_S} s` : formatMilliseconds(seconds);

const numbersOf = (total: Traffic["total"]) => [
  ["Requests", formatCount(total.requests)] as const,
  ["Errors (5xx)", formatCount(total.statuses["5xx"] ?? 0)] as const,
  ["Single lookups", formatCount(countSingle(total))] as const,
  ["Values in batches", formatCount(countBatched(total))] as const,
  ["Single lookup, median", formatLatency(total.latency_seconds.p50)] as const,
  ["Single lookup, 99th percentile", formatLatency(total.latency_seconds.p99)] as const,
];

/** Numbers that are read at a glance, each with its name. */
export const Numbers = ({
  rows,
}: {
  rows: readonly (readonly [name: string, value: ComponentChildren])[];
}) => (
  <dl class="numbers">
    {rows.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

/** The traffic of the last hour on this host, with a link to the page. */
export function LastHour() {
  const traffic = useLoad((signal) => call("GET traffic", { hours: "1" }, signal), [], REFRESH_MS);
  return (
    <Card title={<a href="#/traffic?hours=1">This host's traffic of the last hour</a>}>
      <Loaded from={traffic}>
        {({ series, total }) =>
          total.requests === 0 ? (
            <p>No requests.</p>
          ) : (
            <>
              <Numbers rows={numbersOf(total).filter(([name]) => !name.startsWith("Values"))} />
              <BarChart title="Requests by status" series={STATUSES} points={series} formatTime={timeOfDay} />
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

function Charts({ hours, traffic: { series: points, total } }: { hours: Period; traffic: Traffic }) {
  if (points.length === 0) return <Card>No data yet. The first minute since the start has not passed.</Card>;
  const chart = { points, formatTime: PERIODS[hours].format };
  return (
    <>
      <Numbers rows={numbersOf(total)} />
      <div class="pair even">
        <BarCharts charts={CHARTS} {...chart} />
        <Card>
          <LineChart
            title="Latency of single lookups"
            series={LATENCIES}
            formatValue={formatLatency}
            {...chart}
          />
        </Card>
        <Problems counts={total.problems} />
        <Countries counts={total.countries} />
      </div>
    </>
  );
}

function Countries({ counts }: { counts: readonly CountryCount[] }) {
  const most = Math.max(1, ...counts.map(({ count }) => count));
  const hidden = counts.length - MAX_COUNTRIES;
  const meterOf = ({ count }: CountryCount) => (
    <Meter part={count / most} text={formatCount(count)} color="series-0" />
  );
  return (
    <Card class="wide" title="Countries looked up">
      {counts.length > 0 && (
        <LazyMap>{({ CountryMap }) => <CountryMap title="Lookups by country" counts={counts} />}</LazyMap>
      )}
      <Table
        caption="Top countries"
        rows={counts.slice(0, MAX_COUNTRIES)}
        rowKey={({ iso_code }) => iso_code}
        columns={[
          ["Country", ({ iso_code }) => countryName(iso_code)],
          ["Lookups", meterOf],
        ]}
        empty="None yet."
      />
      {hidden > 0 && <p class="faint">{`and ${hidden} more ${hidden === 1 ? "country" : "countries"}`}</p>}
    </Card>
  );
}

const Problems = ({ counts }: { counts: Readonly<Record<string, number>> }) => (
  <TableCard
    caption="Refused requests"
    first={FIRST_PROBLEMS}
    rows={Object.entries(counts).sort(([, a], [, b]) => b - a)}
    rowKey={([code]) => code}
    columns={[
      ["Code", ([code]) => <code>{code}</code>],
      ["Requests", ([, n]) => formatCount(n), "number"],
    ]}
    empty="None."
  />
);
