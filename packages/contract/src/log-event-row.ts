// log-event-row.ts: what is written down of an event of the log.

export interface LogEventRow {
  /** Which table of docs/log-events.md has it. */
  readonly about: "updates" | "releases" | "server";
  readonly levels: readonly ("error" | "info")[];
  /** Markdown: what happened, and what to do. */
  readonly help: string;
}
