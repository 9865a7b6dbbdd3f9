// monosans.ts: monosans/proxy-list: proxies that worked: where one connects to, and where the traffic leaves.

import { z } from "zod";
import type { ParsedNetworks } from "../catalog/feed.ts";
import { readJson } from "./json.ts";
import { NetworkList } from "./network-list.ts";
import { Tally } from "./tally.ts";
import { readText } from "./text.ts";

const proxies = z.array(z.object({ host: z.string(), exit_ip: z.string().nullish() }));

/** @throws FeedError when the file cannot be believed */
export function parseMonosans(body: Uint8Array): ParsedNetworks {
  const tally = new Tally("record");
  const list = new NetworkList(tally);
  for (const [index, proxy] of readJson(readText(body), proxies).entries()) {
    list.add(index + 1, proxy.host);
    if (proxy.exit_ip) list.add(index + 1, proxy.exit_ip);
  }
  tally.check();
  return { networks: list.sorted(), ...tally.report };
}
