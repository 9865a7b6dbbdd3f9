// audit.ts: lists the audit trail: who changed what, when, and through which interface.

import { AUDIT_ACTIONS, hasRole } from "@inkling/contract";
import type { ValidAdminToken } from "@inkling/store/admin-token";
import { AUDIT_SOURCES, type AuditEntry, auditJson, isAuditCursor } from "@inkling/store/audit";
import { overrideTarget } from "@inkling/store/overrides/override";
import { isoTime } from "@inkling/store/text/fields";
import { hostOnly } from "@inkling/store/webhooks";
import { z } from "zod";
import { count, nextCursor, oneOf, operation, pageInput, type Resource, text, time } from "./operation.ts";

const entry = z.strictObject({
  sequence: count,
  at: time,
  author: text,
  source: z
    .enum(AUDIT_SOURCES)
    .nullable()
    .meta({ description: "The interface used for the change; null in entries from earlier versions" }),
  action: z.enum(AUDIT_ACTIONS),
  subject: text.meta({ description: "Id of the changed object" }),
  before: z.unknown(),
  after: z.unknown(),
});
const name = z.string().max(200).optional();

export const AUDIT = {
  tag: "Watch",
  operations: {
    audit: operation({
      route: "GET audit",
      summary: "List who changed what, newest first",
      docs: "audit trail, newest first: who changed what, when and through which interface, with the values before and after. `action`, `source`, `author`, `subject`, `since`, `limit`, `cursor`. After two seconds, a page ends early, even without entries; `next_cursor` continues the search",
      input: {
        action: oneOf(AUDIT_ACTIONS).optional().meta({ description: "Only this action" }),
        source: oneOf(AUDIT_SOURCES)
          .optional()
          .meta({ description: "Only changes made through this interface" }),
        author: name.meta({ description: "Only changes by this author" }),
        subject: name.meta({
          description: "Only changes to this id, value or name, such as `185.220.101.1`",
        }),
        since: isoTime.optional().meta({ description: "Only changes since this date (UTC) or time" }),
        ...pageInput(isAuditCursor),
      },
      output: z.strictObject({ entries: z.array(entry), ...nextCursor }),
      command: {
        words: "audit",
        flags: { limit: { help: "how many entries" } },
        notes: `SOURCE is api, console, cli (this command line) or file (settings that a server read at startup).
Entries from older versions, which did not record the source, have -.`,
        examples: [
          "inkling audit",
          "inkling audit --source cli --since 7d",
          "inkling audit --subject key_3fK9mB2xQ7vR1tYz --json",
          "inkling audit --action feed-disabled --limit 1000",
        ],
      },
      run: async ({ store, token }, { limit, cursor, subject, ...filter }) => {
        const subjects = subject === undefined ? undefined : writtenForms(subject);
        const page = await store.audit.list({ limit, cursor }, { ...filter, subjects });
        return {
          entries: page.items.map((entry) => auditJson(shownTo(token, entry))),
          next_cursor: page.next ?? null,
        };
      },
    }),
  },
} as const satisfies Resource;

/** Entries contain addresses, networks and domains in their normal form, and the hash of an email address. */
const writtenForms = (subject: string) => [...new Set([subject, overrideTarget(subject)?.value ?? subject])];

/** Returns an entry as a token may see it: only an administrator sees more of a webhook's URL than its host. */
function shownTo(token: ValidAdminToken | undefined, entry: AuditEntry): AuditEntry {
  if (token === undefined || hasRole(token.role, "admin") || !entry.action.startsWith("webhook-"))
    return entry;
  const shown = (webhook: unknown) =>
    webhook === undefined
      ? undefined
      : { ...(webhook as { url: string }), url: hostOnly((webhook as { url: string }).url) };
  return { ...entry, before: shown(entry.before), after: shown(entry.after) };
}
