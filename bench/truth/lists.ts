// lists.ts: scores lists in INKLING_PEERS: disposable domains, or networks of VPNs, one entry per line.

import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { parseDomains, parseNetworks } from "../lib/compiler.ts";
import { namedPeers } from "./databases.ts";
import { scoreDomainList } from "./domains.ts";
import { scoreNetworkList } from "./vpns.ts";

/** Returns a section with all lists, or "" if there are none. */
export function listTable(): string {
  const lists = namedPeers().filter(([, [file]]) => !file!.endsWith(".mmdb"));
  const lines = lists.flatMap(([name, [file]]) =>
    scoreList(readFileSync(file!)).map((cells) => `| ${[name, ...cells].join(" | ")} |\n`),
  );
  if (lines.length === 0) return "";
  return `## Other lists\n\n| list | sample | measure | value |\n|---|---|---|---|\n${lines.join("")}`;
}

/** The first entry tells whether a list has networks or domains. */
export function scoreList(body: Uint8Array): [sample: string, measure: string, value: string][] {
  const [first = ""] = /^[^#\s][^\s/,;]*/m.exec(new TextDecoder().decode(body)) ?? [];
  if (isIP(first) !== 0) return scoreNetworkList(parseNetworks("ip-lines", body).networks);
  return scoreDomainList(new Set(parseDomains("domain-lines", body).domains.keys()));
}
