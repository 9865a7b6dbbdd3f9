// hosts.ts: lists a group's hosts for operators, with each host's own report and its last contact.
//
// in   the rows that hosts write with each exchange; the database's clock
// out  one ListedHost per host, without hosts that are gone (GONE_MS); none with SQLite
// err  StoreError

import { GONE_MS, type HostReport, readHostReport } from "@inkling/release-store";
import type { Tables } from "@inkling/store/tables";
import { CLOCK, type HostId } from "./group-tables.ts";

/** Milliseconds without contact after which a host counts as silent. A host without traffic writes every 10 s. */
export const HOST_SILENT_MS = 30_000;

/** "unknown" means that the host runs an earlier version, which does not report its readiness. */
export const HOST_STATES = ["ready", "not-ready", "silent", "unknown"] as const;

export interface ListedHost {
  readonly id: HostId;
  readonly state: (typeof HOST_STATES)[number];
  /** Epoch ms by the database's clock. */
  readonly contactAt: number;
  /** Milliseconds since the last contact. */
  readonly ageMs: number;
  readonly report: HostReport | undefined;
}

/** Lists the hosts of the group, sorted by name. */
export async function listHosts(tables: Tables): Promise<ListedHost[]> {
  if (!tables.isShared) return [];
  const rows: { id: string; contact_at: string; report: string | null; now: string }[] = await tables.read(
    (sql) => sql`SELECT id, contact_at, report, ${sql.unsafe(CLOCK)} AS now FROM inkling_hosts`,
  );
  return rows
    .map(({ id, contact_at, report, now }) =>
      listed(id, Number(contact_at), Number(now), readHostReport(report)),
    )
    .filter(({ ageMs }) => ageMs <= GONE_MS)
    .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

export function listed(
  id: HostId,
  contactAt: number,
  now: number,
  report: HostReport | undefined,
): ListedHost {
  const ageMs = Math.max(0, now - contactAt);
  const state =
    ageMs > HOST_SILENT_MS ? "silent" : !report ? "unknown" : report.ready ? "ready" : "not-ready";
  return { id, state, contactAt, ageMs, report };
}

const nameOf = ({ id, report }: ListedHost) => report?.name ?? id;

/** Returns the JSON form for the admin API and `inkling hosts --json`. */
export function hostJson({ id, state, contactAt, ageMs, report }: ListedHost) {
  const created = report?.release?.created_at;
  const age = created === undefined ? undefined : (contactAt + ageMs - Date.parse(created)) / 1_000;
  return {
    id,
    name: report?.name ?? id,
    state,
    reasons: report?.reasons ?? [],
    warnings: report?.warnings ?? [],
    version: report?.version ?? null,
    release: report?.release
      ? { ...report.release, pinned: report.pinned, age_seconds: Math.round(age!) }
      : null,
    channel: report?.channel ?? null,
    requests_per_second: report?.requests_per_second ?? null,
    clock_offset_seconds: report?.clock_offset_seconds ?? null,
    last_contact: new Date(contactAt).toISOString(),
    silent_seconds: Math.round(ageMs / 1_000),
  };
}
