// onionoo.ts: Tor's Onionoo `details`: the addresses of relays that let traffic out.
//
// src  metrics.torproject.org/onionoo.html: or_addresses are "ip:port" and "[v6]:port"; exit_addresses are those
//      seen by exit scanners in the last 24 hours, and left out when there are none

import { z } from "zod";
import type { ParsedNetworks } from "../catalog/feed.ts";
import { readJson } from "./json.ts";
import { NetworkList } from "./network-list.ts";
import { Tally } from "./tally.ts";
import { findDate, readText } from "./text.ts";

const details = z.object({
  relays_published: z.string().optional(),
  relays: z.array(
    z.object({
      or_addresses: z.array(z.string()),
      exit_addresses: z.array(z.string()).optional(),
      // Not asked for, but a copy made by hand may hold them, and all other relays with them.
      flags: z.array(z.string()).optional(),
      running: z.boolean().optional(),
    }),
  ),
});

const WITH_PORT = /^(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)):[0-9]{1,5}$/;

/** @throws FeedError when the file cannot be believed */
export function parseOnionoo(body: Uint8Array): ParsedNetworks {
  const { relays, relays_published } = readJson(readText(body), details);
  const tally = new Tally("record");
  const list = new NetworkList(tally);
  for (const [index, relay] of relays.entries()) {
    const number = index + 1;
    if (relay.running === false || relay.flags?.includes("Exit") === false) {
      tally.pass(number, "is not a running exit");
      continue;
    }
    for (const text of relay.or_addresses) {
      const parts = WITH_PORT.exec(text);
      if (parts === null) tally.fail(number, text, "is not an address with a port");
      else list.add(number, (parts[1] ?? parts[2])!);
    }
    for (const text of relay.exit_addresses ?? []) list.add(number, text);
  }
  tally.check();
  const publishedAt = relays_published === undefined ? undefined : findDate(relays_published);
  return { networks: list.sorted(), ...tally.report, ...(publishedAt && { publishedAt }) };
}
