// webhook-tables.ts: generates the tables of events, payloads and waits in docs/webhooks.md.

import { WEBHOOK_EVENT_NAMES, WEBHOOK_EVENT_ROWS, WEBHOOK_WAITS_SECONDS } from "@inkling/contract";
import { code, type GeneratedSection, tableOn } from "./generated.ts";

const PAGE = "docs/webhooks.md";

export function webhookTables(): GeneratedSection[] {
  const events = WEBHOOK_EVENT_NAMES.map((name) => [code(name), WEBHOOK_EVENT_ROWS[name].when]);
  const fields = WEBHOOK_EVENT_NAMES.flatMap((name) =>
    Object.entries(WEBHOOK_EVENT_ROWS[name].data).map(([field, { docs = "" }]) => [
      code(name),
      code(field),
      docs,
    ]),
  );
  return [
    tableOn(PAGE, "webhook-events", ["event", "sent when"], events),
    tableOn(PAGE, "webhook-data", ["event", "in `data`", "meaning"], fields),
    { path: PAGE, section: "webhook-waits", content: waits() },
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
