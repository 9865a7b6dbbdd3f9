// traffic.tsx: requests of the last hours: counts only.

import { REPUTATION_FLAGS } from "@inkling/contract";
import type { CountryCount, Traffic, TrafficPoint } from "@inkling/server/admin-answers";
import { sum } from "d3-array";
import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { Card } from "../components/basics.tsx";
import { BarChart, LineChart, Meter } from "../components/chart.tsx";
import { Select } from "../components/form.tsx";
import { LazyMap, Loaded } from "../components/loaded.tsx";
import { Table, TableCard } from "../components/table.tsx";
import { countryName, flagName, formatCount, formatMilliseconds } from "../format.ts";
import { useLoad } from "../hooks.ts";
import { SCOPES } from "./keys/usage.tsx";

const REFRESH_MS = 60_000;

type Moment = Pick<TrafficPoint, "lookups" | "batch_lookups">;
type CountsOf = "statuses" | "lookups" | "flags_raised";
const seriesOf = (member: CountsOf, id: string, name = id) => ({
  name,
  of: (point: TrafficPoint) => point[member][id] ?? 0,
});
const STATUSES = ["2xx", "3xx", "4xx", "5xx"].map((status) => seriesOf("statuses", status));
const LOOKUPS = SCOPES.map(([scope, name]) => seriesOf("lookups", scope, name));
const countBatched = ({ batch_lookups }: Moment) => sum(Object.values(batch_lookups));
const countSingle = (moment: Moment) => sum(Object.values(moment.lookups)) - countBatched(moment);
const REQUESTS = [
  { name: "Single lookups", of: countSingle },
  { name: "Values of batches", of: countBatched },
];
const FLAGS_SET = [...REPUTATION_FLAGS, "disposable"].map((flag) =>
  seriesOf("flags_raised", flag, flagName(flag)),
);
const LATENCIES = (["p50", "p95", "p99"] as const).map((name) => ({
  name,
  of: ({ latency_seconds }: TrafficPoint) => latency_seconds[name],
}));

const PERIODS = [
  ["1", "last hour"],
  ["3", "last 3 hours"],
  ["6", "last 6 hours"],
  ["24", "last 24 hours"],
] as const;

const timeOfDay = (at: string) =>
  new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });

export function TrafficPage() {
  const [hours, setHours] = useState("3");
  const traffic = useLoad(
    (signal) => api<Traffic>(`traffic?hours=${hours}`, { signal }),
    [hours],
    REFRESH_MS,
  );
  return (
    <>
      <p class="actions">
        <Select aria-label="Period" options={PERIODS} value={hours} onChoose={setHours} />
        <span class="faint">
          Counted per minute, kept in memory for a day. No address or email address is stored.
        </span>
      </p>
      <Loaded from={traffic}>{(loaded) => <Charts traffic={loaded} />}</Loaded>
    </>
  );
}

/** Beyond the last bound of the histogram a percentile is null. */
const latencyOf = (seconds: number | null, lookups: number) =>
  seconds === null && lookups > 0 ? "over 500 ms" : formatMilliseconds(seconds);

function Charts({ traffic: { series: points, total } }: { traffic: Traffic }) {
  if (points.length === 0) return <Card>No data yet: the first minute since the start is not over.</Card>;
  const chart = { points, formatTime: timeOfDay };
  const numbers = [
    ["Requests", formatCount(total.requests)],
    ["Errors (5xx)", formatCount(total.statuses["5xx"] ?? 0)],
    ["Single lookups", formatCount(countSingle(total))],
    ["Values of batches", formatCount(countBatched(total))],
    ["Single lookup, median", latencyOf(total.latency_seconds.p50, countSingle(total))],
    ["Single lookup, 99th percentile", latencyOf(total.latency_seconds.p99, countSingle(total))],
  ];
  return (
    <>
      <dl class="numbers">
        {numbers.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <div class="pair">
        <Card>
          <BarChart title="Requests by status" series={STATUSES} {...chart} />
        </Card>
        <Card>
          <LineChart
            title="Latency of single lookups"
            series={LATENCIES}
            formatValue={formatMilliseconds}
            {...chart}
          />
        </Card>
        <Card>
          <BarChart title="Lookups by kind" series={LOOKUPS} {...chart} />
        </Card>
        <Card>
          <BarChart title="Lookups by request" series={REQUESTS} {...chart} />
        </Card>
        <Card>
          <BarChart title="Flags set" series={FLAGS_SET} {...chart} />
        </Card>
        <Problems counts={total.problems} />
        <Countries counts={total.countries} />
      </div>
    </>
  );
}

function Countries({ counts }: { counts: readonly CountryCount[] }) {
  const most = Math.max(1, ...counts.map(({ count }) => count));
  const meterOf = ({ count }: CountryCount) => (
    <Meter part={count / most} text={formatCount(count)} color="series-0" />
  );
  return (
    <Card isWide title="Countries looked up">
      {counts.length > 0 && (
        <LazyMap>{({ CountryMap }) => <CountryMap title="Lookups by country" counts={counts} />}</LazyMap>
      )}
      <Table
        caption="Top countries"
        rows={counts.slice(0, 10)}
        rowKey={({ iso_code }) => iso_code}
        columns={[
          ["Country", ({ iso_code }) => countryName(iso_code)],
          ["Lookups", meterOf],
        ]}
        empty="None yet."
      />
    </Card>
  );
}

const Problems = ({ counts }: { counts: Readonly<Record<string, number>> }) => (
  <TableCard
    caption="Refused requests"
    rows={Object.entries(counts).sort(([, a], [, b]) => b - a)}
    rowKey={([code]) => code}
    columns={[
      ["Code", ([code]) => <code>{code}</code>],
      ["Requests", ([, n]) => formatCount(n), "number"],
    ]}
    empty="None."
  />
);
