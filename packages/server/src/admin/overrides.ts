// overrides.ts: overrides and the audit trail over the admin API.
//
// src  docs/overrides.md, docs/admin-api.md

import { exportFile, readFile } from "../overrides/file.ts";
import { type OverrideContext, parseNewOverride } from "../overrides/override.ts";
import { overrideJson } from "../overrides/record.ts";
import { auditJson, isAuditCursor } from "../store/audit.ts";
import { OVERRIDE_PAGES } from "../store/overrides.ts";
import type { AdminServer } from "./app.ts";
import {
  ADMIN_PATH,
  type AdminRoute,
  ANY,
  BOOLEAN,
  type Call,
  LIMIT,
  MAX_IMPORT_BYTES,
  type Reply,
  readPage,
} from "./call.ts";
import { AdminProblem } from "./problems.ts";

export const OVERRIDE_ROUTES: readonly AdminRoute<AdminServer>[] = [
  {
    template: "/admin/v1/overrides",
    path: /^overrides$/,
    methods: {
      GET: { id: "list_overrides", parameters: { limit: LIMIT, cursor: ANY, ended: BOOLEAN }, run: list },
      POST: { id: "put_override", run: create },
    },
  },
  {
    template: "/admin/v1/overrides/export",
    path: /^overrides\/export$/,
    methods: { GET: { id: "export_overrides", run: exported } },
  },
  {
    template: "/admin/v1/overrides/import",
    path: /^overrides\/import$/,
    methods: { POST: { id: "import_overrides", parameters: { force: BOOLEAN }, run: imported } },
  },
  {
    template: "/admin/v1/overrides/{id}",
    path: /^overrides\/(ovr_[0-9A-Za-z]{16})$/,
    methods: {
      GET: { id: "get_override", run: find },
      DELETE: { id: "remove_override", run: remove },
    },
  },
  {
    template: "/admin/v1/audit",
    path: /^audit$/,
    methods: { GET: { id: "audit", parameters: { limit: LIMIT, cursor: ANY }, run: audit } },
  },
];

async function list({ overrides }: AdminServer, { query }: Call): Promise<Reply> {
  const page = await overrides.list(
    readPage(query, (text) => OVERRIDE_PAGES.isCursor(text)),
    query.get("ended") === "true",
  );
  return {
    status: 200,
    document: { overrides: page.items.map(overrideJson), next_cursor: page.next ?? null },
  };
}

async function create(server: AdminServer, { json, actor }: Call): Promise<Reply> {
  const wanted = parseNewOverride(await json(), contextOf(server, actor));
  const [write] = await server.overrides.put([wanted], actor);
  await server.book.refresh();
  const { override, outcome } = write!;
  const isNew = outcome === "added";
  return {
    status: isNew ? 201 : 200,
    document: { ...overrideJson(override), outcome },
    ...(isNew ? { headers: { Location: `${ADMIN_PATH}overrides/${override.id}` } } : {}),
  };
}

async function find({ overrides }: AdminServer, { id }: Call): Promise<Reply> {
  const override = await overrides.find(id);
  if (override === undefined) throw new AdminProblem("OVERRIDE_NOT_FOUND");
  return { status: 200, document: overrideJson(override) };
}

async function remove({ overrides, book }: AdminServer, { id, actor }: Call): Promise<Reply> {
  const override = await overrides.remove(id, actor);
  if (override === undefined) throw new AdminProblem("OVERRIDE_NOT_FOUND");
  await book.refresh();
  return { status: 200, document: overrideJson(override) };
}

async function exported({ overrides, now }: AdminServer): Promise<Reply> {
  const { overrides: inForce } = await overrides.load();
  return {
    status: 200,
    document: exportFile(inForce, now()),
    headers: { "Content-Disposition": 'attachment; filename="inkling-overrides.json"' },
  };
}

async function imported(server: AdminServer, { query, json, actor }: Call): Promise<Reply> {
  const input = await json(MAX_IMPORT_BYTES);
  const file = readFile(input, contextOf(server, actor), query.get("force") === "true");
  const writes = await server.overrides.put(file.overrides, actor);
  await server.book.refresh();
  const count = (outcome: string) => writes.filter((write) => write.outcome === outcome).length;
  return {
    status: 200,
    document: {
      added: count("added"),
      changed: count("changed"),
      unchanged: count("unchanged"),
      expired: file.expired,
      warnings: file.warnings,
    },
  };
}

async function audit({ overrides }: AdminServer, { query }: Call): Promise<Reply> {
  const page = await overrides.audit(readPage(query, isAuditCursor));
  return { status: 200, document: { entries: page.items.map(auditJson), next_cursor: page.next ?? null } };
}

function contextOf({ now, feeds }: AdminServer, author: string): OverrideContext {
  return { now: now(), author, feeds: feeds() };
}
