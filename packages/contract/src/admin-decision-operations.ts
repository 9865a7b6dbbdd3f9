// admin-decision-operations.ts: the admin API operations for rulesets and stored decisions.

import { ADMIN_PATH, type AdminOperationRow, MAX_RULESET_BYTES } from "./admin-operation-row.ts";

export const DECISION_OPERATIONS = {
  assess_visitor: {
    method: "POST",
    path: `${ADMIN_PATH}assess`,
    tag: "Rules",
    summary:
      "Assess a visitor, and return the facts, the evidence and what would change the decision; not counted as usage",
    problems: ["DATA_NOT_LOADED", "RULESET_INVALID"],
    maxBodyBytes: MAX_RULESET_BYTES,
    audits: [],
    role: "read",
    docs: "assesses `visitor` with the newest ruleset, or with the draft in `text`",
  },
  list_decisions: {
    method: "GET",
    path: `${ADMIN_PATH}decisions`,
    tag: "Decisions",
    summary: "Stored decisions, newest first",
    docs: "[stored decisions](stored-decisions.md), newest first. `action`, `event`, `rule`, `reason`, `outcome`, `ref`, `network`, `domain`, `since`, `until`, `limit`, `cursor`. After two seconds, a page ends early, even without decisions; `next_cursor` continues the search",
  },
  delete_decisions: {
    method: "DELETE",
    path: `${ADMIN_PATH}decisions`,
    tag: "Decisions",
    summary: "Delete the decisions for a `ref`, or all decisions before a time",
    audits: ["decisions-deleted"],
    role: "admin",
    docs: "deletes the decisions for `ref`, or all decisions `before` a time",
  },
  count_decisions: {
    method: "GET",
    path: `${ADMIN_PATH}decisions/counts`,
    tag: "Decisions",
    summary: "Stored decisions and their outcomes by day and action, newest first",
    docs: "number of decisions and outcomes by day and action, and whether this server stores decisions. `event`, `since` (default 30 days), `until`",
  },
  get_decision: {
    method: "GET",
    path: `${ADMIN_PATH}decisions/{id}`,
    names: "decision",
    tag: "Decisions",
    summary: "A stored decision",
    problems: ["DECISION_NOT_FOUND"],
    docs: "one stored decision",
  },
  set_decision_outcome: {
    method: "POST",
    path: `${ADMIN_PATH}decisions/{id}/outcome`,
    names: "decision",
    tag: "Decisions",
    summary: "Report the outcome of a decision; a new outcome replaces the old one",
    problems: ["DECISION_NOT_FOUND"],
    audits: ["decision-labelled"],
    role: "analyst",
    docs: 'labels a decision: `{"outcome":"legitimate"}` or `"abuse"`',
  },
} as const satisfies Readonly<Record<string, AdminOperationRow>>;
