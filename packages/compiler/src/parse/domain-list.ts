// domain-list.ts: gathers the domains of one feed: A-labels in lower case, each once, sorted.
//
// note the engine's parser decides what a domain is, so that every entry can be looked up. Public suffixes such as
//      "edu.pl" are a matter of policy

import { toAsciiDomain } from "@inkling/engine";
import type { Tally } from "./tally.ts";

export class DomainList {
  private readonly services = new Map<string, string>();
  readonly tally: Tally;

  constructor(tally: Tally) {
    this.tally = tally;
  }

  /**
   * Adds the domain in `text`; anything else is tallied as unusable.
   * @param service who runs it, "" when unknown; of several, the first named one remains
   */
  add(line: number, text: string, service = ""): void {
    const domain = toAsciiDomain(text);
    if (domain === undefined) {
      this.tally.fail(line, "is not a domain");
      return;
    }
    this.tally.use();
    if (!this.services.get(domain)) this.services.set(domain, service);
  }

  /** Domain (A-label, lower case) -> service, "" when unknown; sorted. */
  result(): { readonly domains: ReadonlyMap<string, string> } {
    return { domains: new Map([...this.services].sort(([a], [b]) => (a < b ? -1 : 1))) };
  }
}
