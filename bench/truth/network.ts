// network.ts: how true network facts and VPN networks are, measured on lists of addresses.
//
// in   a data folder with a release, and the folder of shared test data
// out  a row for each figure, with its sample and whether the build has seen that sample
// note there is no list of addresses of universities, nor of ISPs but Starlink, in the shared data: their figures are of
//      systems by name only

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  Answerer,
  bodyOf,
  formatIp,
  INCLUDE,
  type LoadedRelease,
  Overrides,
  type Prefix,
  parsePrefix,
} from "@inkling/engine";
import { MIRROR, VECTORS } from "../lib/shared-folders.ts";
import { count, share, type TruthRow } from "./row.ts";

interface Network {
  readonly kind: string;
  readonly shared: boolean;
  readonly services: readonly string[];
}

interface Facts {
  readonly network: Network | null;
  readonly is_proxy: boolean;
  readonly evidence: readonly { readonly feed: string; readonly effect: string }[];
}

interface Sample {
  readonly name: string;
  readonly file: string;
  readonly seen: TruthRow["seen"];
  readonly target?: string;
  /** What an answer about it has to say; undefined: only that no list of VPN systems names it. */
  readonly want?: readonly [what: string, is: (network: Network) => boolean];
}

const isKind =
  (...kinds: readonly string[]) =>
  ({ kind }: Network) =>
    kinds.includes(kind);
const serves = (service: string) => (network: Network) => network.services.includes(service);

const SAMPLES: readonly Sample[] = [
  { name: "Amazon", file: "mirror/aws-geofeed.csv", seen: "operator", want: ["hosting", isKind("hosting")] },
  {
    name: "Google Cloud",
    file: "mirror/google-cloud-geofeed.csv",
    seen: "operator",
    want: ["hosting", isKind("hosting")],
  },
  {
    name: "Microsoft",
    file: "mirror/microsoft-geofeed.csv",
    seen: "operator",
    want: ["hosting", isKind("hosting")],
  },
  {
    name: "Starlink",
    file: "mirror/starlink-geofeed.csv",
    seen: "operator",
    want: ["isp or mobile", isKind("isp", "mobile")],
  },
  {
    name: "iCloud Private Relay",
    file: "mirror/icloud-private-relay.csv",
    seen: "built from",
    target: ">= 99 %",
    want: ["shared, with the service relay", (network) => network.shared && serves("relay")(network)],
  },
  {
    name: "Googlebot",
    file: "vectors/guards/googlebot.json",
    seen: "built from",
    want: ["crawler", serves("crawler")],
  },
  {
    name: "Cloudflare",
    file: "vectors/guards/cloudflare.json",
    seen: "built from",
    want: ["cdn", serves("cdn")],
  },
  { name: "Fastly", file: "vectors/guards/fastly.json", seen: "built from", want: ["cdn", serves("cdn")] },
  { name: "Akamai", file: "vectors/guards/akamai.json", seen: "operator", want: ["cdn", serves("cdn")] },
  { name: "Gmail's senders", file: "vectors/guards/gmail-sending-ips.json", seen: "held out" },
  { name: "mail senders", file: "vectors/guards/smtp-sending-ips.json", seen: "held out" },
  { name: "public resolvers", file: "vectors/guards/public-dns-v4.json", seen: "held out" },
];

const sampleFile = (file: string) =>
  file.startsWith("mirror/")
    ? join(MIRROR, file.slice("mirror/".length))
    : join(VECTORS, file.slice("vectors/".length));

/** The list whose mistakes are counted. */
const VPN_LIST = "vpn-systems";

/** Samples that are not there have no row. */
export function measureNetworks(release: LoadedRelease): TruthRow[] {
  const lookUp = lookupOf(release);
  const rows: TruthRow[] = [];
  for (const { name, file, seen, target, want } of SAMPLES) {
    const path = sampleFile(file);
    if (!existsSync(path)) continue;
    const networks = prefixesOf(readFileSync(path, "utf8"));
    let [addresses, right, rightNetworks, wrongKinds, flagged] = [0, 0, 0, 0, 0];
    for (const prefix of networks) {
      const facts = lookUp(prefix);
      if (facts === undefined) continue;
      if (facts.is_proxy && facts.evidence.some(({ feed, effect }) => feed === VPN_LIST && effect === "sets"))
        flagged++;
      const weight = 2 ** ((prefix.address.family === 4 ? 32 : 64) - Math.min(prefix.bits, 64));
      addresses += weight;
      if (facts.network === null || want === undefined) continue;
      if (want[1](facts.network)) {
        right += weight;
        rightNetworks++;
      } else if (facts.network.kind !== "unknown") wrongKinds++;
    }
    const sample = `${name}: ${count(networks.length)} networks`;
    if (want !== undefined) {
      const [what] = want;
      const measured = { sample, seen, ...(target !== undefined && { target }) };
      rows.push(
        { ...measured, measure: `${what}, by network`, value: share(rightNetworks, networks.length) },
        { ...measured, measure: `${what}, by address`, value: share(right, addresses) },
      );
      if (want[0] === "hosting" || want[0].startsWith("isp"))
        rows.push({
          measure: `another kind than ${what}`,
          sample,
          seen,
          value: share(wrongKinds, networks.length),
        });
    }
    rows.push({
      measure: `flagged by ${VPN_LIST}`,
      sample,
      seen: "held out",
      target: "0",
      value: `${count(flagged)} of ${count(networks.length)}`,
    });
  }
  return [...rows, ...shares(release)];
}

/** What the release says about the first address of a network that is no special use. */
function lookupOf(release: LoadedRelease): (prefix: Prefix) => Facts | undefined {
  const answerer = new Answerer();
  const source = { release, overrides: Overrides.NONE, now: 0, mode: "up" } as const;
  const decoder = new TextDecoder();
  return ({ address }) => {
    if (answerer.readAddress(formatIp(address)) !== undefined) return undefined;
    const include = INCLUDE.evidence | INCLUDE.network;
    const outcome = answerer.answerAddress("reputation", answerer.address, source, include);
    return "reason" in outcome ? undefined : JSON.parse(decoder.decode(bodyOf(outcome)));
  };
}

/** The kinds of announced IPv4 addresses: `unknown` is what the rules leave open. */
function shares({ network }: LoadedRelease): TruthRow[] {
  if (network === undefined) return [];
  const decoder = new TextDecoder();
  const byKind = new Map<string, number>();
  let announced = 0;
  const address = parsePrefix("0.0.0.0/0")!.address;
  for (let at = 0; at < 2 ** 32; ) {
    address.words[0] = at;
    const bits = network.networkBits(address);
    const facts = JSON.parse(decoder.decode(network.answer(network.record(address))));
    const size = 2 ** (32 - bits);
    if (facts.asn !== undefined) {
      announced += size;
      byKind.set(facts.kind, (byKind.get(facts.kind) ?? 0) + size);
    }
    at += size;
  }
  return [...byKind].sort().map(([kind, size]) => ({
    measure: `kind ${kind}, by address`,
    sample: "announced IPv4",
    seen: "built from" as const,
    value: share(size, announced),
  }));
}

/** Networks in a geofeed, or in a warning list of MISP. */
function prefixesOf(text: string): Prefix[] {
  const entries = text.startsWith("{")
    ? (JSON.parse(text) as { readonly list: readonly string[] }).list
    : text.split("\n").map((line) => line.split(",", 1)[0]!.trim());
  return entries.flatMap((entry) => parsePrefix(entry) ?? []);
}
