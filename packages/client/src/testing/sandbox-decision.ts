// sandbox-decision.ts: computes the sandbox's decision about a visitor from the visitor's IP address and email address.
//
// out  the decision that the server's sandbox makes, which follows no ruleset
// note `user_agent`, `previous` and the text before the @ add no reasons here

import type { Assessment, AssessmentInput, FactValues, ReasonCode } from "../generated.ts";
import { SANDBOX } from "./sandbox-answers.ts";
import type { Row } from "./sandbox-table.ts";
import { addressShare, emailShare } from "./sandbox-values.ts";

/** Default members of a decision, for members that a test does not set. */
export const PLAIN_DECISION: Assessment = {
  id: `asm_${"0".repeat(16)}`,
  action: "allow",
  review: false,
  score: 0,
  reasons: [],
  rule: null,
  shadow: [],
  degraded: [],
  ruleset: 0,
  data_version: SANDBOX.version,
};

/** Keeps floating-point errors from putting 1 - (1 - 0.5) below 0.5. */
const SLACK = 1e-9;

/** @returns a decision with its facts, or an error code */
export function sandboxDecision(input: AssessmentInput): Row {
  const { event, ip, email, user_agent, expected_country } = input;
  if (ip === undefined && email === undefined) return "BODY_INVALID";
  const shares = [
    ...(ip === undefined ? [] : [addressShare(ip)]),
    ...(email === undefined ? [] : [emailShare(email)]),
  ];
  const codes: ReasonCode[] = [];
  const facts: Record<string, FactValues[string]> = {
    event,
    ...(user_agent !== undefined && { user_agent }),
    ...(expected_country !== undefined && { expected_country }),
  };
  for (const share of shares) {
    if (typeof share === "string") return share;
    codes.push(...share.reasons);
    Object.assign(facts, share.facts);
  }
  const { "ip.country": country, "ip.shared": isShared } = facts;
  if (expected_country !== undefined && country !== undefined && country !== expected_country && !isShared)
    codes.push("country_mismatch");
  const reasons = Object.entries(SANDBOX.weights)
    .filter(([code]) => codes.includes(code))
    .map(([code, weight]) => ({ code, weight }));
  const score = 1 - reasons.reduce((innocent, { weight }) => innocent * (1 - weight), 1);
  const { challenge, deny } = SANDBOX.thresholds;
  const action = score + SLACK >= deny ? "deny" : score + SLACK >= challenge ? "challenge" : "allow";
  return { ...PLAIN_DECISION, action, score: Math.round(score * 100) / 100, reasons, facts };
}
