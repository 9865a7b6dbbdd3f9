// spamhaus.ts: Spamhaus DROP: a JSON object a line, the last one metadata, which counts the others.

import { z } from "zod";
import { FeedError, type ParsedNetworks } from "../catalog/feed.ts";
import { readJson } from "./json.ts";
import { NetworkList } from "./network-list.ts";
import { Tally } from "./tally.ts";
import { forEachLine, readText } from "./text.ts";

const record = z.object({ cidr: z.string() });
const metadata = z.object({
  type: z.literal("metadata"),
  timestamp: z.number().int().positive(),
  records: z.number().int().nonnegative(),
  copyright: z.string().max(200).optional(),
});
const anyLine = z.union([metadata, record]);

/** @throws FeedError when the file cannot be believed, above all when its metadata is missing or counts differently */
export function parseSpamhaus(body: Uint8Array): ParsedNetworks {
  const text = readText(body);
  const tally = new Tally("record");
  const list = new NetworkList(tally);
  let records = 0;
  let end: z.infer<typeof metadata> | undefined;
  forEachLine(text, (line, number) => {
    if (end !== undefined) throw new FeedError(`goes on after its metadata, at line ${number}`);
    const value = readJson(line, anyLine, `line ${number}`);
    if ("type" in value) {
      end = value;
      return;
    }
    records++;
    list.add(number, value.cidr);
  });
  if (end === undefined) throw new FeedError("is cut short: the metadata that closes it is missing");
  if (end.records !== records)
    throw new FeedError(`has ${records} records, its metadata counts ${end.records}`);
  tally.check();
  return {
    networks: list.sorted(),
    ...tally.report,
    publishedAt: new Date(end.timestamp * 1000),
    ...(end.copyright !== undefined && { copyright: end.copyright }),
  };
}
