// places.ts: are places right? Operators' own geofeeds, and proxies whose exits another database has located.
//
// in   the mirror where it is; a release that was built from it
// out  by prefix: each network of a feed counts once; by address: its size in addresses (IPv6: /64s)

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type IpSegment, type LoadedRelease, parseIp, prefixContains, unwrapIpv4 } from "@inkling/engine";
import { distanceKm, FEEDS, parseGeofeed } from "../lib/compiler.ts";
import { MIRROR } from "../lib/shared-folders.ts";
import { count, share, type TruthRow } from "./row.ts";

interface Answer {
  readonly country?: { readonly iso_code?: string };
  readonly city?: { readonly name?: string };
  readonly location?: {
    readonly latitude: number;
    readonly longitude: number;
    readonly accuracy_radius?: number;
  };
}

/** @returns none without a mirror */
export function measurePlaces({ geo }: LoadedRelease): TruthRow[] {
  if (geo === undefined) return [];
  const feeds = FEEDS.filter(({ format }) => format === "geofeed-csv").map(({ id }) => id);
  const there = feeds.filter((id) => existsSync(join(MIRROR, `${id}.csv`)));
  return [...there.flatMap((id) => geofeedRows(geo, id)), ...radiusRows(geo)];
}

function geofeedRows(geo: IpSegment, id: string): TruthRow[] {
  const { networks, stated } = parseGeofeed(readFileSync(join(MIRROR, `${id}.csv`)));
  const rows: TruthRow[] = [];
  for (const family of [4, 6] as const) {
    const seen = { networks: 0, addresses: 0, country: 0, countryAddresses: 0, cities: 0, city: 0 };
    networks.forEach((network, i) => {
      const { country, city } = stated.places[stated.placeOf[i]!]!;
      const inside = networks[i + 1];
      if (network.address.family !== family || country === undefined) return;
      if (inside && prefixContains(network, inside.address)) return; // a narrower line has its first address
      const { address, bits } = network;
      unwrapIpv4(address);
      const answer = readAnswer(geo.lookup(address));
      const size = 2 ** ((family === 4 ? 32 : 64) - Math.min(bits, 64));
      const isRight = answer.country?.iso_code === country;
      seen.networks++;
      seen.addresses += size;
      seen.country += Number(isRight);
      seen.countryAddresses += isRight ? size : 0;
      seen.cities += Number(city !== undefined);
      seen.city += Number(city !== undefined && answer.city?.name?.toLowerCase() === city.toLowerCase());
    });
    if (seen.networks === 0) continue;
    const sample = `${id}, IPv${family}, ${count(seen.networks)} networks`;
    const add = (measure: string, value: string, target?: string) =>
      rows.push({ measure, sample, value, target, seen: "built from" });
    add("country, by prefix", share(seen.country, seen.networks), "at least 99 %");
    add("country, by address", share(seen.countryAddresses, seen.addresses), "at least 99 %");
    if (seen.cities > 0) add("city of the same name, by prefix", share(seen.city, seen.cities));
  }
  return rows;
}

interface Proxy {
  readonly exit_ip: string;
  readonly geolocation: {
    readonly city?: object;
    readonly location: { readonly latitude: number; readonly longitude: number };
  };
}

/** GeoLite2 has located the exits of these proxies: how often it is within our radius. */
function radiusRows(geo: IpSegment): TruthRow[] {
  const path = join(MIRROR, "monosans-proxies.json");
  if (!existsSync(path)) return [];
  const proxies: Proxy[] = JSON.parse(readFileSync(path, "utf8"));
  const isWithin = ({ exit_ip, geolocation }: Proxy): boolean => {
    const address = parseIp(exit_ip)!;
    unwrapIpv4(address);
    const { location } = readAnswer(geo.lookup(address));
    const radius = location?.accuracy_radius;
    return (
      location !== undefined && radius !== undefined && distanceKm(location, geolocation.location) <= radius
    );
  };
  const inCity = proxies.filter(({ geolocation }) => geolocation.city !== undefined);
  return [
    ["exits of public proxies", proxies] as const,
    ["those whose city GeoLite2 names", inCity] as const,
  ].map(([what, list]) => ({
    measure: "within accuracy_radius of where GeoLite2 has it",
    sample: `${what}, ${count(list.length)}`,
    value: share(list.filter(isWithin).length, list.length),
    target: "60 to 74 %",
    seen: "held out",
  }));
}

const decoder = new TextDecoder();
const readAnswer = (bytes: Uint8Array | undefined): Answer =>
  bytes === undefined ? {} : JSON.parse(decoder.decode(bytes));
