// truth-network.ts: how true network facts and VPN networks are, measured on lists of addresses.
//
// in   a data folder with a release, and the folder of shared test data
// out  a row for each figure, with its sample and whether the build has seen that sample
// note `seen`: "no", "operator" where the rules name the operator but the build has not its list, "yes" where the build
//      has the list itself. There is no list of addresses of universities, nor of ISPs but Starlink, in the shared data:
//      their figures are of systems by name only

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
import { openServable } from "@inkling/release-store";

export interface TruthRow {
  readonly measure: string;
  /** What it was measured on, with its size. */
  readonly sample: string;
  /** As text: "99.1 %", "0 of 5,312". */
  readonly value: string;
  readonly target?: string;
  readonly seen: "no" | "operator" | "yes";
}

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
    seen: "yes",
    target: ">= 99 %",
    want: ["shared, with the service relay", (network) => network.shared && serves("relay")(network)],
  },
  {
    name: "Googlebot",
    file: "vectors/guards/googlebot.json",
    seen: "yes",
    want: ["crawler", serves("crawler")],
  },
  { name: "Cloudflare", file: "vectors/guards/cloudflare.json", seen: "yes", want: ["cdn", serves("cdn")] },
  { name: "Fastly", file: "vectors/guards/fastly.json", seen: "yes", want: ["cdn", serves("cdn")] },
  { name: "Akamai", file: "vectors/guards/akamai.json", seen: "operator", want: ["cdn", serves("cdn")] },
  { name: "Gmail's senders", file: "vectors/guards/gmail-sending-ips.json", seen: "no" },
  { name: "mail senders", file: "vectors/guards/smtp-sending-ips.json", seen: "no" },
  { name: "public resolvers", file: "vectors/guards/public-dns-v4.json", seen: "no" },
];

/** The list whose mistakes are counted. */
const VPN_LIST = "vpn-systems";

/** @param shared the folder with `mirror` and `vectors`; samples that are not there have no row */
export async function measureNetworkTruth(
  dataDir: string,
  shared = join(import.meta.dirname, "../../../shared"),
): Promise<TruthRow[]> {
  const release = openServable(dataDir);
  const lookUp = lookupOf(release);
  const rows: TruthRow[] = [];
  for (const { name, file, seen, target, want } of SAMPLES) {
    const path = join(shared, file);
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
    const sample = `${name}: ${amount(networks.length)} networks`;
    if (want !== undefined) {
      const [what] = want;
      const measured = { sample, seen, ...(target !== undefined && { target }) };
      rows.push(
        { ...measured, measure: `${what}, by network`, value: percent(rightNetworks, networks.length) },
        { ...measured, measure: `${what}, by address`, value: percent(right, addresses) },
      );
      if (want[0] === "hosting" || want[0].startsWith("isp"))
        rows.push({
          measure: `another kind than ${what}`,
          sample,
          seen,
          value: percent(wrongKinds, networks.length),
        });
    }
    rows.push({
      measure: `flagged by ${VPN_LIST}`,
      sample,
      seen: "no",
      target: "0",
      value: `${amount(flagged)} of ${amount(networks.length)}`,
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
    seen: "yes" as const,
    value: percent(size, announced),
  }));
}

/** Networks in a geofeed, or in a warning list of MISP. */
function prefixesOf(text: string): Prefix[] {
  const entries = text.startsWith("{")
    ? (JSON.parse(text) as { readonly list: readonly string[] }).list
    : text.split("\n").map((line) => line.split(",", 1)[0]!.trim());
  return entries.flatMap((entry) => parsePrefix(entry) ?? []);
}

const percent = (part: number, whole: number) =>
  whole === 0 ? "none" : `${((100 * part) / whole).toFixed(1)} %`;
const amount = (count: number) => count.toLocaleString("en");
