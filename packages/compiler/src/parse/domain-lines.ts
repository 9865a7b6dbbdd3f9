// domain-lines.ts: a domain a line; "#" starts a comment, which may state the list's date.

import type { ParsedDomains } from "../catalog/feed.ts";
import { DomainList } from "./domain-list.ts";
import { Tally } from "./tally.ts";
import { findStatedDate, forEachLine, readText } from "./text.ts";

/** @throws FeedError when the file cannot be believed */
export function parseDomainLines(body: Uint8Array): ParsedDomains {
  const text = readText(body);
  const tally = new Tally();
  const list = new DomainList(tally);
  let publishedAt: Date | undefined;
  forEachLine(text, (line, number) => {
    const comment = line.indexOf("#");
    if (comment >= 0) publishedAt ??= findStatedDate(line.slice(comment));
    const value = comment < 0 ? line : line.slice(0, comment).trimEnd();
    if (value !== "") list.add(number, value);
  });
  tally.checkLines(text);
  return { domains: list.sorted(), ...tally.report, ...(publishedAt && { publishedAt }) };
}
