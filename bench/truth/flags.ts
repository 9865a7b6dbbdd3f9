// flags.ts: are flags right? Networks that no list should flag, and exits that the lists of Tor did not name.
//
// in   the never-flag lists beside the project where they are; a release
// out  networks whose first address has a flag

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type LoadedRelease, parsePrefix, unwrapIpv4 } from "@inkling/engine";
import { VECTORS } from "../lib/shared-folders.ts";
import { count, type TruthRow } from "./row.ts";

/** The file, what it is, and the feed that has the same list, where one does. */
const NEVER: readonly (readonly [file: string, what: string, feed?: string])[] = [
  ["googlebot.json", "Googlebot", "googlebot"],
  ["cloudflare.json", "Cloudflare", "cloudflare-v4"],
  ["fastly.json", "Fastly", "fastly"],
  ["akamai.json", "Akamai", "akamai"],
  ["gmail-sending-ips.json", "Gmail's senders", "mail-senders"],
  ["smtp-sending-ips.json", "senders of mail providers", "mail-senders"],
  ["icloud-private-relay.json", "iCloud Private Relay", "icloud-private-relay"],
  ["public-dns-v4.json", "public resolvers, IPv4", "public-dns-v4"],
  ["public-dns-v6.json", "public resolvers, IPv6", "public-dns-v6"],
];

/** @returns none without the lists */
export function measureFlags({ reputation, manifest }: LoadedRelease): TruthRow[] {
  if (reputation === undefined) return [];
  const decoder = new TextDecoder();
  return NEVER.filter(([file]) => existsSync(join(VECTORS, "guards", file))).map(([file, what, feed]) => {
    const isRead = manifest.feeds.some(({ id, state }) => id === feed && state === "loaded");
    const { list }: { list: string[] } = JSON.parse(readFileSync(join(VECTORS, "guards", file), "utf8"));
    const flagged = list.filter((text) => {
      const address = parsePrefix(text)?.address;
      if (address === undefined) return false;
      unwrapIpv4(address);
      return decoder.decode(reputation.lookup(address)).includes(":true");
    });
    return {
      measure: "networks with a flag",
      sample: `${what}, ${count(list.length)}`,
      value: count(flagged.length),
      target: "0",
      seen: isRead ? "built from" : "held out",
    };
  });
}
