// log-event-tables.ts: generates the tables of log events in docs/log-events.md.

import { LOG_EVENTS } from "@inkling/contract";
import { type GeneratedSection, markdownTable } from "./generated.ts";

export const logEventTables = (): GeneratedSection[] =>
  Object.entries(LOG_EVENTS).map(([subject, byLevel]) => {
    const lines = Object.entries<Readonly<Record<string, string>>>(byLevel).flatMap(([levels, events]) =>
      Object.entries(events).map(([name, help]) => [`\`${name}\``, levels, help]),
    );
    const content = markdownTable(["log event", "level", "meaning"], lines);
    return { path: "docs/log-events.md", section: `log events: ${subject}`, content };
  });
