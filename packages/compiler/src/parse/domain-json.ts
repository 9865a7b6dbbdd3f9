// domain-json.ts: a JSON array of domains.

import { z } from "zod";
import type { ParsedDomains } from "../catalog/feed.ts";
import { DomainList } from "./domain-list.ts";
import { readJson } from "./json.ts";
import { Tally } from "./tally.ts";
import { readText } from "./text.ts";

const domains = z.array(z.string());

/** @throws FeedError when the file cannot be believed */
export function parseDomainJson(body: Uint8Array): ParsedDomains {
  const tally = new Tally("record");
  const list = new DomainList(tally);
  for (const [index, domain] of readJson(readText(body), domains).entries())
    list.add(index + 1, domain.trim());
  tally.check();
  return { domains: list.sorted(), ...tally.report };
}
