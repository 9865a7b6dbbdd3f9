// domain-list.ts: gathers the domains of one feed: A-labels in lower case, each once, sorted.
//
// note what a domain is, the engine decides: an entry that no lookup can ask for must not get into a table.
//      Whether a public suffix such as "edu.pl" may stand on a list is policy

import { toAsciiDomain } from "@inkling/engine";
import type { Tally } from "./tally.ts";

export class DomainList {
  private readonly services = new Map<string, string>();
  readonly tally: Tally;

  constructor(tally: Tally) {
    this.tally = tally;
  }

  /**
   * Takes a domain from `text`; what is none is tallied as unusable.
   * @param service who runs it, "" when unknown; of several, the first named one stays
   */
  add(line: number, text: string, service = ""): void {
    const domain = toAsciiDomain(text);
    if (domain === undefined) {
      this.tally.fail(line, text, "is not a domain");
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
