// overrides.ts: lists, changes, imports and exports overrides over the admin API.
//
// err  AdminProblem, OverrideInputError, OverrideConflictError, StoreError
// src  docs/overrides.md, docs/admin-api.md

import { ADMIN_PATH } from "@inkling/contract";
import { OVERRIDE_FLAGS, OVERRIDE_KINDS } from "@inkling/engine";
import { OVERRIDE_PAGES } from "@inkling/store/overrides";
import { exportFile, parseOverrideFile } from "@inkling/store/overrides/file";
import { newOverrideSchema, type OverrideContext, parseNewOverride } from "@inkling/store/overrides/override";
import { overrideJson } from "@inkling/store/overrides/record";
import { z } from "zod";
import { AdminProblem } from "../http/problems.ts";
import {
  type AdminContext,
  type AdminHandlers,
  booleanQuery,
  count,
  handler,
  nextCursor,
  pageQuery,
  rawBody,
  text,
  time,
} from "./handler.ts";

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

export const OVERRIDE_HANDLERS = {
  list_overrides: handler({
    query: {
      ...pageQuery((cursor) => OVERRIDE_PAGES.isCursor(cursor)),
      ended: booleanQuery("Include removed and expired overrides"),
    },
    answer: z.strictObject({ overrides: z.array(overrideAnswer), ...nextCursor }),
    run: async ({ overrides }, { query }) => {
      const page = await overrides.list(query, query.ended);
      return { document: { overrides: page.items.map(overrideJson), next_cursor: page.next ?? null } };
    },
  }),
  put_override: handler({
    body: rawBody(newOverrideSchema),
    answer: z.strictObject({ ...members, outcome: z.enum(["added", "changed", "unchanged"]) }),
    run: async (context, { body, by }) => {
      const wanted = parseNewOverride(body, parseContext(context, by.author));
      const [write] = await context.overrides.put([wanted], by);
      await context.overrideCache.refresh();
      const { override, outcome } = write!; // `put` returns one write per override
      const document = { ...overrideJson(override), outcome };
      if (outcome !== "added") return { status: 200, document };
      return { document, headers: { Location: `${ADMIN_PATH}overrides/${override.id}` } };
    },
  }),
  export_overrides: handler({
    answer: overrideFile,
    run: async ({ overrides, now }) => ({
      document: exportFile((await overrides.load()).overrides, now()),
      headers: { "Content-Disposition": 'attachment; filename="inkling-overrides.json"' },
    }),
  }),
  import_overrides: handler({
    query: { force: booleanQuery("Accept very broad networks") },
    body: rawBody(overrideFile),
    answer: importAnswer,
    run: async (context, { query, body, by }) => {
      const file = parseOverrideFile(body, parseContext(context, by.author), query.force);
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
  get_override: handler({
    answer: overrideAnswer,
    run: async ({ overrides }, { id }) => {
      const override = await overrides.find(id);
      if (override === undefined) throw new AdminProblem("OVERRIDE_NOT_FOUND");
      return { document: overrideJson(override) };
    },
  }),
  remove_override: handler({
    answer: overrideAnswer,
    run: async ({ overrides, overrideCache }, { id, by }) => {
      const override = await overrides.remove(id, by);
      if (override === undefined) throw new AdminProblem("OVERRIDE_NOT_FOUND");
      await overrideCache.refresh();
      return { document: overrideJson(override) };
    },
  }),
} satisfies AdminHandlers;

function parseContext({ now }: AdminContext, author: string): OverrideContext {
  return { now: now(), author };
}
