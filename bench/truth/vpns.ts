// vpns.ts: measures how many of a VPN's servers are recognized if the build lacks them, and whether the networks around
// servers contain anyone else. IPv4 only.
//
// The servers are divided into ten parts by their addresses. Each part in turn is left out of the VPN's own list, so
// that all servers of the sample are held out once.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Prefix } from "@inkling/engine";
import {
  FEEDS,
  isSystemFormat,
  type KindClaims,
  type NetworkClaims,
  networksOfSystems,
  parseNetworks,
  parseOperatorSystems,
  parseSystemKinds,
  vpnNetworks,
} from "../lib/compiler.ts";
import { ROOT } from "../lib/data.ts";
import { MIRROR, VECTORS } from "../lib/shared-folders.ts";
import { announced } from "./kinds.ts";
import { prefixesOf } from "./networks.ts";
import { count, share, type TruthRow } from "./rows.ts";
import { isThere, SAMPLE } from "./samples.ts";

const PARTS = 10;
/** The share of held-out servers that must be recognized. */
const TARGETS: Readonly<Record<string, string>> = {
  NordVPN: "at least 85%",
  ExpressVPN: "at least 60%",
  "Proton VPN": "at least 80%",
  Mullvad: "at least 85%",
  Surfshark: "at least 85%",
  IVPN: "at least 60%",
  Windscribe: "at least 60%",
  PureVPN: "at least 60%",
};
/** Networks that no VPN uses, by who uses them. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  "clouds and access providers": [
    ...["aws-geofeed.csv", "google-cloud-geofeed.csv", "microsoft-geofeed.csv"],
    ...["starlink-geofeed.csv", "verizon-geofeed.csv", "tmobile-geofeed.csv"],
  ].map((file) => join(MIRROR, file)),
  "mail senders": ["smtp-sending-ips.json", "gmail-sending-ips.json"].map((file) =>
    join(VECTORS, "guards", file),
  ),
  "monitors, crawlers and webhook senders": FEEDS.filter(
    ({ label }) => label === "monitor" || label === "crawler" || label === "webhook_sender",
  ).flatMap(({ id }) => ["txt", "json"].map((ending) => join(MIRROR, `${id}.${ending}`))),
};

type Range = readonly [start: number, end: number];
const rangeOf = ({ address, bits }: Prefix): Range => [
  address.words[0]!,
  address.words[0]! + 2 ** (32 - bits),
];
const isV4 = ({ address }: Prefix) => address.family === 4;

/** Returns whether a range shares an address with any of these networks. */
function overlaps(networks: readonly Prefix[]): (range: Range) => boolean {
  const merged: [number, number][] = [];
  for (const [start, end] of networks
    .filter(isV4)
    .map(rangeOf)
    .sort(([a], [b]) => a - b)) {
    const last = merged.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
    else merged.push([start, end]);
  }
  return ([start, end]) => {
    let [low, high] = [0, merged.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (merged[middle]![1] <= start) low = middle + 1;
      else high = middle;
    }
    return low < merged.length && merged[low]![0] < end;
  };
}

/** Returns a server's part: its address is mixed, because neighbours would otherwise be in neighbouring parts. */
const partOf = ({ address }: Prefix): number =>
  ((Math.imul(address.words[0]! ^ (address.words[0]! >>> 16), 0x21f0aaad) >>> 8) & 0xffff) % PARTS;

/** The limits of VPN networks were chosen on the other half of the clean networks. */
const isHeldOut = ({ address }: Prefix): boolean =>
  ((Math.imul(address.words[0]! ^ (address.words[0]! >>> 15), 0x2c1b3c6d) >>> 9) & 1) === 1;

