// places.ts: scores releases and any MMDB files against geofeeds, by class of network: right, wrong or silent.
//
// The owners of RIPE Atlas probes state where their probes are. RIPE moves the coordinates by up to a kilometre.
//
// A geofeed is an operator's own statement where its networks are. Each sample has one class, and its file can be
// fetched again from the publisher. The seeds-only release has read none of the geofeeds, so its figures are held out.
// The release from a mirror has read those that are feeds.

import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { IpAddress, networkAround, type Prefix, parseIp } from "@inkling/engine";
import { z } from "zod";
import {
  distanceKm,
  GeoSource,
  isSpecialUse,
  knownCoordinates,
  Mmdb,
  type OperatorFeed,
  OperatorPlaces,
  type Place,
  parseGeofeed,
  readPlace,
  type StatedPlaces,
} from "../lib/compiler.ts";
import { databaseFiles } from "../lib/data.ts";
import { MIRROR } from "../lib/shared-folders.ts";
import { interval } from "../lib/stats.ts";
import { type Build, lookups } from "./builds.ts";
import { count, share } from "./rows.ts";
import { isThere, SAMPLE, SAMPLES } from "./samples.ts";

const CLASSES = ["fixed", "mobile", "hosting", "corporate"] as const;
type Class = (typeof CLASSES)[number];

interface Publisher {
  readonly name: string;
  readonly class: Class;
  readonly url: string;
  /** The feed that has the sample's networks. */
  readonly feed?: string;
}

const on = (of: Class, repository: string, file = "geofeed.csv"): Publisher => ({
  name: `${repository.split("/")[0]}${file === "geofeed.csv" ? "" : ` ${file}`}`,
  class: of,
  url: `https://raw.githubusercontent.com/${repository}/HEAD/${file}`,
});

const PUBLISHERS: readonly Publisher[] = [
  { ...on("fixed", "Verizon/verizon-geofeed", "feed_wireline.csv"), feed: "verizon-geofeed" },
  { ...on("fixed", "Verizon/verizon-geofeed", "feed_5Ghome.csv"), feed: "verizon-geofeed" },
  on("fixed", "Eastlink-intcore/geofeed"),
  on("fixed", "ImOnCommunications/geofeed"),
  on("fixed", "AEX-Engineering/ripplefiber-geofeed"),
  on("fixed", "FBF-AC-1088/fbf-1088-geofeed"),
  on("fixed", "FlexNetworks/geofeed"),
  on("fixed", "EIS-Engineering/geofeed"),
  on("fixed", "1C-Ltd/isp-geofeed"),
  on("fixed", "mnmcom/geofeeds", "geofeeds.csv"),
  { ...on("mobile", "Verizon/verizon-geofeed", "feed_wireless.csv"), feed: "verizon-geofeed" },
  { ...on("mobile", "tmobile/tmus-geofeed", "tmus-geo-ip.txt"), feed: "tmobile-geofeed" },
  {
    name: "Amazon",
    class: "hosting",
    url: "https://ip-ranges.amazonaws.com/geo-ip-feed.csv",
    feed: "aws-geofeed",
  },
  {
    name: "Google Cloud",
    class: "hosting",
    url: "https://www.gstatic.com/ipranges/cloud_geofeed",
    feed: "google-cloud-geofeed",
  },
  {
    name: "Microsoft",
    class: "hosting",
    url: "https://www.microsoft.com/en-us/download/details.aspx?id=53601", // a page: for a mirror only
    feed: "microsoft-geofeed",
  },
  { ...on("hosting", "Netflix/nflx-geofeed"), feed: "netflix-geofeed" },
  on("hosting", "3NT-COM/geofeed"),
  on("hosting", "365hosting/geofeed"),
  on("hosting", "Advin-Servers/geofeed"),
  on("hosting", "Keyubu/geofeed"),
  on("corporate", "BigleafNetworks/bigleaf-geofeed"),
  on("corporate", "CambridgeInnovationCenter/public-reference"),
  on("corporate", "DanishCrown/geofeed"),
  on("corporate", "GalaxyDigitalPublic/glxy-geofeed"),
  on("corporate", "Central-Church/geofeed"),
];

