// host-report.ts: what a server reports about itself in its PostgreSQL row, and the id that it has in its group.

import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { replaceFile } from "./atomic-file.ts";
import { DATA_FOLDER, makeFolder } from "./layout.ts";

/** A server without an answer for this many milliseconds counts as gone. */
export const GONE_MS = 600_000;
const MAX_TEXT = 200;
const MAX_TEXTS = 10;

const text = z
  .string()
  .min(1)
  .transform((all) => all.slice(0, MAX_TEXT).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\ufffd"));
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

/** Returns the id of this server among the hosts of its group. It is kept for as long as the data folder exists. */
export function serverId(dataDir: string): string {
  const path = join(dataDir, DATA_FOLDER.serverId);
  const found = existsSync(path) ? readFileSync(path, "utf8").trim() : "";
  if (/^[0-9a-f-]{36}$/.test(found)) return found;
  const made = randomUUID();
  makeFolder(dataDir);
  replaceFile(path, [`${made}\n`]);
  return made;
}
