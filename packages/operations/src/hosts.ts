// hosts.ts: lists the hosts of a group, with each host's own report and its last contact.

import { GONE_MS, type HostReport, readHostReport } from "@inkling/data";
import type { Database } from "@inkling/store/database";
import { z } from "zod";
import { count, operation, type Resource, text, time } from "./operation.ts";
import { running } from "./problem.ts";

/** Milliseconds without contact after which a host counts as silent. A host without traffic writes every 10 s. */
const SILENT_MS = 30_000;

/** "unknown" means that the host runs an earlier version, which does not report its readiness. */
const HOST_STATES = ["ready", "not-ready", "silent", "unknown"] as const;

const host = z.strictObject({
  id: text,
  name: text.meta({ description: "Host and port" }),
  state: z.enum(HOST_STATES).meta({
    description:
      "silent: no contact for 30 seconds; unknown: the host runs an earlier version, which does not report its state",
  }),
  reasons: z.array(z.string()).meta({ description: "Why it is not ready" }),
  warnings: z.array(z.string()),
  version: text.nullable(),
  release: z
    .strictObject({ name: text, created_at: time, pinned: z.boolean(), age_seconds: z.int() })
    .nullable(),
  channel: z
    .strictObject({
      name: text,
      version: z.int().nullable(),
      release: text.nullable(),
      fault: text.nullable(),
    })
    .nullable()
    .meta({ description: "The channel version that the host applied last; null if it builds releases" }),
  requests_per_second: z.number().nullable().meta({ description: "Mean of the last 5 seconds" }),
  clock_offset_seconds: z
    .number()
    .nullable()
    .meta({ description: "The host's clock minus the database's; null with SQLite" }),
  last_contact: time.meta({ description: "According to the database's clock" }),
  silent_seconds: count,
});

export const HOSTS = {
  tag: "Watch",
  operations: {
    hosts: operation({
      route: "GET hosts",
      summary: "List the hosts that share a PostgreSQL database: release, load, readiness, last contact",
      docs: "[hosts of the group](several-hosts.md#hosts): state, version, release, channel, load, clock, last contact",
      input: {},
      output: z.strictObject({
        shared: z
          .boolean()
          .meta({ description: "True if other hosts can share the database; false with SQLite" }),
        hosts: z.array(host),
      }),
      command: {
        words: "hosts",
        notes: `A host that stops cleanly leaves the list immediately. A host that disappears leaves it after ten minutes.
CLOCK is the host's clock minus the database's.`,
        examples: [
          "INKLING_DATABASE_URL=postgres://inkling:…@db/inkling inkling hosts",
          "inkling hosts --json",
        ],
      },
      run: async ({ store: { database }, now, server }) => {
        if (database.isShared) return { shared: true, hosts: await listHosts(database) };
        const own = running(server).report(); // only a server has a report with SQLite
        return { shared: false, hosts: [hostJson(own.name, now(), now(), own)] };
      },
    }),
  },
} as const satisfies Resource;

type Host = z.output<typeof host>;

/** Lists the hosts of the group, sorted by name, without hosts that are gone (GONE_MS). */
export async function listHosts(database: Database): Promise<Host[]> {
  const rows: { id: string; contact_at: string; report: string | null; now: string }[] = await database.run(
    (sql) => sql`SELECT id, contact_at, report, ${database.clock(sql)} AS now FROM inkling_hosts`,
  );
  return rows
    .filter(({ contact_at, now }) => Number(now) - Number(contact_at) <= GONE_MS)
    .map(({ id, contact_at, report, now }) =>
      hostJson(id, Number(contact_at), Number(now), readHostReport(report)),
    )
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** @param contactAt epoch ms by the database's clock, as is `now` */
function hostJson(id: string, contactAt: number, now: number, report: HostReport | undefined): Host {
  const silentMs = Math.max(0, now - contactAt);
  const created = report?.release?.created_at;
  const age = created === undefined ? undefined : (contactAt + silentMs - Date.parse(created)) / 1_000;
  return {
    id,
    name: report?.name ?? id,
    state: silentMs > SILENT_MS ? "silent" : !report ? "unknown" : report.ready ? "ready" : "not-ready",
    reasons: [...(report?.reasons ?? [])],
    warnings: [...(report?.warnings ?? [])],
    version: report?.version ?? null,
    release: report?.release
      ? { ...report.release, pinned: report.pinned, age_seconds: Math.round(age!) }
      : null,
    channel: report?.channel ?? null,
    requests_per_second: report?.requests_per_second ?? null,
    clock_offset_seconds: report?.clock_offset_seconds ?? null,
    last_contact: new Date(contactAt).toISOString(),
    silent_seconds: Math.round(silentMs / 1_000),
  };
}
