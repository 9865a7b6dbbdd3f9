// domain-list.ts: collects the domains of one feed as sorted, lower-case A-labels without duplicates.
//
// note the engine's parser decides what counts as a domain, so that every entry can be looked up. The policy decides
//      how to treat public suffixes such as "edu.pl"

import { toAsciiDomain } from "@inkling/engine";
import type { Tally } from "./tally.ts";

/** Where a domain is in the file. */
interface DomainLine {
  readonly line: number;
  readonly domain: string;
}

export class DomainList {
  private readonly services = new Map<string, string>();
  /** The line of each domain in `services`, in the same order. */
  private readonly lines: number[] = [];
  readonly tally: Tally;

  constructor(tally: Tally) {
    this.tally = tally;
  }

  /**
   * Adds the domain in `text`. Counts anything else as unusable.
   * @param service who runs the domain, or "" if unknown. If several entries have a service, the first one wins
   */
  add(line: number, text: string, service = ""): void {
    const domain = toAsciiDomain(text);
    if (domain === undefined) {
      this.tally.fail(line, "is not a domain");
      return;
    }
    this.tally.use();
    if (!this.services.has(domain)) this.lines.push(line);
    if (!this.services.get(domain)) this.services.set(domain, service);
  }

  /**
   * Returns a map from domain (A-label, lower case) to service ("" if unknown), sorted by domain. `findFirst` returns
   * which of the given domains is first in the file.
   */
  result(): {
    readonly domains: ReadonlyMap<string, string>;
    readonly findFirst: (domains: readonly string[]) => DomainLine | undefined;
  } {
    return {
      domains: new Map([...this.services].sort(([a], [b]) => (a < b ? -1 : 1))),
      findFirst: (domains) => this.findFirst(new Set(domains)),
    };
  }

  private findFirst(wanted: ReadonlySet<string>): DomainLine | undefined {
    let index = 0;
    for (const domain of this.services.keys()) {
      if (wanted.has(domain)) return { line: this.lines[index]!, domain };
      index++;
    }
    return undefined;
  }
}
