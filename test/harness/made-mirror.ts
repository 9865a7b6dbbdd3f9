// made-mirror.ts: a small mirror of our own. Its files have the formats of real feeds, and a few more entries than the
// minimum of each feed.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const rows = (count: number, row: (high: number, low: number) => string) =>
  Array.from({ length: count }, (_, i) => row(i >> 8, i & 255));

const exits = rows(720, (high, low) => `185.220.${96 + high}.${low}`);
const proxies = rows(60, (_, low) => `45.66.100.${low}`);

const FILES: Readonly<Record<string, string>> = {
  "tor-bulk-exits.txt": lines(exits),
  "tor-onionoo.json": JSON.stringify({
    version: "8.0",
    relays: exits.map((exit, i) => ({
      fingerprint: i.toString(16).padStart(40, "0"),
      or_addresses: [`${exit}:443`],
      exit_addresses: [exit],
    })),
    bridges: [],
  }),
  "x4bnet-vpn-v4.txt": lines(rows(3_600, (high, low) => `91.${100 + high}.${low}.0/24`)),
  "x4bnet-vpn-v6.txt": lines(rows(120, (_, low) => `2a0e:${(0x1000 + low).toString(16)}::/32`)),
  "monosans-proxies.json": JSON.stringify(
    proxies.map((host) => ({ protocol: "socks5", host, port: 1080, exit_ip: host, geolocation: null })),
  ),
  "ipsum-3.txt": lines(rows(3_100, (high, low) => `103.${100 + high}.${low}.7`)),
  "spamhaus-drop-v4.json": lines([
    ...rows(520, (high, low) => JSON.stringify({ cidr: `176.${100 + high}.${low}.0/24`, sblid: "SBL1" })),
    JSON.stringify({ type: "metadata", timestamp: Math.floor(Date.now() / 1_000), records: 520 }),
  ]),
  "icloud-private-relay.csv": lines(
    rows(4_100, (high, low) => `172.${224 + high}.${low}.0/31,GB,GB-ENG,London,`),
  ),
  "disposable-email-domains.txt": lines(rows(3_100, (high, low) => `throwaway-${high}-${low}.com`)),
  "free-mail.txt": lines(["gmail.com", ...rows(1_600, (high, low) => `free-mail-${high}-${low}.com`)]),
  "relay-mail.txt": lines(rows(12, (_, low) => `relay-${low}.com`)),
};

function lines(texts: readonly string[]): string {
  return `${texts.join("\n")}\n`;
}

/** Writes the files into `folder`. */
export function makeMirror(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
}
