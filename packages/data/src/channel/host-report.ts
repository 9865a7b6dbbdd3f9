// host-report.ts: defines what a server reports about itself in its PostgreSQL row.

import { z } from "zod";

/** A server without an answer for this many milliseconds counts as gone. */
export const GONE_MS = 600_000;
const MAX_TEXT = 200;
const MAX_TEXTS = 10;

const text = z.string().transform((all) => all.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\ufffd").slice(0, MAX_TEXT));
const texts = z.array(text).transform((all) => all.slice(0, MAX_TEXTS));
const time = z.iso.datetime();

const hostReport = z.object({
  /** "web-1:8080" */
  name: text,
  version: text,
  /** The time of the report by the server's clock. */
  at: time,
  ready: z.boolean(),
  /** `reasons` explains why the server is not ready, and `warnings` lists other problems. */
  reasons: texts,
  warnings: texts,
  /** The release that the server is using. */
  release: z.object({ name: text, created_at: time }).nullable(),
  /** Has an operator pinned the release? */
  pinned: z.boolean(),
  /** A release that the server refuses because it is unsound. */
  refused: text.nullable(),
  /** The version and release that the server has taken from its channel. */
  channel: z
    .object({ name: text, version: z.int().nullable(), release: text.nullable(), fault: text.nullable() })
    .nullable(),
  requests_per_second: z.number().nonnegative().nullable(),
  /** The server's clock minus the database's clock, in seconds. */
  clock_offset_seconds: z.number().nullable(),
});
export type HostReport = Readonly<z.infer<typeof hostReport>>;

/** @returns undefined if the text is not a report */
export function readHostReport(json: string | null): HostReport | undefined {
  try {
    return hostReport.parse(JSON.parse(json ?? ""));
  } catch {
    return undefined;
  }
}
