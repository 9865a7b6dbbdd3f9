// proxy-lines.ts: a proxy a line, as address:port; IPv6 addresses in brackets. Only the address is used.

import type { ParsedNetworks } from "../catalog/feed.ts";
import { NetworkList } from "./network-list.ts";
import { Tally } from "./tally.ts";
import { forEachLine, readText } from "./text.ts";

const PROXY = /^(?:[a-z0-9]+:\/\/)?(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+)):([0-9]{1,5})$/;

/** @throws FeedError when the file cannot be believed */
export function parseProxyLines(body: Uint8Array): ParsedNetworks {
  const text = readText(body);
  const tally = new Tally();
  const list = new NetworkList(tally);
  forEachLine(text, (line, number) => {
    if (line.startsWith("#")) return;
    const match = PROXY.exec(line);
    const address = match?.[1] ?? match?.[2];
    if (address === undefined) tally.fail(number, line, "is not an address with a port");
    else list.add(number, address);
  });
  tally.checkLines(text);
  return { networks: list.sorted(), ...tally.report };
}