export function measureVpns(): TruthRow[] {
  const { vpnServers } = SAMPLE;
  const measured = { mode: "mirror", seen: "held out" } as const;
  if (!isThere(vpnServers) || !existsSync(MIRROR)) {
    const seen = `not measured: lacks ${isThere(vpnServers) ? "a mirror" : vpnServers.from}` as const;
    return Object.entries(TARGETS).map(([sample, target]) => ({
      ...{ measure: "recognized, a tenth of its list held out", sample, mode: "mirror", value: undefined },
      ...{ target, seen },
    }));
  }
  const lists = serverLists();
  const asns = announced();
  const kinds = systemKinds();
  const found = (claims: readonly NetworkClaims[]) => vpnNetworks(claims, asns, kinds, () => false);
  const known = [
    ...parseNetworks("ip-lines", readFileSync(join(MIRROR, "x4bnet-vpn-v4.txt"))).networks,
    ...[
      ...networksOfSystems(
        asns,
        parseOperatorSystems(readFileSync(join(ROOT, "packages/compiler/data/vpn-systems.csv"))),
      ).values(),
    ].flat(),
  ];
  const rows = Object.entries(TARGETS).flatMap(([provider, target]): TruthRow[] => {
    const own = lists.find((list) => list.provider === provider)!;
    const others = lists.filter((list) => list !== own);
    const ofOthers = others.flatMap(({ networks }) => networks);
    const recognized = (list: readonly Prefix[], servers: readonly Prefix[], derive: boolean) => {
      const claims = derive ? found([...others, listOf(provider, list)]) : [];
      const is = overlaps([...known, ...ofOthers, ...list, ...claims.flatMap(({ networks }) => networks)]);
      return servers.filter((server) => is(rangeOf(server))).length;
    };
    const heldOut = (derive: boolean) =>
      Array.from({ length: PARTS }, (_, part) => {
        const rest = own.networks.filter((server) => partOf(server) !== part);
        return recognized(
          rest,
          own.networks.filter((server) => partOf(server) === part),
          derive,
        );
      }).reduce((sum, some) => sum + some, 0);
    const sample = `${provider}, ${count(own.networks.length)} servers`;
    const ofAll = (some: number) => share(some, own.networks.length);
    return [
      {
        ...{ ...measured, sample, target, measure: "recognized, a tenth of its list held out" },
        value: ofAll(heldOut(true)),
      },
      {
        ...{ ...measured, sample, measure: "the same, without VPN networks" },
        value: ofAll(heldOut(false)),
      },
      {
        ...{ ...measured, sample, target, measure: "recognized, its list held out" },
        value: ofAll(recognized([], own.networks, true)),
      },
    ];
  });
  const isVpn = overlaps(found(lists).flatMap(({ networks }) => networks));
  const clean = cleanNetworks().map(({ sample, networks }): TruthRow => {
    return {
      ...{ ...measured, sample, measure: "near a VPN's servers", target: "0" },
      value: `${networks.filter((network) => isVpn(rangeOf(network))).length} of ${count(networks.length)}`,
    };
  });
  return [...rows, ...clean];
}

/** Scores any list of networks. @returns sample, measure and value of each row */
export function scoreNetworkList(list: readonly Prefix[]): [string, string, string][] {
  const isListed = overlaps(list);
  const listed = (networks: readonly Prefix[]) =>
    networks.filter((network) => isListed(rangeOf(network))).length;
  const servers = isThere(SAMPLE.vpnServers) ? serverLists() : [];
  return [
    ...servers
      .filter(({ provider }) => provider in TARGETS)
      .map(({ provider, networks }): [string, string, string] => {
        const sample = `${provider}, ${count(networks.length)} servers`;
        return [sample, "found", share(listed(networks), networks.length)];
      }),
    ...cleanNetworks().map(({ sample, networks }): [string, string, string] => [
      sample,
      "listed",
      `${listed(networks)} of ${count(networks.length)}`,
    ]),
  ];
}

/** Returns the servers of each VPN. */
function serverLists(): (NetworkClaims & { provider: string })[] {
  const { path } = SAMPLE.vpnServers;
  return readdirSync(path)
    .filter((name) => name.endsWith(".json"))
    .map((name) => {
      const feed = FEEDS.find(
        ({ urls, format }) =>
          format === "gluetun-json" && urls(new Date())[0]!.endsWith(`/${encodeURIComponent(name)}`),
      );
      const { networks } = parseNetworks("gluetun-json", readFileSync(join(path, name)));
      return listOf(feed?.provider ?? name, networks.filter(isV4));
    });
}

/** Returns the held-out half of the networks that no VPN uses. */
const cleanNetworks = () =>
  Object.entries(OTHERS).map(([name, files]) => {
    const networks = files.filter(existsSync).flatMap(prefixesIn).filter(isV4).filter(isHeldOut);
    return { sample: `${name}: the held-out half, ${count(networks.length)} IPv4 networks`, networks };
  });

const listOf = (provider: string, networks: readonly Prefix[]): NetworkClaims & { provider: string } => ({
  ...{ feed: provider, subject: "is_proxy", label: "vpn", provider, networks },
});

/** Returns the networks in a feed's file; for bots, only those of the services themselves. */
function prefixesIn(file: string): readonly Prefix[] {
  const body = readFileSync(file);
  const feed = FEEDS.find(({ id }) => file.includes(`/${id}.`));
  if (feed === undefined || feed.sets === "geolocation") return prefixesOf(body.toString());
  const { networks, groups } = parseNetworks(feed.format, body, feed.paths);
  return groups?.filter(({ isDoubtful }) => !isDoubtful).flatMap((group) => group.networks) ?? networks;
}

function systemKinds(): KindClaims[] {
  return FEEDS.flatMap(({ id, format, systems, lineage = [] }) => {
    const file = ["txt", "csv", "json"].map((ending) => join(MIRROR, `${id}.${ending}`)).find(existsSync);
    if (!isSystemFormat(format) || systems === undefined || file === undefined) return [];
    const { kinds } = parseSystemKinds(format, readFileSync(file), systems.kind);
    return [{ feed: id, kinds, weight: systems.weight, lineage }];
  });
}
