// operations.ts: lists the routes of the admin API. They derive from packages/operations; the others pair a row
// (contract/src/admin-operations.ts) with a handler.

import { ADMIN_OPERATIONS, ADMIN_TAGS, type AdminOperationId, keysOf } from "@inkling/contract";
import { RESOURCES } from "@inkling/operations";
import { z } from "zod";
import { ASSESS_HANDLERS } from "./assess.ts";
import { DATA_HANDLERS } from "./data.ts";
import { DATA_ACTION_HANDLERS } from "./data-actions.ts";
import { type AdminRoute, routesOf } from "./derived.ts";
import { type AdminHandler, handler } from "./handler.ts";
import { SESSION_HANDLERS } from "./login.ts";
import { LOOKUP_HANDLERS } from "./lookup.ts";

const HANDLERS: Readonly<Record<AdminOperationId, AdminHandler>> = {
  ...SESSION_HANDLERS,
  ...LOOKUP_HANDLERS,
  ...DATA_HANDLERS,
  ...DATA_ACTION_HANDLERS,
  ...ASSESS_HANDLERS,
  openapi: handler({
    answer: z.looseObject({ openapi: z.string() }),
    run: async ({ status, documents }) => {
      const { adminOpenApi } = await documents();
      return { document: adminOpenApi(status.version) };
    },
  }),
};

const TAGS = keysOf(ADMIN_TAGS);
const written = keysOf(ADMIN_OPERATIONS).map((id): [string, AdminRoute] => [
  id,
  { row: ADMIN_OPERATIONS[id], handler: HANDLERS[id] },
]);

/** Every route by the id of its operation, in the order of the tags. */
export const ADMIN_ROUTES: ReadonlyMap<string, AdminRoute> = new Map(
  [...written, ...RESOURCES.flatMap(routesOf)].sort(
    ([, a], [, b]) => TAGS.indexOf(a.row.tag) - TAGS.indexOf(b.row.tag),
  ),
);
