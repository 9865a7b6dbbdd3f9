// row-tables.ts: generates tables that show rows as they are: the faults of a channel, the pages of the console, log
// events, and metrics.

import { LOG_EVENTS, METRICS, type MetricRow } from "@inkling/contract";
import { CHANNEL_FAULTS } from "@inkling/data/channel";
import { code, type GeneratedSection, tableOn } from "./generated.ts";

interface Page {
  readonly title: string;
  readonly content: string;
}

// Not a literal, so that the types of the console, which is for browsers, are not checked with those of the scripts.
const PAGES_FILE = "../../packages/console/src/pages.tsx";
const { PAGES }: { readonly PAGES: readonly Page[] } = await import(PAGES_FILE);

const sentence = (text: string) => `${text[0]!.toUpperCase()}${text.slice(1)}.`;

export const rowTables = (): GeneratedSection[] => [
  tableOn(
    "docs/several-hosts.md",
    "channel-faults",
    ["fault", "what happened", "what to do"],
    Object.entries(CHANNEL_FAULTS).map(([fault, { happened, fix }]) => [
      code(fault),
      sentence(happened),
      sentence(fix),
    ]),
  ),
  tableOn(
    "docs/console.md",
    "pages",
    ["page", "content"],
    PAGES.map(({ title, content }) => [title, content]),
  ),
  ...Object.entries(LOG_EVENTS).map(([subject, byLevel]) =>
    tableOn(
      "docs/log-events.md",
      `log events: ${subject}`,
      ["log event", "level", "meaning"],
      Object.entries<Readonly<Record<string, string>>>(byLevel).flatMap(([levels, events]) =>
        Object.entries(events).map(([name, help]) => [code(name), levels, help]),
      ),
    ),
  ),
  tableOn(
    "docs/metrics.md",
    "metrics",
    ["metric", "type", "labels", "meaning"],
    Object.entries<MetricRow>(METRICS).map(([name, { type, labels, help }]) => [
      code(name),
      type,
      labels.join(", "),
      help,
    ]),
  ),
];
