// domain-list.ts: gathers the domains of one feed: A-labels in lower case, each once, sorted.
//
// What a domain is, the engine says: an entry that no look-up can ever ask for must not get into a table.
// note no public suffixes here: whether "edu.pl" may stand on a list is policy

import { toAsciiDomain } from "@inkling/engine";
import type { Tally } from "./tally.ts";

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
    const domain = toAsciiDomain(text);
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
