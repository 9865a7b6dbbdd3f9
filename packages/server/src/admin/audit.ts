// audit.ts: the audit trail over the admin API.
//
// src  docs/admin-api.md

import { z } from "zod";
import { WAYS } from "../keys/actor.ts";
import { AUDIT_ACTIONS, auditJson, isAuditCursor } from "../store/audit.ts";
import { storeWaiting } from "../store/waiting-entries.ts";
import { type Operation, operation } from "./operation.ts";
import { count, nextCursor, pageQuery, text, time } from "./schemas.ts";

export const auditAnswer = z.strictObject({
  entries: z.array(
    z.strictObject({
      sequence: count,
      at: time,
      actor: text,
      way: z
        .enum(WAYS)
        .nullable()
        .meta({ description: "How the change was made; null in entries of earlier versions" }),
      action: z.enum(AUDIT_ACTIONS),
      subject: text.meta({ description: "Id of what was changed" }),
      before: z.unknown(),
      after: z.unknown(),
    }),
  ),
  ...nextCursor,
});

const oneOf = (values: readonly string[]) => `must be one of ${values.join(", ")}`;
const SINCE = "must be a date such as 2026-06-01, or a time such as 2026-06-01T12:00:00Z";

const filters = {
  action: z.enum(AUDIT_ACTIONS, oneOf(AUDIT_ACTIONS)).optional().meta({ description: "Only this action" }),
  way: z.enum(WAYS, oneOf(WAYS)).optional().meta({ description: "Only changes made this way" }),
  actor: z.string().max(200).optional().meta({ description: "Only changes by this actor" }),
  subject: z.string().max(200).optional().meta({ description: "Only changes of this subject" }),
  since: z
    .union([z.iso.datetime({ offset: true }), z.iso.date()], SINCE)
    .transform((text) => Date.parse(text))
    .optional()
    .meta({ description: "Only changes since this date (UTC) or time" }),
};

export const AUDIT_OPERATIONS: readonly Operation[] = [
  operation({
    id: "audit",
    method: "GET",
    path: "audit",
    tag: "Watch",
    summary: "Changes and their authors, newest first",
    query: { ...pageQuery(isAuditCursor), ...filters },
    answer: auditAnswer,
    run: async ({ overrides, dataDir }, { query: { limit, cursor, ...filter } }) => {
      await storeWaiting(overrides, dataDir);
      const page = await overrides.audit({ limit, cursor }, filter);
      return { document: { entries: page.items.map(auditJson), next_cursor: page.next ?? null } };
    },
  }),
];
