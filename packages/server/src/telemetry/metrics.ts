// metrics.ts: formats /metrics in Prometheus' text format, from numbers that are read at scrape time.
//
// Source: https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4.

import { METRICS, type MetricRow } from "@inkling/contract";
import { METRIC_BOUNDS } from "@inkling/store/traffic-counts";
import { type MetricReader, type MetricsSource, READERS } from "./metric-readers.ts";

export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

type Labels = Readonly<Record<string, string | number>>;

const HISTOGRAM = "inkling_http_request_duration_seconds";

/** Returns the current values of all metrics. */
export function metricsText(source: MetricsSource): string {
  const readers: Readonly<Record<string, MetricReader | undefined>> = READERS;
  const rows: [string, MetricRow][] = Object.entries(METRICS);
  const blocks = rows.map(([name, { type, help }]) => {
    const read = readers[name];
    return block(name, type, help, read === undefined ? latencySamples(source) : samples(name, read(source)));
  });
  return `${blocks.join("\n\n")}\n`;
}

function samples(name: string, read: ReturnType<MetricReader>): string[] {
  if (read === undefined) return [];
  if (typeof read === "number") return [sample(name, {}, read)];
  return Array.from(read, ([labels, value]) => sample(name, labels, value));
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

/** Formats the latency histogram: the number of requests up to each bound, the total duration, and the total number. */
function latencySamples({ counts }: Pick<MetricsSource, "counts">): string[] {
  const name = HISTOGRAM;
  return Array.from(counts.latencyRows()).flatMap(({ route, upTo, count, seconds }) => [
    ...METRIC_BOUNDS.map((bound, i) => sample(`${name}_bucket`, { le: String(bound), route }, upTo[i]!)),
    sample(`${name}_bucket`, { le: "+Inf", route }, count),
    sample(`${name}_sum`, { route }, seconds),
    sample(`${name}_count`, { route }, count),
  ]);
}
