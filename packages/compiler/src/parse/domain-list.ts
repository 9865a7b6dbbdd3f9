// domain-list.ts: gathers the domains of one feed: A-labels in lower case, each once, sorted.
//
// src  RFC 1123 2.1 (host names), RFC 5890 (A-labels), UTS 46 through node:url
// note no public suffixes here: whether "edu.pl" may stand on a list is policy

import { domainToASCII } from "node:url";
import type { Tally } from "./tally.ts";

const MAX_DOMAIN = 253;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const ALL_DIGITS = /^[0-9]+$/;
const PLAIN = /^[a-z0-9.-]*$/;
/** What may stand in a Unicode domain; domainToASCII alone would drop, map or cut at some of the rest. */
const UNICODE_DOMAIN = /^[\p{L}\p{M}\p{N}.-]+$/u;

export class DomainList {
  private readonly services = new Map<string, string>();
  private readonly tally: Tally;

  constructor(tally: Tally) {
    this.tally = tally;
  }

  /**
   * Takes a domain from `text`; what is none is tallied as unusable.
   * @param service who runs it, "" when unknown; of several, the first named one stays
   */
  add(line: number, text: string, service = ""): void {
    const domain = toDomain(text);
    if (domain === undefined) {
      this.tally.fail(line, text, "is not a domain");
      return;
    }
    this.tally.use();
    if (!this.services.get(domain)) this.services.set(domain, service);
  }

  sorted(): Map<string, string> {
    return new Map([...this.services].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** A domain of two labels or more as A-labels in lower case, or undefined when `text` is none. */
export function toDomain(text: string): string | undefined {
  if (text.length > MAX_DOMAIN) return undefined; // no work for what cannot be one
  const lower = text.toLowerCase();
  let domain = lower;
  // "xn--" goes through too: an A-label that decodes to nothing valid is none.
  if (!PLAIN.test(lower) || lower.includes("xn--")) {
    if (!UNICODE_DOMAIN.test(lower)) return undefined;
    domain = domainToASCII(lower);
  }
  if (domain.length > MAX_DOMAIN) return undefined;
  const labels = domain.split(".");
  if (labels.length < 2 || !labels.every((label) => LABEL.test(label))) return undefined;
  return ALL_DIGITS.test(labels.at(-1)!) ? undefined : domain;
}
