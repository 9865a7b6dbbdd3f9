// published-networks.ts: the networks that operators publish as their own, as JSON; one row for each form.
//
// prefix-json  Google and Microsoft, for their crawlers: {"prefixes": [{"ipv4Prefix"} | {"ipv6Prefix"}]}
// fastly-json  {"addresses": [IPv4], "ipv6_addresses": [IPv6]}
// misp-json    a warning list of MISP: {"list": [address or network]}
// err  FeedError when the file cannot be believed
// Their dates are no date of the copy: they tell when the list last changed, and such lists may not change for years.

import { z } from "zod";
import type { ParsedNetworks } from "../catalog/feed.ts";
import { readJson } from "./json.ts";
import { NetworkList } from "./network-list.ts";
import { Tally } from "./tally.ts";
import { readText } from "./text.ts";

const texts = z.array(z.string());
const prefixes = z.object({
  prefixes: z.array(z.union([z.object({ ipv4Prefix: z.string() }), z.object({ ipv6Prefix: z.string() })])),
});
const fastly = z.object({ addresses: texts, ipv6_addresses: texts });
const misp = z.object({ list: texts });

export const parsePrefixJson = parserOf(prefixes, (file) =>
  file.prefixes.map((row) => ("ipv4Prefix" in row ? row.ipv4Prefix : row.ipv6Prefix)),
);
export const parseFastlyJson = parserOf(fastly, (file) => [...file.addresses, ...file.ipv6_addresses]);
export const parseMispJson = parserOf(misp, (file) => file.list);

function parserOf<T>(
  schema: z.ZodType<T>,
  networksOf: (file: T) => readonly string[],
): (body: Uint8Array) => ParsedNetworks {
  return (body) => {
    const tally = new Tally("record");
    const list = new NetworkList(tally);
    for (const [index, text] of networksOf(readJson(readText(body), schema)).entries())
      list.add(index + 1, text);
    tally.check();
    return { networks: list.sorted(), ...tally.report };
  };
}
