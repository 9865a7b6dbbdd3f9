// mx.ts: implements the MX check, which queries DNS for an email address's domain and applies the finding to the answer.
//
// Source: docs/email.md.
//
// Only two findings make an address invalid: the domain does not exist, or it accepts no mail. A DNS server that does
// not answer proves nothing about a person. The check never overrides feeds. If a feed or an override states that an
// address is not disposable, the check keeps that result.

import type { MxOutcome } from "@inkling/contract";
import {
  ascii,
  cutSuffix,
  disposableHost,
  type EmailCheck,
  isSpecialUseDomain,
  parseEmail,
} from "@inkling/engine";
import type { KeyId } from "@inkling/store/keys/key";
import type { MxFinding, MxLookups } from "../mx/check.ts";
import type { Counts } from "../telemetry/counts.ts";

/** The fields of an answer that the check may change. All others remain unchanged. */
interface EmailAnswer {
  readonly valid: boolean;
  readonly disposable: boolean;
  readonly providers: readonly string[];
}

const REFUTES: ReadonlySet<MxOutcome> = new Set<MxOutcome>(["null", "nxdomain"]);
const SKIPPED: MxFinding = { outcome: "skipped", known: [] };

/** Runs the checks that a caller may request, and counts them. */
export class EmailChecks {
  private readonly source: Pick<MxLookups, "find">;
  private readonly counts: Counts;
  private readonly excluded: ReadonlySet<string>;

  /** @param excluded domains, from toAsciiDomain, that are never queried; this includes all names below them */
  constructor(source: Pick<MxLookups, "find">, counts: Counts, excluded: readonly string[] = []) {
    this.source = source;
    this.counts = counts;
    this.excluded = new Set(excluded);
  }

  /**
   * Finds whether the domain of an email address accepts mail. Returns "skipped", without a DNS query, for excluded
   * domains and for text that cannot be a mail domain.
   */
  checkMx(text: string, key: KeyId): MxFinding | Promise<MxFinding> {
    const host = hostToCheck(text);
    const isAsked = host !== undefined && !this.isExcluded(host);
    const finding = isAsked ? this.source.find(host, key) : SKIPPED;
    return finding instanceof Promise ? finding.then((found) => this.count(found)) : this.count(finding);
  }

  private isExcluded(host: string): boolean {
    for (let at = 0; at >= 0; ) {
      if (this.excluded.has(host.slice(at))) return true;
      const dot = host.indexOf(".", at);
      at = dot < 0 ? -1 : dot + 1;
    }
    return false;
  }

  private count(finding: MxFinding): MxFinding {
    this.counts.countMxAnswer(finding.outcome);
    return finding;
  }
}

/**
 * Returns the domain to check; undefined for text without a readable domain, for special-use names, and for names that
 * cannot be registered.
 */
function hostToCheck(text: string): string | undefined {
  const { host } = parseEmail(text);
  return host === undefined || isSpecialUseDomain(host) || !cutSuffix(host).known ? undefined : host;
}

const RELAY = "relay";
const decoder = new TextDecoder();
const encoder = new TextEncoder();

/**
 * Creates the pipeline stage that applies a finding to an answer. If the mail host belongs to a disposable-email
 * service, the address becomes disposable, unless other evidence clears it.
 */
export function mxCheck({ outcome, known }: MxFinding): EmailCheck {
  return (plain, explain) => {
    const { valid, disposable, providers, ...others } = JSON.parse(decoder.decode(plain)) as EmailAnswer;
    const host = disposable ? undefined : disposableHost(known);
    const row = host === undefined || isCleared(explain()) ? undefined : host;
    const body = encoder.encode(
      JSON.stringify({
        valid: valid && !REFUTES.has(outcome),
        disposable: disposable || row !== undefined,
        providers: row === undefined ? providers : [row.service],
        ...others,
        checks: { mx: outcome },
      }),
    );
    return row === undefined ? { body } : { body, entry: ascii(JSON.stringify(mailHostEntry(row.suffix))) };
  };
}

/** Creates the evidence entry for a mail host of a disposable-email service. */
export function mailHostEntry(suffix: string): object {
  return { feed: "inkling", label: "mail_host", effect: "sets", flags: ["disposable"], mail_host: suffix };
}

/** Returns whether other evidence keeps the address from being disposable. A relay's address is never disposable. */
function isCleared(explained: Uint8Array): boolean {
  const { evidence } = JSON.parse(decoder.decode(explained)) as {
    evidence: readonly { label: string; effect: string; flags?: readonly string[] }[];
  };
  return evidence.some(
    ({ label, effect, flags }) => label === RELAY || (effect === "removes" && flags?.includes("disposable")),
  );
}
