// abuseipdb.ts: AbuseIPDB's blacklist: addresses that were reported, each with how sure its publisher is.

import { z } from "zod";
import type { ParsedNetworks } from "../catalog/feed.ts";
import { readJson } from "./json.ts";
import { NetworkList } from "./network-list.ts";
import { Tally } from "./tally.ts";
import { findDate, readText } from "./text.ts";

/** What is asked for; a file that somebody made with less is cut down to it. */
const LEAST_CONFIDENCE = 100;

const blacklist = z.object({
  meta: z.object({ generatedAt: z.string().optional() }).optional(),
  data: z.array(z.object({ ipAddress: z.string(), abuseConfidenceScore: z.number() })),
});

/** @throws FeedError when the file cannot be believed */
export function parseAbuseipdb(body: Uint8Array): ParsedNetworks {
  const { meta, data } = readJson(readText(body), blacklist);
  const tally = new Tally("record");
  const list = new NetworkList(tally);
  for (const [index, { ipAddress, abuseConfidenceScore }] of data.entries()) {
    if (abuseConfidenceScore >= LEAST_CONFIDENCE) list.add(index + 1, ipAddress);
    else tally.pass(index + 1, `confidence is ${abuseConfidenceScore}, ${LEAST_CONFIDENCE} is asked for`);
  }
  tally.check();
  const publishedAt = meta?.generatedAt === undefined ? undefined : findDate(meta.generatedAt);
  return { networks: list.sorted(), ...tally.report, ...(publishedAt && { publishedAt }) };
}
