// audit.ts: the audit trail over the admin API.
//
// src  docs/admin-api.md

import { z } from "zod";
import { AUDIT_ACTIONS, auditJson, isAuditCursor } from "../store/audit.ts";
import { type Operation, operation } from "./operation.ts";
import { count, nextCursor, pageQuery, text, time } from "./schemas.ts";

export const auditAnswer = z.strictObject({
  entries: z.array(
    z.strictObject({
      sequence: count,
      at: time,
      actor: text,
      action: z.enum(AUDIT_ACTIONS),
      subject: text.meta({ description: "Id of what was changed" }),
      before: z.unknown(),
      after: z.unknown(),
    }),
  ),
  ...nextCursor,
});

export const AUDIT_OPERATIONS: readonly Operation[] = [
  operation({
    id: "audit",
    method: "GET",
    path: "audit",
    tag: "Watch",
    summary: "Changes and their authors, newest first",
    query: pageQuery(isAuditCursor),
    answer: auditAnswer,
    run: async ({ overrides }, { query }) => {
      const page = await overrides.audit(query);
      return { document: { entries: page.items.map(auditJson), next_cursor: page.next ?? null } };
    },
  }),
];
