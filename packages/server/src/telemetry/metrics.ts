// metrics.ts: /metrics in Prometheus' text format, from plain numbers that are read at scrape time.
//
// in   a MetricsSource
// out  the text; the table of docs/metrics.md
// src  https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4

import { LATENCY_BOUNDS } from "./counts.ts";
import { DEFINITIONS, type MetricsSource } from "./metric-definitions.ts";

export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

type Labels = Readonly<Record<string, string | number>>;

const isCounter = (name: string) => name.endsWith("_total");

const LATENCY = {
  name: "inkling_http_request_duration_seconds",
  help: "From request read to response made, without the network, by route.",
} as const;

/** All metrics as `source` has them now. */
export function metricsText(source: MetricsSource): string {
  const blocks = Object.entries(DEFINITIONS).map(([name, { help, rows }]) =>
    block(
      name,
      isCounter(name) ? "counter" : "gauge",
      help,
      Array.from(rows(source), ([labels, value]) => sample(name, labels, value)),
    ),
  );
  const { name, help } = LATENCY;
  return `${[...blocks, block(name, "histogram", help, latencySamples(source))].join("\n\n")}\n`;
}

function block(name: string, type: string, help: string, samples: readonly string[]): string {
  const text = help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  return [`# HELP ${name} ${text}`, `# TYPE ${name} ${type}`, ...samples].join("\n");
}

function sample(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, of]) => `${label}="${escaped(String(of))}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${numberText(value)}`;
}

const escaped = (text: string) =>
  text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');

const numberText = (value: number) =>
  Number.isNaN(value) ? "NaN" : String(value).replace(/^(-?)Infinity$/, (_, sign) => `${sign || "+"}Inf`);

/** A count for each bound: of all requests up to it. */
function latencySamples({ counts }: Pick<MetricsSource, "counts">): string[] {
  const { name } = LATENCY;
  return Array.from(counts.latencyRows()).flatMap(({ route, upTo, count, seconds }) => [
    ...LATENCY_BOUNDS.map((bound, i) => sample(`${name}_bucket`, { le: String(bound), route }, upTo[i]!)),
    sample(`${name}_bucket`, { le: "+Inf", route }, count),
    sample(`${name}_sum`, { route }, seconds),
    sample(`${name}_count`, { route }, count),
  ]);
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
