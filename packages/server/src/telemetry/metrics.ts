// metrics.ts: /metrics in Prometheus' text format: collectors that read plain numbers at scrape time.
//
// in   a MetricsSource
// out  a registry; the table of docs/metrics.md

import { Counter, Gauge, type Metric, Registry } from "@prometheus-io/client";
import { LATENCY_BOUNDS } from "./counts.ts";
import { DEFINITIONS, type MetricsSource } from "./metric-definitions.ts";

const isCounter = (name: string) => name.endsWith("_total");

const LATENCY = {
  name: "inkling_http_request_duration_seconds",
  help: "From request read to response made, without the network, by route.",
} as const;

/** A registry whose metrics are read from `source` at each scrape. */
export function metricsRegistry(source: MetricsSource): Registry {
  const registry = new Registry();
  for (const [name, { help, labels, rows }] of Object.entries(DEFINITIONS)) {
    const shape = { name, help, labelNames: labels, registers: [registry] };
    if (isCounter(name)) {
      new Counter({
        ...shape,
        collect() {
          this.reset();
          for (const [labels, value] of rows(source)) this.inc(labels, value);
        },
      });
    } else {
      new Gauge({
        ...shape,
        collect() {
          this.reset();
          if (labels.length === 0) this.remove(); // `reset` sets it to 0, and unknown is not 0
          for (const [labels, value] of rows(source)) this.set(labels, value);
        },
      });
    }
  }
  registry.registerMetric(latencyHistogram(source) as unknown as Metric);
  return registry;
}

/** The library's Histogram takes single observations only; its registry takes any object with `get`. */
function latencyHistogram(source: Pick<MetricsSource, "counts">) {
  const { name, help } = LATENCY;
  const sample = (suffix: string, labels: Readonly<Record<string, string>>, value: number) => ({
    metricName: name + suffix,
    labels,
    value,
  });
  const get = async () => ({
    name,
    help,
    type: "histogram",
    aggregator: "sum",
    values: Array.from(source.counts.latencyRows()).flatMap(({ route, upTo, count, seconds }) => [
      ...LATENCY_BOUNDS.map((bound, i) => sample("_bucket", { le: String(bound), route }, upTo[i]!)), // a count for each bound
      sample("_bucket", { le: "+Inf", route }, count),
      sample("_sum", { route }, seconds),
      sample("_count", { route }, count),
    ]),
  });
  return { name, help, aggregator: "sum", get, reset() {} };
}

/** The table of docs/metrics.md. */
export function metricsTable(): string {
  const definitions = Object.entries(DEFINITIONS).map(
    ([name, { help, labels }]) => [name, isCounter(name) ? "counter" : "gauge", labels, help] as const,
  );
  const rows = [...definitions, [LATENCY.name, "histogram", ["route"], LATENCY.help] as const];
  return [
    "| metric | type | labels | meaning |",
    "|---|---|---|---|",
    ...rows.map(([name, type, labels, help]) => `| \`${name}\` | ${type} | ${labels.join(", ")} | ${help} |`),
  ].join("\n");
}
