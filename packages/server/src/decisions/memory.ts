// memory.ts: hashes what identifies a visitor, so that later decisions recognize the visitor without the database
// containing anything that identifies them.
//
// A hash is 96 bits of an HMAC-SHA-256. Its key is outside the database (run/memory-keys.ts), because whoever has both
// can try all addresses of IPv4. Cost: about 2 µs for each trace and key, and only for traces that the ruleset wants.

import { canonicalMailbox, networkText, visitorNetwork } from "@inkling/engine";
import type { DecisionInput, Trace, VisitorAnswers, Wanted } from "@inkling/engine/assess";
import type { VisitorTraces } from "@inkling/store/decisions/memory";
import type { TraceColumns } from "@inkling/store/decisions/record";

const HASH_BYTES = 12;
const LOGIN_FAILED = "login_failed";

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
  for (const trace of traces) {
    const value = values[trace];
    if (value === undefined) continue;
    // stored decisions have the domain itself
    found[trace] = trace === "domain" ? [value] : keys.map((key) => hashOf(key, trace, value));
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

const hashOf = (key: string, trace: Trace, value: string): string =>
  new Bun.CryptoHasher("sha256", key)
    .update(`${trace} ${value}`)
    .digest()
    .toString("base64url", 0, HASH_BYTES);