/** Maximum number of networks of one publisher, so that a large one does not decide about its class. */
const MAX_NETWORKS = 300;
const NEAR_KM = 50;

interface Sample extends Publisher {
  readonly rows: readonly {
    readonly address: IpAddress;
    readonly country: string;
    readonly at: { readonly latitude: number; readonly longitude: number } | undefined;
  }[];
  readonly file: string;
}

/** Returns where an address is. Undefined if there is no answer. */
type Find = (address: IpAddress) => (Place & { readonly radius?: number | undefined }) | undefined;

/** Returns the path of a sample's file. Fetches the file into INKLING_SAMPLES if it is not there. */
async function fileOf({ name, url, feed }: Publisher): Promise<string> {
  const ofMirror = join(MIRROR, `${feed}.csv`);
  const isWhole = feed !== "verizon-geofeed"; // this feed has the networks of all three files
  if (isWhole && existsSync(ofMirror)) return ofMirror;
  if (SAMPLES === undefined) throw new Error("INKLING_SAMPLES is not set");
  const file = join(SAMPLES, "geofeeds", `${name.replaceAll(/[^A-Za-z0-9]+/g, "-")}.csv`);
  if (existsSync(file)) return file;
  const response = await fetch(url, { signal: AbortSignal.timeout(30_000) });
  if (!response.ok) throw new Error(`${url} returns ${response.status}`);
  if (response.headers.get("content-type")?.includes("html")) throw new Error(`${url} is a page`);
  mkdirSync(join(SAMPLES, "geofeeds"), { recursive: true });
  writeFileSync(file, await response.bytes());
  return file;
}

const hash = (text: string) => Bun.hash.xxHash32(text);

/** Returns an address of a network that depends only on the network. */
function addressIn({ address: { family, words }, bits }: Prefix): IpAddress {
  const address = new IpAddress();
  address.family = family;
  address.words.set(words);
  for (const word of family === 4 ? [0] : [0, 1]) {
    const kept = Math.min(32, Math.max(0, bits - 32 * word));
    const hosts = kept === 32 ? 0 : 0xffffffff >>> kept;
    address.words[word] = (words[word]! | (hash(`${words}`) & hosts)) >>> 0;
  }
  return address;
}

/** Reads the samples. The coordinates of a city are those of DB-IP's place with the same name, as in a release. */
async function readSamples(): Promise<{ samples: Sample[]; missing: string[] }> {
  const missing: string[] = [];
  const read: (Publisher & { file: string; networks: readonly Prefix[]; stated: StatedPlaces })[] = [];
  for (const publisher of PUBLISHERS) {
    try {
      const file = await fileOf(publisher);
      read.push({ ...publisher, file, ...parseGeofeed(readFileSync(file)) });
    } catch (error) {
      missing.push(`${publisher.name}: ${(error as Error).message}`);
    }
  }
  const { v4, v6 } = databaseFiles();
  const dbip = GeoSource.open([v4, v6].map((path) => readFileSync(path)));
  const feeds = read.map(({ name, networks, stated }): OperatorFeed => ({ id: name, networks, stated }));
  const operators = new OperatorPlaces(dbip, feeds);
  operators.prepare(undefined);
  let first = dbip.places.length + 1;
  const samples = read.map(({ networks, stated, ...publisher }): Sample => {
    const from = first;
    first += stated.places.length;
    const rows = networks
      .map((network, i) => ({ network, place: stated.placeOf[i]!, order: hash(`${network.address.words}`) }))
      .filter(({ network, place }) => stated.places[place]!.country !== undefined && !isSpecialUse(network))
      .sort((a, b) => a.order - b.order)
      .map(({ network, place }) => {
        const { place: made } = operators.describe(from + place, undefined);
        const at = made.density === "operator" ? knownCoordinates(made) : undefined;
        return { address: addressIn(network), country: made.countryCode!, at };
      });
    const located = rows.filter(({ at }) => at !== undefined);
    return { ...publisher, rows: located.slice(0, MAX_NETWORKS) };
  });
  return { samples, missing };
}

