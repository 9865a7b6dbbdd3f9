// geofeed.ts: a geofeed (RFC 8805): cidr,country,region,city,postal. Only the network is used.

import type { ParsedNetworks } from "../catalog/feed.ts";
import { NetworkList } from "./network-list.ts";
import { Tally } from "./tally.ts";
import { forEachLine, readText } from "./text.ts";

/** Fields after the network may be empty but their commas stand there: without them a line is cut or foreign. */
const LEAST_FIELDS = 4;

/** @throws FeedError when the file cannot be believed */
export function parseGeofeed(body: Uint8Array): ParsedNetworks {
  const text = readText(body);
  const tally = new Tally();
  const list = new NetworkList(tally);
  forEachLine(text, (line, number) => {
    if (line.startsWith("#")) return;
    const fields = line.split(",", LEAST_FIELDS);
    if (fields.length < LEAST_FIELDS) tally.fail(number, line, "is not a geofeed line");
    else list.add(number, fields[0]!.trim());
  });
  tally.checkLines(text);
  return { networks: list.sorted(), ...tally.report };
}
