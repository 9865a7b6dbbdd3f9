// row-tables.ts: generates tables that show rows as they are: the faults of a channel, the pages of the console, log
// events, metrics, webhooks, shared entries of domain lists, and what tests have recorded (test/record-rows.ts).

import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  LOG_EVENTS,
  METRICS,
  type MetricRow,
  WEBHOOK_EVENT_NAMES,
  WEBHOOK_EVENT_ROWS,
  WEBHOOK_WAITS_SECONDS,
} from "@inkling/contract";
import { CHANNEL_FAULTS } from "@inkling/data/channel";
import { DOMAIN_SOURCES, shareOf } from "../../packages/compiler/src/catalog/domain-lineage.ts";
import { SHARED_ENTRIES } from "../../packages/compiler/src/catalog/shared-entries.ts";
import type { Drilled, Tried } from "../../test/harness/recorded-rows.ts";
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
  ...webhooks(),
  ...domainLists(),
  ...recorded(),
];

const WEBHOOKS = "docs/webhooks.md";

function webhooks(): GeneratedSection[] {
  const events = WEBHOOK_EVENT_NAMES.map((name) => [code(name), WEBHOOK_EVENT_ROWS[name].when]);
  const fields = WEBHOOK_EVENT_NAMES.flatMap((name) =>
    Object.entries(WEBHOOK_EVENT_ROWS[name].data).map(([field, { docs = "" }]) => [
      code(name),
      code(field),
      docs,
    ]),
  );
  return [
    tableOn(WEBHOOKS, "webhook-events", ["event", "sent when"], events),
    tableOn(WEBHOOKS, "webhook-data", ["event", "in `data`", "meaning"], fields),
    { path: WEBHOOKS, section: "webhook-waits", content: waits() },
  ];
}

function waits(): string {
  const texts = WEBHOOK_WAITS_SECONDS.map(durationText);
  return `The waits between attempts are ${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}: ${texts.length + 1} attempts over about ${Math.round(WEBHOOK_WAITS_SECONDS.reduce((sum, wait) => sum + wait, 0) / 3_600)} hours.`;
}

function durationText(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  return seconds < 3_600 ? `${seconds / 60} min` : `${seconds / 3_600} h`;
}

const DOMAIN_LISTS = "packages/compiler/domain-lists.md";

const percent = (list: string, other: string) => `${(100 * shareOf(list, other)).toFixed(1)}%`;

function domainLists(): GeneratedSection[] {
  const own = SHARED_ENTRIES.filter(([list, other]) => list === other);
  const lists = own.map(([list]) => list);
  const shares = own.map(([list, , entries]) => [
    code(list),
    entries.toLocaleString("en"),
    ...[...lists, ""].map((other) => (other === list ? "" : percent(list, other))),
  ]);
  const sources = DOMAIN_SOURCES.toSorted((a, b) => lists.indexOf(a.list) - lists.indexOf(b.list)).map(
    ({ list, source, why = "derived from the share" }) => [
      code(list),
      code(source),
      percent(source, list),
      why,
    ],
  );
  const head = ["list", "entries", ...lists.map((list) => `in ${code(list)}`), "on no other"];
  return [
    tableOn(DOMAIN_LISTS, "shared entries", head, shares),
    tableOn(DOMAIN_LISTS, "sources", ["list", "copies", "share of its entries", "why"], sources),
  ];
}

const rowsOf = <Row>(table: string): readonly Row[] =>
  JSON.parse(readFileSync(join(import.meta.dirname, `../../test/${table}.json`), "utf8"));

const testLink = (test: string) => `[${test.split("/").at(-1)}](../${test})`;

function recorded(): GeneratedSection[] {
  const software = rowsOf<Tried>("compatibility").map((row) => [
    row.software,
    row.version,
    row.tried,
    testLink(row.test),
  ]);
  const faults = rowsOf<Drilled>("faults").map((row) => [
    row.fault,
    row.meanwhile,
    row.remained,
    testLink(row.test),
  ]);
  return [
    tableOn(
      "docs/compatibility.md",
      "compatibility",
      ["software", "version", "what was tried", "test"],
      software,
    ),
    tableOn("docs/faults.md", "faults", ["fault", "served meanwhile", "what remained", "test"], faults),
  ];
}
