// traffic.tsx: requests of the last hours: counts only.

import { useEffect, useState } from "preact/hooks";
import { api } from "../api.ts";
import { Card } from "../components/basics.tsx";
import { BarChart, LineChart } from "../components/chart.tsx";
import { Select } from "../components/form.tsx";
import { LazyMap } from "../components/lazy-map.tsx";
import { Loaded } from "../components/loaded.tsx";
import { Meter } from "../components/meter.tsx";
import { Table } from "../components/table.tsx";
import { countryName, FLAG_NAMES, flagName, formatCount, formatMilliseconds } from "../format.ts";
import { useLoad } from "../hooks.ts";
import type { CountryCount, Traffic, TrafficPoint } from "../types.ts";

const REFRESH_MS = 60_000;

const STATUSES = ["2xx", "3xx", "4xx", "5xx"].map((name) => ({
  name,
  of: ({ statuses }: TrafficPoint) => statuses[name] ?? 0,
}));
const LOOKUPS = [
  { name: "Geolocate", of: ({ lookups }: TrafficPoint) => lookups.geolocate ?? 0 },
  { name: "Reputation", of: ({ lookups }: TrafficPoint) => lookups.reputation ?? 0 },
  { name: "Email", of: ({ lookups }: TrafficPoint) => lookups.email ?? 0 },
];
const FLAGS_SET = [...FLAG_NAMES, "disposable"].map((flag) => ({
  name: flagName(flag),
  of: ({ flags_raised }: TrafficPoint) => flags_raised[flag] ?? 0,
}));
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
  const traffic = useLoad((signal) => api<Traffic>(`traffic?hours=${hours}`, { signal }), [hours]);
  useEffect(() => {
    const timer = setInterval(traffic.reload, REFRESH_MS);
    return () => clearInterval(timer);
  }, [traffic.reload]);
  return (
    <>
      <p class="actions">
        <Select
          aria-label="Period"
          options={PERIODS}
          value={hours}
          onChange={(event) => setHours(event.currentTarget.value)}
        />
        <span class="faint">
          Counted per minute, kept in memory for a day. No address or email address is stored.
        </span>
      </p>
      <Loaded from={traffic}>{(loaded) => <Charts traffic={loaded} />}</Loaded>
    </>
  );
}

function Charts({ traffic: { series, total } }: { traffic: Traffic }) {
  if (series.length === 0)
    return (
      <Card>
        <p class="empty">No data yet: the first minute since the start is not over.</p>
      </Card>
    );
  const chart = { points: series, formatTime: timeOfDay };
  return (
    <>
      <dl class="numbers">
        <Figure name="Requests" value={formatCount(total.requests)} />
        <Figure name="Errors (5xx)" value={formatCount(total.statuses["5xx"] ?? 0)} />
        <Figure name="Median latency" value={formatMilliseconds(total.latency_seconds.p50)} />
        <Figure name="99th percentile" value={formatMilliseconds(total.latency_seconds.p99)} />
      </dl>
      <div class="pair">
        <Card>
          <BarChart title="Requests by status" series={STATUSES} {...chart} />
        </Card>
        <Card>
          <LineChart title="Latency" series={LATENCIES} formatValue={formatMilliseconds} {...chart} />
        </Card>
        <Card>
          <BarChart title="Lookups" series={LOOKUPS} {...chart} />
        </Card>
        <Card>
          <BarChart title="Flags set" series={FLAGS_SET} {...chart} />
        </Card>
        {total.countries.length > 0 && (
          <Card isWide title="Countries looked up">
            <LazyMap>
              {({ CountryMap }) => <CountryMap title="Single lookups by country" counts={total.countries} />}
            </LazyMap>
          </Card>
        )}
        <TopCountries counts={total.countries} />
        <Problems counts={total.problems} />
      </div>
    </>
  );
}

const Figure = ({ name, value }: { name: string; value: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
);

function TopCountries({ counts }: { counts: readonly CountryCount[] }) {
  const most = Math.max(1, ...counts.map(({ count }) => count));
  return (
    <Card title="Top countries">
      <Table
        caption="Countries"
        rows={counts.slice(0, 10)}
        rowKey={({ iso_code }) => iso_code}
        columns={[
          { name: "Country", cell: ({ iso_code }) => countryName(iso_code) },
          {
            name: "Single lookups",
            cell: ({ count }) => <Meter part={count / most} text={formatCount(count)} kind="plain" />,
          },
        ]}
        empty="None yet."
      />
    </Card>
  );
}

const Problems = ({ counts }: { counts: Readonly<Record<string, number>> }) => (
  <Card title="Refused requests">
    <Table
      caption="Refused requests"
      rows={Object.entries(counts).sort(([, a], [, b]) => b - a)}
      rowKey={([code]) => code}
      columns={[
        { name: "Code", cell: ([code]) => <code>{code}</code> },
        { name: "Requests", isNumber: true, cell: ([, n]) => formatCount(n) },
      ]}
      empty="None."
    />
  </Card>
);
