// networks.ts: measures the answers of releases about networks whose owner is known: kind, services, and false flags.

import { existsSync, readFileSync } from "node:fs";
import { type Prefix, parsePrefix } from "@inkling/engine";
import { MIRROR, VECTORS } from "../lib/shared-folders.ts";
import { type Build, lookups, type Network } from "./builds.ts";
import { count, share, type TruthRow } from "./rows.ts";

interface Sample {
  readonly name: string;
  readonly file: string;
  readonly seen: TruthRow["seen"];
  readonly target?: string;
  /** What an answer about the network must contain. Undefined if only flags are counted. */
  readonly want?: readonly [what: string, is: (network: Network) => boolean];
}

const isKind =
  (...kinds: readonly string[]) =>
  ({ kind }: Network) =>
    kinds.includes(kind);
const serves = (service: string) => (network: Network) => network.services.includes(service);

const HOSTING = ["hosting", isKind("hosting")] as const;
const SAMPLES: readonly Sample[] = [
  { name: "Amazon", file: "mirror/aws-geofeed.csv", seen: "operator", want: HOSTING },
  { name: "Google Cloud", file: "mirror/google-cloud-geofeed.csv", seen: "operator", want: HOSTING },
  { name: "Microsoft", file: "mirror/microsoft-geofeed.csv", seen: "operator", want: HOSTING },
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
    target: "at least 99%",
    want: ["shared, with the service relay", (network) => network.shared && serves("relay")(network)],
  },
  { name: "Akamai", file: "vectors/guards/akamai.json", seen: "operator", want: ["cdn", serves("cdn")] },
  { name: "Gmail's senders", file: "vectors/guards/gmail-sending-ips.json", seen: "held out" },
  { name: "mail senders", file: "vectors/guards/smtp-sending-ips.json", seen: "held out" },
  { name: "public resolvers", file: "vectors/guards/public-dns-v4.json", seen: "held out" },
];

const sampleFile = (file: string) => file.replace(/^mirror/, MIRROR).replace(/^vectors/, VECTORS);

/** The list whose mistakes are counted. */
const VPN_LIST = "vpn-systems";

export function measureNetworks({ mode, release }: Build): TruthRow[] {
  const lookUp = lookups(release).reputation;
  const rows: TruthRow[] = [];
  for (const { name, file, want, ...sampled } of SAMPLES) {
    const isRead = sampled.seen === "built from" && mode === "mirror";
    const seen = sampled.seen === "built from" && !isRead ? "held out" : sampled.seen;
    const target = isRead ? sampled.target : undefined;
    const path = sampleFile(file);
    if (!existsSync(path)) {
      rows.push({
        sample: name,
        measure: "kind and flags",
        mode,
        value: undefined,
        seen: `not measured: lacks ${file}`,
      });
      continue;
    }
    const networks = prefixesOf(readFileSync(path, "utf8"));
    let [addresses, right, rightNetworks, wrongKinds, flagged, listed] = [0, 0, 0, 0, 0, 0];
    for (const prefix of networks) {
      const facts = lookUp(prefix.address);
      if (facts === undefined) continue;
      if (facts.is_proxy || facts.is_abuser) listed++;
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
      const measured = { sample, mode, seen, ...(target !== undefined && { target }) };
      rows.push(
        { ...measured, measure: `${what}, by network`, value: share(rightNetworks, networks.length) },
        { ...measured, measure: `${what}, by address`, value: share(right, addresses) },
      );
      if (want[0] === "hosting" || want[0].startsWith("isp"))
        rows.push({
          measure: `another kind than ${what}`,
          sample,
          mode,
          seen,
          value: share(wrongKinds, networks.length),
        });
    }
    const ofAll = (some: number) => `${count(some)} of ${count(networks.length)}`;
    rows.push(
      {
        measure: `flagged by ${VPN_LIST}`,
        sample,
        mode,
        seen: "held out",
        target: "0",
        value: ofAll(flagged),
      },
      {
        measure: "is_proxy or is_abuser, by any list",
        sample,
        mode,
        seen: "held out",
        target: "0",
        value: ofAll(listed),
      },
    );
  }
  return rows;
}

/** Returns the networks in a geofeed, or in one of MISP's warning lists. */
export function prefixesOf(text: string): Prefix[] {
  const entries = text.startsWith("{")
    ? (JSON.parse(text) as { readonly list: readonly string[] }).list
    : text.split("\n").map((line) => line.split(",", 1)[0]!.trim());
  return entries.flatMap((entry) => parsePrefix(entry) ?? []);
}
