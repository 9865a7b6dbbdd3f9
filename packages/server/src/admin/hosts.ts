// hosts.ts: the hosts of the group over the admin API; with SQLite this server alone.
//
// src  docs/admin-api.md

import { z } from "zod";
import { HOST_STATES, hostJson, listed, listHosts } from "../leases/hosts.ts";
import { type Operation, operation } from "./operation.ts";
import { count, text, time } from "./schemas.ts";

const host = z.strictObject({
  id: text,
  name: text.meta({ description: "Host and port" }),
  state: z.enum(HOST_STATES).meta({
    description: "silent: no contact for 10 seconds; unknown: an earlier version, which reports nothing",
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
    .meta({ description: "What it has taken last; null where releases are built" }),
  requests_per_second: z.number().nullable().meta({ description: "Of the last 5 seconds" }),
  leases: count.nullable().meta({ description: "Keys of which it holds a share; null with SQLite" }),
  clock_offset_seconds: z
    .number()
    .nullable()
    .meta({ description: "Its clock less the database's; null with SQLite" }),
  last_contact: time.meta({ description: "By the database's clock" }),
  silent_seconds: count,
});

export const hostsAnswer = z.strictObject({
  shared: z.boolean().meta({ description: "Can other hosts share the database? False with SQLite" }),
  hosts: z.array(host),
});

export const HOST_OPERATIONS: readonly Operation[] = [
  operation({
    id: "hosts",
    method: "GET",
    path: "hosts",
    tag: "Watch",
    summary: "The hosts of the group, by name; one that is gone for 10 minutes is left out",
    answer: hostsAnswer,
    run: async ({ store, report, now }) => {
      const shared = store.tables.isShared;
      const own = report();
      const hosts = shared ? await listHosts(store.tables) : [listed(own.name, now(), now(), own)];
      return { document: { shared, hosts: hosts.map(hostJson) } };
    },
  }),
];
