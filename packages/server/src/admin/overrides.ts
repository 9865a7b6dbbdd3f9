// overrides.ts: overrides over the admin API.
//
// err  AdminProblem, OverrideInputError, OverrideConflictError, StoreError
// src  docs/overrides.md, docs/admin-api.md

import { OVERRIDE_FLAGS, OVERRIDE_KINDS } from "@inkling/engine";
import { z } from "zod";
import { AdminProblem, type AdminProblemCode } from "../http/problems.ts";
import { exportFile, parseOverrideFile } from "../overrides/file.ts";
import { newOverrideSchema, type OverrideContext, parseNewOverride } from "../overrides/override.ts";
import { overrideJson } from "../overrides/record.ts";
import { OVERRIDE_PAGES } from "../store/overrides.ts";
import { ADMIN_PATH, MAX_IMPORT_BYTES } from "./constants.ts";
import type { AdminContext } from "./context.ts";
import { type Operation, operation, rawBody } from "./operation.ts";
import { booleanQuery, count, nextCursor, pageQuery, text, time } from "./schemas.ts";

const members = {
  id: text,
  kind: z.enum(OVERRIDE_KINDS),
  value: text,
  flag: z.enum(OVERRIDE_FLAGS),
  verdict: z.boolean(),
  note: text,
  author: text,
  created_at: time,
  expires_at: time.nullable(),
  removed_at: time.nullable(),
};
export const overrideAnswer = z.strictObject(members).meta({ id: "Override" });
const overrideFile = z.looseObject({
  format: text,
  version: count,
  overrides: z.array(z.looseObject({})),
});
export const importAnswer = z.strictObject({
  added: count,
  changed: count,
  unchanged: count,
  expired: count,
});

const path = "overrides";
const tag = "Overrides";
const one = { path: "overrides/{id}", idPattern: "ovr_[0-9A-Za-z]{16}", tag } as const;
const CONFLICTS: readonly AdminProblemCode[] = [
  "OVERRIDE_CONTRADICTS",
  "OVERRIDES_FULL",
  "OVERRIDE_TOO_WIDE",
];

export const OVERRIDE_OPERATIONS: readonly Operation[] = [
  operation({
    id: "list_overrides",
    method: "GET",
    path,
    tag,
    summary: "Overrides in force, newest first",
    query: {
      ...pageQuery((cursor) => OVERRIDE_PAGES.isCursor(cursor)),
      ended: booleanQuery("Also those that have ended"),
    },
    answer: z.strictObject({ overrides: z.array(overrideAnswer), ...nextCursor }),
    run: async ({ overrides }, { query }) => {
      const page = await overrides.list(query, query.ended);
      return { document: { overrides: page.items.map(overrideJson), next_cursor: page.next ?? null } };
    },
  }),
  operation({
    id: "put_override",
    method: "POST",
    path,
    tag,
    summary: "Put an override in force",
    body: rawBody(newOverrideSchema),
    answer: z.strictObject({ ...members, outcome: z.enum(["added", "changed", "unchanged"]) }),
    status: 201,
    otherStatus: 200,
    headers: ["Location?"],
    codes: CONFLICTS,
    run: async (context, { body, by }) => {
      const wanted = parseNewOverride(body, parseContext(context, by.actor));
      const [write] = await context.overrides.put([wanted], by);
      await context.overrideCache.refresh();
      const { override, outcome } = write!; // one for each that was put
      const document = { ...overrideJson(override), outcome };
      if (outcome !== "added") return { status: 200, document };
      return { document, headers: { Location: `${ADMIN_PATH}overrides/${override.id}` } };
    },
  }),
  operation({
    id: "export_overrides",
    method: "GET",
    path: "overrides/export",
    tag,
    summary: "All overrides in force, as a file",
    answer: overrideFile,
    headers: ["Content-Disposition"],
    run: async ({ overrides, now }) => ({
      document: exportFile((await overrides.load()).overrides, now()),
      headers: { "Content-Disposition": 'attachment; filename="inkling-overrides.json"' },
    }),
  }),
  operation({
    id: "import_overrides",
    method: "POST",
    path: "overrides/import",
    tag,
    summary: "Put the overrides of a file in force: all, or none",
    query: { force: booleanQuery("Accept very wide networks") },
    body: rawBody(overrideFile, MAX_IMPORT_BYTES),
    answer: importAnswer,
    codes: CONFLICTS,
    run: async (context, { query, body, by }) => {
      const file = parseOverrideFile(body, parseContext(context, by.actor), query.force);
      const writes = await context.overrides.put(file.overrides, by);
      await context.overrideCache.refresh();
      const count = (outcome: string) => writes.filter((write) => write.outcome === outcome).length;
      return {
        document: {
          added: count("added"),
          changed: count("changed"),
          unchanged: count("unchanged"),
          expired: file.expired,
        },
      };
    },
  }),
  operation({
    ...one,
    id: "get_override",
    method: "GET",
    summary: "An override",
    answer: overrideAnswer,
    codes: ["OVERRIDE_NOT_FOUND"],
    run: async ({ overrides }, { id }) => {
      const override = await overrides.find(id);
      if (override === undefined) throw new AdminProblem("OVERRIDE_NOT_FOUND");
      return { document: overrideJson(override) };
    },
  }),
  operation({
    ...one,
    id: "remove_override",
    method: "DELETE",
    summary: "End an override",
    answer: overrideAnswer,
    codes: ["OVERRIDE_NOT_FOUND"],
    run: async ({ overrides, overrideCache }, { id, by }) => {
      const override = await overrides.remove(id, by);
      if (override === undefined) throw new AdminProblem("OVERRIDE_NOT_FOUND");
      await overrideCache.refresh();
      return { document: overrideJson(override) };
    },
  }),
];

function parseContext({ now }: AdminContext, author: string): OverrideContext {
  return { now: now(), author };
}