/** A file of the archive. Of each probe, only what the sample needs. */
const PROBES = z.object({
  objects: z.array(
    z.object({
      address_v4: z.string().nullish(),
      country_code: z.string().nullish(),
      latitude: z.number().nullish(),
      longitude: z.number().nullish(),
      status_name: z.string(),
      tags: z.array(z.union([z.string(), z.object({ slug: z.string() })])),
    }),
  ),
});

/** Tags that owners choose for their probes, by class of network. */
const TAGS: Readonly<Record<Class, RegExp>> = {
  mobile: /^([345]g|lte|mobile)$/,
  hosting: /^(datacent(re|er)|cloud|vps)$/,
  corporate: /^office$/,
  fixed: /^(home|cable|[av]?dsl|vdsl2|fibre|ftth)$/,
};

/**
 * Reads connected probes with a public IPv4 address, by class. Probes without such tags, or with tags of several
 * classes, are left out.
 */
export function readProbes(text: string, file: string): Sample[] {
  const { objects } = PROBES.parse(JSON.parse(text));
  const probes = objects.flatMap((probe) => {
    const { address_v4, country_code, latitude, longitude, status_name, tags } = probe;
    const address = parseIp(address_v4 ?? "");
    const slugs = tags.map((tag) => (typeof tag === "string" ? tag : tag.slug));
    const classes = CLASSES.filter((of) => slugs.some((slug) => TAGS[of].test(slug)));
    if (address === undefined || isSpecialUse(networkAround(address, 32)) || classes.length !== 1) return [];
    if (status_name !== "Connected" || !country_code || latitude == null || longitude == null) return [];
    return { class: classes[0]!, row: { address, country: country_code, at: { latitude, longitude } } };
  });
  return CLASSES.map((of) => ({
    ...{ name: SAMPLE.atlasProbes.name, class: of, url: SAMPLE.atlasProbes.from, file },
    rows: probes.filter((probe) => probe.class === of).map(({ row }) => row),
  }));
}

interface Score {
  all: number;
  right: number;
  named: number;
  near: number;
  country: number;
  radii: number;
  within: number;
}

function scoreOf(find: Find, samples: readonly Sample[]): Score {
  const score: Score = { all: 0, right: 0, named: 0, near: 0, country: 0, radii: 0, within: 0 };
  for (const { address, country, at } of samples.flatMap(({ rows }) => rows)) {
    const place = find(address);
    score.all++;
    if (place?.countryCode === country) score.country++;
    const here = place && knownCoordinates(place);
    const km = here === undefined ? Number.POSITIVE_INFINITY : distanceKm(here, at!);
    if (km <= NEAR_KM) score.near++;
    if (place?.cityName !== undefined) score.named++;
    if (place?.cityName !== undefined && km <= NEAR_KM) score.right++;
    if (place?.radius === undefined) continue;
    score.radii++;
    if (km <= place.radius) score.within++;
  }
  return score;
}

/** Finds places in an MMDB, or in a pair of files for IPv4 and IPv6. */
function finderOf(files: readonly string[]): Find {
  const open = files.map((file) => Mmdb.open(readFileSync(file)));
  return (address) => {
    const file = open[address.family === 6 && open.length > 1 ? 1 : 0]!;
    const found = file.find(address);
    const place = found && readPlace(file.decode(found.dataOffset));
    return place && { ...place, radius: place.accuracyRadius };
  };
}

