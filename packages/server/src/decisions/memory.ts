// memory.ts: hashes what identifies a visitor (store, decisions/hashes.ts).
//
// Mailbox and account are always hashed, so that an operator can find the decisions about a customer. Network and address
// are hashed only if the ruleset reads facts about them.

import { canonicalMailbox, networkText, visitorNetwork } from "@inkling/engine";
import {
  type DecisionInput,
  TRACES,
  type Trace,
  type VisitorAnswers,
  type Wanted,
} from "@inkling/engine/assess";
import { traceHash } from "@inkling/store/decisions/hashes";
import type { VisitorTraces } from "@inkling/store/decisions/memory";
import type { TraceColumns } from "@inkling/store/decisions/record";

const LOGIN_FAILED = "login_failed";
const ALWAYS: ReadonlySet<Trace> = new Set(["mailbox", "account"]);

/** @param keys the current key first, then the key before it during a rotation */
export function tracesOf(
  { traces }: Wanted,
  { email, account }: DecisionInput,
  { address, host }: Pick<VisitorAnswers, "address" | "host">,
  keys: readonly string[],
): VisitorTraces {
  const values: Readonly<Record<Trace, string | undefined>> = {
    mailbox: email === undefined || host === undefined ? undefined : canonicalMailbox(email, host),
    domain: host,
    network: address && visitorNetwork(address),
    address: address && networkText(address, address.family === 4 ? 32 : 64),
    account,
  };
  const found: Partial<Record<Trace, readonly string[]>> = {};
  for (const trace of TRACES) {
    const value = values[trace];
    if (value === undefined || !(traces.has(trace) || ALWAYS.has(trace))) continue;
    // stored decisions have the domain itself
    found[trace] = trace === "domain" ? [value] : keys.map((key) => traceHash(key, trace, value));
  }
  return found;
}

/**
 * Returns the hashes that are stored with a decision. A rule counts an address only when a login from it has failed.
 */
export function traceColumns(traces: VisitorTraces, event: string): TraceColumns {
  return {
    mailbox_hash: traces.mailbox?.[0] ?? null,
    network_hash: traces.network?.[0] ?? null,
    address_hash: event === LOGIN_FAILED ? (traces.address?.[0] ?? null) : null,
    account_hash: traces.account?.[0] ?? null,
  };
}
