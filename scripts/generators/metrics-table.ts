// metrics-table.ts: generates the table in docs/metrics.md from the rows of the metrics.

import { METRICS, type MetricRow } from "@inkling/contract";
import { type GeneratedSection, markdownTable } from "./generated.ts";

export function metricsTable(): GeneratedSection[] {
  const rows: [string, MetricRow][] = Object.entries(METRICS);
  const lines = rows.map(([name, { type, labels, help }]) => [`\`${name}\``, type, labels.join(", "), help]);
  const content = markdownTable(["metric", "type", "labels", "meaning"], lines);
  return [{ path: "docs/metrics.md", section: "metrics", content }];
}
