// filters.ts: export formats for proxies and packet filters. They contain as few networks as possible, with their flags
// or country.
//
// src  nginx ngx_http_geo_module; HAProxy map files (map_ip, map_str); ipset-restore; nft sets with intervals

import { REPUTATION_FLAGS } from "@inkling/contract";
import type { IpTable } from "../fields.ts";
import { heading, networks, networkText, paused, type Request, reduced, textFormat } from "./format.ts";
import type { AnswerRanges, ExportSource } from "./source.ts";

export const nginx = textFormat(
  "nginx",
  `write a file of geo blocks for nginx to include: $inkling_${REPUTATION_FLAGS[0]}, …, or $inkling_country`,
  ["reputation", "geolocate"],
  nginxLines,
);

export const haproxy = textFormat(
  "haproxy",
  "write a map file of networks with their flags or country, or of disposable domains",
  ["reputation", "geolocate", "email"],
  haproxyLines,
);

export const ipset = textFormat(
  "ipset",
  "write a file for `ipset restore` with one set per flag and address family",
  ["reputation"],
  (request) => flagSetLines(request, IPSET_HELP, ipsetLines),
);

export const nftables = textFormat(
  "nftables",
  "write a file for `nft -f`: one table with a set per flag and address family",
  ["reputation"],
  (request) => flagSetLines(request, NFT_HELP, nftLines),
);

const countryOf = (answer: string): string => JSON.parse(answer).country.iso_code ?? "";
const flagsOf = (answer: string): string[] => {
  const parsed = JSON.parse(answer);
  return REPUTATION_FLAGS.filter((flag) => parsed[flag] === true);
};

function* reducedRanges(
  source: ExportSource,
  lookup: IpTable,
  textOf: (answer: string) => string,
): Generator<"", AnswerRanges> {
  const all = yield* paused(source.ranges(lookup), "" as const);
  return yield* paused(reduced(all, textOf), "" as const);
}

function* nginxLines(request: Request): Generator<string> {
  yield heading(request);
  if (request.lookup === "geolocate") {
    yield '# Include this in the http block: $inkling_country is "DE", or "" if it is unknown.\n';
    yield* geoBlock(request, "geolocate", "country", '""', countryOf);
    return;
  }
  yield `# Include this in the http block: ${REPUTATION_FLAGS.map((flag) => `$inkling_${flag}`).join(", ")} are 1 or 0.\n`;
  for (const flag of REPUTATION_FLAGS) {
    yield* geoBlock(request, "reputation", flag, "0", (answer) =>
      flagsOf(answer).includes(flag) ? "1" : "",
    );
  }
}

function* geoBlock(
  { source }: Request,
  lookup: IpTable,
  name: string,
  otherwise: string,
  textOf: (answer: string) => string,
): Generator<string> {
  const ranges = yield* reducedRanges(source, lookup, textOf);
  yield `geo $inkling_${name} {\n    default ${otherwise};\n`;
  for (const network of networks(ranges))
    yield `    ${networkText(network)} ${ranges.answers[network.value]};\n`;
  yield "}\n";
}

/**
 * The help uses map_str, because map_dom also matches in the middle of a longer name and reads the whole list each
 * time.
 */
const HAPROXY_DOMAINS = `# Check the domain in lower case, then its parent domains:
# acl disposable var(txn.mail_domain),map_str(FILE) -m found
# acl disposable var(txn.mail_domain),field(2,.,0),map_str(FILE) -m found
# acl disposable var(txn.mail_domain),field(3,.,0),map_str(FILE) -m found
`;

function* haproxyLines(request: Request): Generator<string> {
  const { source, lookup } = request;
  yield heading(request);
  if (lookup === "email") {
    yield HAPROXY_DOMAINS;
    for (const { domain, providers } of source.domains()) yield `${domain} ${providers.join(",")}\n`;
    return;
  }
  const ranges = yield* reducedRanges(source, lookup, (answer) =>
    lookup === "geolocate" ? countryOf(answer) : flagsOf(answer).join(","),
  );
  yield lookup === "geolocate"
    ? "# http-request set-header X-Country %[src,map_ip(FILE)]\n"
    : "# http-request deny if { src,map_ip(FILE) -m sub is_tor_exit }\n";
  for (const network of networks(ranges)) yield `${networkText(network)} ${ranges.answers[network.value]}\n`;
}

/** The networks of one family that have a flag. */
interface FlagSet {
  readonly name: string;
  readonly family: 4 | 6;
  readonly members: readonly string[];
}

/** @yields the lines of each set; "" is a pause */
function* flagSetLines(
  request: Request,
  help: string,
  linesOf: (flagSet: FlagSet) => Iterable<string>,
): Generator<string> {
  yield heading(request);
  yield help;
  const all = yield* paused(request.source.ranges("reputation"), "");
  for (const flag of REPUTATION_FLAGS) {
    const isFlagged = (answer: string) => (flagsOf(answer).includes(flag) ? flag : "");
    const ranges = yield* paused(reduced(all, isFlagged), "");
    for (const family of [4, 6] as const) {
      const members = Array.from(networks(ranges, [family]), networkText);
      yield* linesOf({ name: `${flag}_v${family}`, family, members });
    }
  }
}

const IPSET_HELP =
  "# ipset restore -exist < FILE; then: iptables -A INPUT -m set --match-set inkling_is_abuser_v4 src -j DROP\n";
/**
 * Minimum capacity of a set. A set never changes its capacity, and the sets of two exports can only be swapped if their
 * capacities are equal.
 */
const MIN_MAXELEM = 2 ** 20;

/** Fills a new set and then swaps it with the set in use, so that the set in use is never incomplete. */
function* ipsetLines({ name, family, members }: FlagSet): Generator<string> {
  const used = `inkling_${name}`;
  const next = `${used}_new`;
  const most = Math.max(MIN_MAXELEM, 2 ** Math.ceil(Math.log2(members.length + 1)));
  const type = `hash:net family ${family === 4 ? "inet" : "inet6"} maxelem ${most}`;
  yield `create ${used} ${type}\ncreate ${next} ${type}\nflush ${next}\n`;
  for (const member of members) yield `add ${next} ${member}\n`;
  yield `swap ${next} ${used}\ndestroy ${next}\n`;
}

const NFT_HELP = `# nft -f FILE; then: nft add chain inet inkling input '{ type filter hook input priority 0; }'
#                    nft add rule inet inkling input ip saddr @is_abuser_v4 drop
`;

/**
 * Writes one set. `nft -f` applies the whole file as one transaction. The table keeps its chains, because they may
 * contain rules.
 */
function* nftLines({ name, family, members }: FlagSet): Generator<string> {
  yield `table inet inkling {\n    set ${name} {\n        type ipv${family}_addr\n        flags interval\n    }\n}\n`;
  yield `flush set inet inkling ${name}\n`;
  if (members.length === 0) return;
  yield `add element inet inkling ${name} {\n`;
  for (const member of members) yield `    ${member},\n`;
  yield "}\n";
}
