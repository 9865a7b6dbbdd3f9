// filters.ts: exports that proxies and packet filters load: networks, and what is to be known of them, as few as there can be.
//
// src  nginx ngx_http_geo_module; HAProxy map files (map_ip, map_str); ipset-restore; nft sets with intervals

import { MEMBERS } from "../members.ts";
import {
  type ExportFormat,
  heading,
  inPieces,
  networks,
  networkText,
  paused,
  type Request,
  reduced,
} from "./format.ts";
import type { AnswerRanges, ExportSource, IpLookup } from "./source.ts";

const FLAGS = MEMBERS.reputation.map(({ name }) => name);

export const nginx: ExportFormat = {
  name: "nginx",
  what: "a file of geo blocks to include: $inkling_is_abuser, …, or $inkling_country",
  lookups: ["reputation", "geolocate"],
  isFolder: false,
  pieces: (request) => inPieces("", nginxLines(request)),
};

export const haproxy: ExportFormat = {
  name: "haproxy",
  what: "a map file: networks with their flags or country, or disposable domains",
  lookups: ["reputation", "geolocate", "email"],
  isFolder: false,
  pieces: (request) => inPieces("", haproxyLines(request)),
};

export const ipset: ExportFormat = {
  name: "ipset",
  what: "for `ipset restore`: a set for each flag and family",
  lookups: ["reputation"],
  isFolder: false,
  pieces: (request) => inPieces("", ipsetLines(request)),
};

export const nftables: ExportFormat = {
  name: "nftables",
  what: "for `nft -f`: a table with a set for each flag and family",
  lookups: ["reputation"],
  isFolder: false,
  pieces: (request) => inPieces("", nftLines(request)),
};

const countryOf = (answer: string): string => JSON.parse(answer).country.iso_code ?? "";
const flagsOf = (answer: string): string[] => {
  const parsed = JSON.parse(answer);
  return FLAGS.filter((flag) => parsed[flag] === true);
};

function* reducedRanges(
  source: ExportSource,
  lookup: IpLookup,
  textOf: (answer: string) => string,
): Generator<"", AnswerRanges> {
  const all = yield* paused(source.ranges(lookup), "" as const);
  return yield* paused(reduced(all, textOf), "" as const);
}

function* nginxLines(request: Request): Generator<string> {
  yield heading(request);
  if (request.lookup === "geolocate") {
    yield '# Include this in the http block: $inkling_country is "DE", or "" where it is unknown.\n';
    yield* geoBlock(request, "geolocate", "country", '""', countryOf);
    return;
  }
  yield `# Include this in the http block: ${FLAGS.map((flag) => `$inkling_${flag}`).join(", ")} are 1 or 0.\n`;
  for (const flag of FLAGS) {
    yield* geoBlock(request, "reputation", flag, "0", (answer) =>
      flagsOf(answer).includes(flag) ? "1" : "",
    );
  }
}

function* geoBlock(
  { source }: Request,
  lookup: "geolocate" | "reputation",
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

/** Not map_dom: it also finds the entry in the middle of a longer name, and reads the whole list each time. */
const HAPROXY_DOMAINS = `# The domain in lower case, then what it is below:
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

/** Each flag in each family: the name of its set, and the networks in it. */
interface FlagSet {
  readonly name: string;
  readonly family: 4 | 6;
  readonly members: string[];
}

function* flagSets({ source }: Request): Generator<FlagSet | undefined> {
  const all = yield* paused(source.ranges("reputation"), undefined);
  for (const flag of FLAGS) {
    const ranges = yield* reduced(all, (answer) => (flagsOf(answer).includes(flag) ? flag : ""));
    for (const family of [4, 6] as const) {
      const members = Array.from(networks(ranges, [family]), networkText);
      yield { name: `inkling_${flag}_v${family}`, family, members };
    }
  }
}

/** A set keeps the size that it was made with: sets of two exports can only be swapped when it is the same. */
const LEAST_MAXELEM = 2 ** 20;

/** A set is filled beside the one in use and then takes its place, so that there is never half of one. */
function* ipsetLines(request: Request): Generator<string> {
  yield heading(request);
  yield "# ipset restore -exist < FILE; then: iptables -A INPUT -m set --match-set inkling_is_abuser_v4 src -j DROP\n";
  for (const flagSet of flagSets(request)) {
    if (flagSet === undefined) yield "";
    if (flagSet === undefined) continue;
    const { name, family, members } = flagSet;
    const next = `${name}_new`;
    const most = Math.max(LEAST_MAXELEM, 2 ** Math.ceil(Math.log2(members.length + 1)));
    const type = `hash:net family ${family === 4 ? "inet" : "inet6"} maxelem ${most}`;
    yield `create ${name} ${type}\ncreate ${next} ${type}\nflush ${next}\n`;
    for (const member of members) yield `add ${next} ${member}\n`;
    yield `swap ${next} ${name}\ndestroy ${next}\n`;
  }
}

/** One transaction that leaves the chains of the table alone: rules may stand in it. */
function* nftLines(request: Request): Generator<string> {
  yield heading(request);
  yield "# nft -f FILE; then: nft add chain inet inkling input '{ type filter hook input priority 0; }'\n";
  yield "#                    nft add rule inet inkling input ip saddr @is_abuser_v4 drop\n";
  for (const flagSet of flagSets(request)) {
    if (flagSet === undefined) yield "";
    if (flagSet === undefined) continue;
    const { name, family, members } = flagSet;
    const set = name.replace("inkling_", "");
    yield `table inet inkling {\n    set ${set} {\n        type ipv${family}_addr\n        flags interval\n    }\n}\n`;
    yield `flush set inet inkling ${set}\n`;
    if (members.length === 0) continue;
    yield `add element inet inkling ${set} {\n`;
    for (const member of members) yield `    ${member},\n`;
    yield "}\n";
  }
}
