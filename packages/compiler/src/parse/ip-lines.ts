// ip-lines.ts: an address or CIDR a line; "#" and ";" start comments, which may state the list's date.

import type { ParsedNetworks } from "../catalog/feed.ts";
import { NetworkList } from "./network-list.ts";
import { Tally } from "./tally.ts";
import { findStatedDate, forEachLine, readText } from "./text.ts";

/** @throws FeedError when the file cannot be believed */
export function parseIpLines(body: Uint8Array): ParsedNetworks {
  const text = readText(body);
  const tally = new Tally();
  const list = new NetworkList(tally);
  let publishedAt: Date | undefined;
  forEachLine(text, (line, number) => {
    const comment = line.search(/[#;]/);
    if (comment >= 0) publishedAt ??= findStatedDate(line.slice(comment));
    const value = comment < 0 ? line : line.slice(0, comment).trimEnd();
    if (value !== "") list.add(number, value);
  });
  tally.checkLines(text);
  return { networks: list.sorted(), ...tally.report, ...(publishedAt && { publishedAt }) };
}
