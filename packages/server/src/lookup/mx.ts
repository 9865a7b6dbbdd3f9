// mx.ts: merges the DNS check of a domain into the answer about an email address.
//
// in   the text that was looked up; the answer from the segment
// out  the answer with `checks`, and with what they change
// err  none thrown
// src  docs/email.md
//
// Only NXDOMAIN and a null MX make an address invalid: a timeout says nothing about it. `disposable` from lists is never
// taken back, and what lists or overrides keep from being disposable stays so.

import { ascii, cutSuffix, isSpecialUseDomain, parseEmail } from "@inkling/engine";
import type { MxCounts } from "../mx/counts.ts";
import { disposableHost } from "../mx/hosts.ts";
import type { MxFinding, MxOutcome } from "../mx/outcome.ts";

/** Looks up mail domains in DNS. */
export interface MxSource {
  find(host: string): MxFinding | Promise<MxFinding>;
}

const REFUTES: ReadonlySet<MxOutcome> = new Set<MxOutcome>(["null", "nxdomain"]);
const SKIPPED: MxFinding = { outcome: "skipped", known: [] };

/** Runs the checks that a caller may request, and counts them. */
export class EmailChecks {
  private readonly source: MxSource;
  private readonly counts: MxCounts;

  constructor(source: MxSource, counts: MxCounts) {
    this.source = source;
    this.counts = counts;
  }

  /** "skipped" for what cannot be a domain with mail: DNS is not asked. */
  mx(text: string): MxFinding | Promise<MxFinding> {
    const host = hostToCheck(text);
    const finding = host === undefined ? SKIPPED : this.source.find(host);
    return finding instanceof Promise ? finding.then((found) => this.counted(found)) : this.counted(finding);
  }

  private counted(finding: MxFinding): MxFinding {
    this.counts.recordAnswer(finding.outcome);
    return finding;
  }
}

/** Undefined without a readable domain, for special-use names, and for names that nobody can own. */
function hostToCheck(text: string): string | undefined {
  const { host } = parseEmail(text);
  return host === undefined || isSpecialUseDomain(host) || !cutSuffix(host).known ? undefined : host;
}

const RELAY = "relay";
const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** The members of an answer that a check may change; others are kept as they are. */
interface EmailAnswer {
  readonly valid: boolean;
  readonly disposable: boolean;
  readonly providers: readonly string[];
}

export interface Checked {
  readonly body: Uint8Array;
  /** For the evidence, where the mail host made it disposable. */
  readonly entry?: Uint8Array;
}

/**
 * Adds a finding to an answer.
 * @param answer JSON bytes, without evidence
 * @param isCleared does something keep it from being disposable? Called only when it matters.
 */
export function withMx(answer: Uint8Array, { outcome, known }: MxFinding, isCleared: () => boolean): Checked {
  const { valid, disposable, providers, ...others } = JSON.parse(decoder.decode(answer)) as EmailAnswer;
  const host = disposable ? undefined : disposableHost(known);
  const row = host === undefined || isCleared() ? undefined : host;
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
}

/** The evidence entry for a mail host of a disposable-email service. */
export function mailHostEntry(suffix: string): object {
  return {
    feed: "inkling",
    label: "mail_host",
    effect: "sets",
    flags: ["disposable"],
    mail_host: suffix,
  };
}

/** Does an answer's evidence keep its address from being disposable? A relay's address is never disposable. */
export function isClearedBy(reasoned: Uint8Array): boolean {
  const { evidence } = JSON.parse(decoder.decode(reasoned)) as {
    evidence: readonly { label: string; effect: string; flags?: readonly string[] }[];
  };
  return evidence.some(
    ({ label, effect, flags }) => label === RELAY || (effect === "removes" && flags?.includes("disposable")),
  );
}
