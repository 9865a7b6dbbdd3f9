// decision-rows.ts: stored decisions for tests.

import type { DecisionRow } from "../../packages/store/src/decisions/record.ts";

export const decisionId = (n: number) => `asm_${String(n).padStart(16, "0")}`;

/** Returns a sign-up through a proxy that was allowed. */
export const decisionRow = (n: number, created_at: number, over: Partial<DecisionRow> = {}): DecisionRow => ({
  id: decisionId(n),
  created_at,
  event: "sign_up",
  ref: null,
  ruleset: 7,
  data_version: "3c05d22e1399",
  action: "allow",
  review: 0,
  score: 0.35,
  rule: null,
  reasons: '[{"code":"proxy","weight":0.35}]',
  shadow: "[]",
  degraded: "[]",
  facts: '{"event":"sign_up","ip.is_proxy":true}',
  email_domain: null,
  mailbox_hash: null,
  network_hash: null,
  address_hash: null,
  account_hash: null,
  key_id: null,
  request_id: null,
  trace_id: null,
  idempotency: null,
  body_hash: null,
  unweighted: null,
  ...over,
});