function finderIn({ release }: Build): Find {
  const { place } = lookups(release);
  return (address) => {
    const answer = place(address);
    const { latitude, longitude, accuracy_radius: radius } = answer?.location ?? {};
    return (
      answer && {
        countryCode: answer.country.iso_code,
        cityName: answer.city.name,
        ...{ latitude, longitude, radius },
        subdivisions: [],
      }
    );
  };
}

/** The databases to compare with: DB-IP, GeoLite2 if it is there, and NAME=FILE[+FILE],… in INKLING_PEERS. */
function peers(): [name: string, find: Find][] {
  const { v4, v6 } = databaseFiles();
  const { path } = SAMPLE.geolite2;
  const geolite2 = [4, 6].map((family) => join(path, `geolite2-city-ipv${family}.mmdb`));
  const named = (process.env.INKLING_PEERS ?? "").split(",").filter((peer) => peer.includes("="));
  return [
    ["DB-IP", finderOf([v4, v6])],
    ...(isThere(SAMPLE.geolite2) ? [["GeoLite2", finderOf(geolite2)] as [string, Find]] : []),
    ...named.map((peer): [string, Find] => {
      const [name = "", files = ""] = peer.split("=");
      return [name, finderOf(files.split("+"))];
    }),
  ];
}

const BAR = 20;
/** Draws the shares of right, wrong and silent answers. */
function bar(right: number, wrong: number, all: number): string {
  const [full, half] = [right, right + wrong].map((part) => Math.round((BAR * part) / all));
  return `\`${"█".repeat(full!)}${"▒".repeat(half! - full!)}${"·".repeat(BAR - half!)}\``;
}

/** Returns the table of all classes and databases, and what it is made of. */
export async function placeTable(builds: readonly Build[]): Promise<string> {
  const { samples: geofeeds, missing } = await readSamples();
  const { atlasProbes } = SAMPLE;
  if (!isThere(atlasProbes)) missing.push(`${atlasProbes.name}: lacks ${atlasProbes.from}`);
  const probes = isThere(atlasProbes)
    ? readProbes(readFileSync(atlasProbes.path, "utf8"), atlasProbes.path)
    : [];
  const finders: [string, Find][] = [
    ...builds.map((build): [string, Find] => [`Inkling, ${build.mode}`, finderIn(build)]),
    ...peers(),
  ];
  const sets = [geofeeds, probes].flatMap((samples, i) =>
    CLASSES.map((of) => ({
      of: i === 0 ? of : `${of}, probes`,
      own: samples.filter((sample) => sample.class === of),
    })),
  );
  const lines = sets.flatMap(({ of, own }) => {
    return finders.map(([name, find]) => {
      // A release from a mirror has read the publishers that are feeds, so they would show nothing.
      const heldOut = name.includes("mirror") ? own.filter(({ feed }) => feed === undefined) : own;
      const { all, right, named, near, country, radii, within } = scoreOf(find, heldOut);
      const wrong = named - right;
      const cells = [
        ...[of, name, count(all), bar(right, wrong, all), interval(right, all), interval(wrong, all)],
        ...[share(all - named, all), interval(right, named), share(near, all), share(country, all)],
        interval(within, radii),
      ];
      return all === 0 ? "" : `| ${cells.join(" | ")} |\n`;
    });
  });
  const heads = [
    ...["class", "database", "networks", "right █ wrong ▒ silent ·", "right", "wrong", "silent"],
    ...["right of the named", "within 50 km", "country right", "within the radius"],
  ];
  const made = [...geofeeds, ...probes].map(({ name, class: of, file, rows }) => {
    const date = statSync(file).mtime.toISOString().slice(0, 10);
    return `| ${[name, of, count(rows.length), date].join(" | ")} |\n`;
  });
  const lacks = missing.map((why) => `- Not measured: ${why}\n`).join("");
  return `| ${heads.join(" | ")} |\n|${"---|".repeat(heads.length)}\n${lines.join("")}
| sample | class | networks | date of the file |\n|---|---|---|---|\n${made.join("")}${lacks && `\n${lacks}`}`;
}
