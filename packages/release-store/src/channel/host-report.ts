// host-report.ts: defines what a server reports about itself, in its PostgreSQL row or in a file next to the channel.
//
// in   text that another host wrote, with any content
// out  HostReport, whose texts are short and have no control characters, because operators read them in terminals
// err  ChannelError of the store
//
// A report can only stop a promotion. A file counts only for the server whose id is the file's name. Credentials that
// may only write that file therefore cannot forge other reports. docs/threat-model.md describes the remaining risks.

import { z } from "zod";
import { ChannelError } from "./channel-error.ts";
import { type ObjectStore, readText } from "./object-store.ts";

/**
 * A server without a report or an answer for this many milliseconds counts as gone. A roll-out ignores it, and the
 * other servers receive its share of the limits.
 */
export const GONE_MS = 600_000;
const MAX_TEXT = 200;
const MAX_TEXTS = 10;
const MAX_REPORTS = 10_000;
const REPORT_LIMIT = 8 << 10;
const AT_ONCE = 16;
const ID = /^[0-9a-f-]{36}$/;

const text = z.string().transform((all) => all.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\ufffd").slice(0, MAX_TEXT));
const texts = z.array(text).transform((all) => all.slice(0, MAX_TEXTS));
const time = z.iso.datetime();

const hostReport = z.object({
  /** The id in the server's data folder, by which roll-outs select servers; null if the folder is not writable. */
  server_id: z.string().regex(ID).nullable(),
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

const folderOf = (channel: string) => `reports/${channel}/`;
const pathOf = (channel: string, serverId: string) => `${folderOf(channel)}${serverId}.json`;

export async function writeReport(
  store: ObjectStore,
  channel: string,
  report: HostReport & { readonly server_id: string },
  signal: AbortSignal,
): Promise<void> {
  await store.write(pathOf(channel, report.server_id), `${JSON.stringify(report, null, 2)}\n`, signal);
}

export const removeReport = (store: ObjectStore, channel: string, serverId: string, signal: AbortSignal) =>
  store.remove(pathOf(channel, serverId), signal);

/**
 * Reads the reports next to a channel.
 * @param oldest epoch ms; older reports are from servers that are gone, and are removed
 */
export async function readReports(
  store: ObjectStore,
  channel: string,
  oldest: number,
  signal: AbortSignal,
): Promise<HostReport[]> {
  const folder = folderOf(channel);
  const listed = await store.list(folder, signal);
  const ids = listed.map((path) => path.slice(folder.length, -".json".length)).filter((id) => ID.test(id));
  if (ids.length > MAX_REPORTS) {
    throw new ChannelError(
      "wrong-object",
      `${folder} has ${ids.length} reports, but the maximum is ${MAX_REPORTS}`,
      "find out who writes there, and remove the reports of hosts that no longer exist",
    );
  }
  const found: HostReport[] = [];
  const look = async (id: string) => {
    const json = await readText(store, pathOf(channel, id), REPORT_LIMIT, signal).catch((error) => {
      if (error instanceof ChannelError && error.fault === "wrong-object") return undefined; // the file is too long
      throw error;
    });
    const report = readHostReport(json ?? null);
    if (report?.server_id !== id) return; // this is not a report, or it is the report of another server
    if (Date.parse(report.at) >= oldest) found.push(report);
    else await store.remove(pathOf(channel, id), signal);
  };
  for (let at = 0; at < ids.length; at += AT_ONCE) await Promise.all(ids.slice(at, at + AT_ONCE).map(look));
  return found;
}
