// host-report.ts: what a server reports of itself: in its row of PostgreSQL, or in a file beside the channel.
//
// in   what other hosts wrote, which may be anything
// out  HostReport, with texts that are short and have no control characters: operators read them in terminals
// err  ChannelError of the store
//
// Reports only ever stop a promotion, and a file counts only for the server whose id is its name: credentials that may
// write that one name can forge nothing else. docs/threat-model.md has what remains.

import { z } from "zod";
import { ChannelError } from "./channel-error.ts";
import { type ObjectStore, readText } from "./object-store.ts";

/**
 * After so long without a report or an answer a server is gone: it counts for nothing in a roll-out, and its share of
 * limits is given to the others.
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
  /** Of its data folder, which roll-outs go by; null where that may not be written. */
  server_id: z.string().regex(ID).nullable(),
  /** "web-1:8080" */
  name: text,
  version: text,
  /** By its own clock. */
  at: time,
  ready: z.boolean(),
  /** Why it is not ready; then what else is not as it should be. */
  reasons: texts,
  warnings: texts,
  /** The release that answers. */
  release: z.object({ name: text, created_at: time }).nullable(),
  /** Does an operator keep it there? */
  pinned: z.boolean(),
  /** One that it has found unsound. */
  refused: text.nullable(),
  /** What it has taken from its channel. */
  channel: z
    .object({ name: text, version: z.int().nullable(), release: text.nullable(), fault: text.nullable() })
    .nullable(),
  requests_per_second: z.number().nonnegative().nullable(),
  /** Keys of which it holds a share of rate or quota; null without a group. */
  leases: z.int().nonnegative().nullable(),
  /** Its clock less the database's. */
  clock_offset_seconds: z.number().nullable(),
});
export type HostReport = Readonly<z.infer<typeof hostReport>>;

/** @returns undefined for what is no report */
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

/** The reports beside a channel. @param oldest epoch ms: those from before are of servers that are gone, and removed */
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
      `${folder} has ${ids.length} reports, want at most ${MAX_REPORTS}`,
    );
  }
  const found: HostReport[] = [];
  const look = async (id: string) => {
    const json = await readText(store, pathOf(channel, id), REPORT_LIMIT, signal).catch((error) => {
      if (error instanceof ChannelError && error.fault === "wrong-object") return undefined; // too long
      throw error;
    });
    const report = readHostReport(json ?? null);
    if (report?.server_id !== id) return; // another's, written under this name, or none
    if (Date.parse(report.at) >= oldest) found.push(report);
    else await store.remove(pathOf(channel, id), signal);
  };
  for (let at = 0; at < ids.length; at += AT_ONCE) await Promise.all(ids.slice(at, at + AT_ONCE).map(look));
  return found;
}
