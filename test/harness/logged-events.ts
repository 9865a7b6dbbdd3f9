// logged-events.ts: a log that keeps what it gets, for tests.

import type { EventLog } from "../../packages/contract/src/log-events.ts";

export interface LoggedEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** @param events gets the name and the fields of each event */
export function eventLog(events: LoggedEvent[]): EventLog {
  const keep = (type: string, fields: object = {}) => void events.push({ type, ...fields });
  return { info: keep, error: keep };
}
