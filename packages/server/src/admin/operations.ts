// operations.ts: lists the routes of the admin API, most of which derive from packages/operations.

import { ADMIN_PATH, ADMIN_TAGS, keysOf } from "@inkling/contract";
import { RESOURCES } from "@inkling/operations";
import { z } from "zod";
import { routesOf } from "./derived.ts";
import { type AdminRoute, handler } from "./handler.ts";
import { SESSION_ROUTES } from "./login.ts";

const DOCUMENT: AdminRoute = {
  row: {
    method: "GET",
    path: `${ADMIN_PATH}openapi.json`,
    tag: "Watch",
    summary: "This document",
    docs: "OpenAPI 3.1 document",
    isOpen: true,
    role: "read",
    audits: [],
  },
  handler: handler({
    answer: z.looseObject({ openapi: z.string() }),
    run: async ({ status, documents }) => {
      const { adminOpenApi } = await documents();
      return { document: adminOpenApi(status.version) };
    },
  }),
};

const TAGS = keysOf(ADMIN_TAGS);

/** Every route by the id of its operation, in the order of the tags. */
export const ADMIN_ROUTES: ReadonlyMap<string, AdminRoute> = new Map(
  [...Object.entries(SESSION_ROUTES), ...RESOURCES.flatMap(routesOf), ["openapi", DOCUMENT] as const].sort(
    ([, a], [, b]) => TAGS.indexOf(a.row.tag) - TAGS.indexOf(b.row.tag),
  ),
);
