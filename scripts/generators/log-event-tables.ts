// log-event-tables.ts: generates the tables of log events in docs/log-events.md.

import { LOG_EVENTS, type LogEventRow } from "@inkling/contract";
import { type GeneratedSection, markdownTable } from "./generated.ts";

export function logEventTables(): GeneratedSection[] {
  const rows: [string, LogEventRow][] = Object.entries(LOG_EVENTS);
  return (["updates", "releases", "server"] as const).map((subject) => {
    const lines = rows
      .filter(([, { about }]) => about === subject)
      .map(([name, { levels, help }]) => [`\`${name}\``, levels.join(", "), help]);
    const content = markdownTable(["log event", "level", "meaning"], lines);
    return { path: "docs/log-events.md", section: `log events: ${subject}`, content };
  });
}
