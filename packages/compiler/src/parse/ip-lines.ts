// ip-lines.ts: an address or CIDR a line; "#" and ";" start comments, which may state the list's date.

import { FeedError, type ParsedNetworks } from "../feed.ts";
import { NetworkList } from "./network-list.ts";
import { Tally } from "./tally.ts";
import { endsInsideLine, findStatedDate, forEachLine, readText } from "./text.ts";

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
  requireWholeLastLine(text, tally);
  tally.check();
  return { networks: list.sorted(), skipped: tally.skipped, ...(publishedAt && { publishedAt }) };
}

/** @throws FeedError when the last line has no end and makes no sense: the file was cut there */
export function requireWholeLastLine(text: string, tally: Tally): void {
  if (tally.failedLast && endsInsideLine(text)) {
    const { line, reason } = tally.skipped.at(-1)!;
    throw new FeedError(`is cut short inside line ${line}, which ${reason}`);
  }
}
