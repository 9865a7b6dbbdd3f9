// operations.ts: every operation of the admin API, in the order of docs/admin-api.md.

import { z } from "zod";
import { AUDIT_OPERATIONS } from "./audit.ts";
import { DATA_OPERATIONS } from "./data.ts";
import { DATA_ACTION_OPERATIONS } from "./data-actions.ts";
import { DATABASE_OPERATIONS } from "./database.ts";
import { HOST_OPERATIONS } from "./hosts.ts";
import { KEY_OPERATIONS } from "./keys.ts";
import { LOOKUP_OPERATIONS } from "./lookup.ts";
import { type Operation, operation } from "./operation.ts";
import { OVERRIDE_OPERATIONS } from "./overrides.ts";
import { SESSION_OPERATIONS } from "./session-routes.ts";
import { TRAFFIC_OPERATIONS } from "./traffic.ts";

export const OPERATIONS: readonly Operation[] = [
  ...SESSION_OPERATIONS,
  ...LOOKUP_OPERATIONS,
  ...DATA_OPERATIONS,
  ...DATA_ACTION_OPERATIONS,
  ...KEY_OPERATIONS,
  ...OVERRIDE_OPERATIONS,
  ...DATABASE_OPERATIONS,
  ...AUDIT_OPERATIONS,
  ...TRAFFIC_OPERATIONS,
  ...HOST_OPERATIONS,
  operation({
    id: "openapi",
    method: "GET",
    path: "openapi.json",
    tag: "Watch",
    summary: "This document",
    isOpen: true,
    answer: z.looseObject({ openapi: z.string() }),
    run: async ({ status, documents }) => {
      const { adminOpenApi } = await documents();
      return { document: adminOpenApi(status.version) };
    },
  }),
];
