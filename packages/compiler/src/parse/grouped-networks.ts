// grouped-networks.ts: parses lists whose entries differ in what they mean: by operator, or by how sure the list is.
//
// in   avastel-csv: comments after "#", a header, then network;organization;confidence
//      ipverse-bots: { services: { NAME: { ip_list_authoritative, ipv4, ipv6 } } }
// out  all networks, and the same networks in groups
// err  FeedError if the file has another format, or was cut short
// src  github.com/antoinevastel/avastel-bot-ips-lists, github.com/ipverse/bot-ip-blocks, read in November 2026

import type { Prefix } from "@inkling/engine";
import { z } from "zod";
import { NetworkList } from "./network-list.ts";
import { forEachEntry, parsed, readJson } from "./parser.ts";
import { Tally } from "./tally.ts";
import { findDate, readText } from "./text.ts";

export interface NetworkGroup {
  /** Who runs the networks, in lower case, if the list states it. */
  readonly operator?: string;
  /** Whether the list itself doubts that its claim holds for all addresses of these networks. */
  readonly isDoubtful: boolean;
  readonly networks: readonly Prefix[];
}

const HEADER = "ip_address;autonomous_system;confidence";
const ROW = /^([^;]+);.*;([01](?:\.\d+)?)$/;

/** Networks with a confidence below 1 also serve ordinary people, so they are doubtful. */
export function parseAvastel(body: Uint8Array) {
  const list = new NetworkList(new Tally());
  const [sure, doubtful]: [Prefix[], Prefix[]] = [[], []];
  let publishedAt: Date | undefined;
  forEachEntry(readText(body), list.tally, (line, number) => {
    if (line.startsWith("#")) publishedAt ??= findDate(/^# Last update:\s*(\S+)/.exec(line)?.[1]);
    if (line.startsWith("#") || line === HEADER) return;
    const match = ROW.exec(line);
    if (match === null) list.tally.fail(number, "is not network;organization;confidence");
    const network = match === null ? undefined : list.add(number, match[1]!);
    if (network !== undefined) (Number(match![2]) === 1 ? sure : doubtful).push(network);
  });
  const groups: NetworkGroup[] = [
    { isDoubtful: false, networks: sure },
    { isDoubtful: true, networks: doubtful },
  ];
  return { ...parsed(list, { publishedAt }), groups };
}

const BOTS = z.object({
  services: z.record(
    z.string(),
    z.object({
      ip_list_authoritative: z.boolean(),
      ipv4: z.array(z.string()),
      ipv6: z.array(z.string()).optional(),
    }),
  ),
});

/** The operators that have another name than their service. */
const OPERATORS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    Amazonbot: "amazon",
    Applebot: "apple",
    Bingbot: "microsoft",
    "ChatGPT-User": "openai",
    ClaudeBot: "anthropic",
    DuckDuckBot: "duckduckgo",
    GPTBot: "openai",
    "Google (special)": "google",
    "Google (user-triggered)": "google",
    Googlebot: "google",
    Kagibot: "kagi",
    "Meta-ExternalAgent": "meta",
    "OAI-SearchBot": "openai",
    PerplexityBot: "perplexity",
    SERankingBacklinksBot: "seranking",
  }),
);
const operatorOf = (service: string): string =>
  OPERATORS.get(service) ?? service.toLowerCase().replace(/[^a-z0-9]/g, "");

/**
 * Maximum length of a prefix that contains more than one service's machines. The widest list of a crawler has a /17,
 * for ChatGPT's users.
 */
const MAX_SHARED_BITS = { 4: 16, 6: 47 } as const;

/** Networks are doubtful if they are all of the operator's networks, or too wide to contain only the service. */
export function parseIpverseBots(body: Uint8Array) {
  const list = new NetworkList(new Tally("record"));
  const { services } = readJson(readText(body), BOTS);
  const groups = Object.entries(services).flatMap(([service, { ip_list_authoritative, ipv4, ipv6 = [] }]) => {
    const operator = operatorOf(service);
    const networks = [...ipv4, ...ipv6].flatMap((text, index) => list.add(index + 1, text) ?? []);
    const isDoubtful = ({ address, bits }: Prefix) =>
      !ip_list_authoritative || bits <= MAX_SHARED_BITS[address.family];
    return [true, false].map((doubtful): NetworkGroup => {
      const own = networks.filter((network) => isDoubtful(network) === doubtful);
      return { operator, isDoubtful: doubtful, networks: own };
    });
  });
  list.tally.check();
  return { ...parsed(list), groups: groups.filter(({ networks }) => networks.length > 0) };
}
