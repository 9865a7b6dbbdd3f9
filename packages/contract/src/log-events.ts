// log-events.ts: every log event except access lines, with its levels and its meaning.
//
// `npm run generate` lists the events in docs/log-events.md. The log accepts no other names
// (server/src/telemetry/log.ts).

import { DATA_EVENTS } from "./data-events.ts";
import { SERVER_EVENTS } from "./server-events.ts";

export const LOG_EVENTS = { ...DATA_EVENTS, ...SERVER_EVENTS };

type Rows = typeof LOG_EVENTS;
/** The events that may have this level. */
export type LogEvent<Level extends "error" | "info" = "error" | "info"> = {
  [Name in keyof Rows]: Level extends Rows[Name]["levels"][number] ? Name : never;
}[keyof Rows];
