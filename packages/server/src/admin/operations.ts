// operations.ts: maps each operation of the admin API to its handler (contract/src/admin-operations.ts).

import type { AdminOperationId } from "@inkling/contract";
import { z } from "zod";
import { ADMIN_TOKEN_HANDLERS } from "./admin-tokens.ts";
import { DATA_HANDLERS } from "./data.ts";
import { DATA_ACTION_HANDLERS } from "./data-actions.ts";
import { DATABASE_HANDLERS } from "./database.ts";
import { DECISION_HANDLERS } from "./decisions.ts";
import { type AdminHandler, handler } from "./handler.ts";
import { KEY_HANDLERS } from "./keys.ts";
import { SESSION_HANDLERS } from "./login.ts";
import { LOOKUP_HANDLERS } from "./lookup.ts";
import { OVERRIDE_HANDLERS } from "./overrides.ts";
import { RULESET_HANDLERS } from "./rulesets.ts";
import { AUDIT_HANDLERS, HOST_HANDLERS, LOG_LEVEL_HANDLERS, TRAFFIC_HANDLERS } from "./watch.ts";
import { WEBHOOK_HANDLERS } from "./webhooks.ts";

export const HANDLERS: Readonly<Record<AdminOperationId, AdminHandler>> = {
  ...SESSION_HANDLERS,
  ...LOOKUP_HANDLERS,
  ...DATA_HANDLERS,
  ...DATA_ACTION_HANDLERS,
  ...KEY_HANDLERS,
  ...ADMIN_TOKEN_HANDLERS,
  ...OVERRIDE_HANDLERS,
  ...RULESET_HANDLERS,
  ...DECISION_HANDLERS,
  ...WEBHOOK_HANDLERS,
  ...DATABASE_HANDLERS,
  ...AUDIT_HANDLERS,
  ...TRAFFIC_HANDLERS,
  ...HOST_HANDLERS,
  ...LOG_LEVEL_HANDLERS,
  openapi: handler({
    answer: z.looseObject({ openapi: z.string() }),
    run: async ({ status, documents }) => {
      const { adminOpenApi } = await documents();
      return { document: adminOpenApi(status.version) };
    },
  }),
};
