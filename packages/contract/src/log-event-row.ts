// log-event-row.ts: the shape of a row that describes a log event.

export interface LogEventRow {
  /** The table of docs/log-events.md that lists the event. */
  readonly about: "updates" | "releases" | "server";
  readonly levels: readonly ("error" | "info")[];
  /** Markdown that explains what happened and what to do. */
  readonly help: string;
}
