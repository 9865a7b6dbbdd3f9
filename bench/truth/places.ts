// places.ts: scores releases and other databases against geofeeds, by class of network: right, wrong or silent.
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
  isSpecialUse,
  knownCoordinates,
  type OperatorFeed,
  OperatorPlaces,
  openPlaces,
  parseGeofeed,
  type StatedPlaces,
} from "../lib/compiler.ts";
import { databaseFiles } from "../lib/data.ts";
import { MIRROR } from "../lib/shared-folders.ts";
import { interval } from "../lib/stats.ts";
import type { Build } from "./builds.ts";
import { databases, type Find } from "./databases.ts";
import { count, judged, share } from "./rows.ts";
import { isThere, SAMPLE, SAMPLES } from "./samples.ts";

const CLASSES = ["fixed", "mobile", "hosting", "corporate"] as const;
type Class = (typeof CLASSES)[number];

export interface Publisher {
  readonly name: string;
  readonly class: Class;
  readonly url: string;
  /** The feed that has the sample's networks. */
  readonly feed?: string;
  /** Whether the sample was first read after all rules about places had been chosen. */
  readonly isFresh?: boolean;
}

export const on = (of: Class, repository: string, file = "geofeed.csv"): Publisher => ({
  name: `${repository.split("/")[0]}${file === "geofeed.csv" ? "" : ` ${file}`}`,
  class: of,
  url: `https://raw.githubusercontent.com/${repository}/HEAD/${file}`,
});

const fresh = (...row: Parameters<typeof on>): Publisher => ({ ...on(...row), isFresh: true });

export const PUBLISHERS: readonly Publisher[] = [
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
  { ...fresh("fixed", "AEX-Engineering/hyperfiber-geofeed"), name: "AEX-Engineering hyperfiber" },
  fresh("fixed", "hlkomm/geofeeds", "geofeeds.csv"),
  fresh("fixed", "WINperu/geofeeds", "geofeeds.csv"),
  fresh("fixed", "visnetwork/geofeed"),
  fresh("fixed", "Antonio-Prado/SBTAP-geofeed"),
  fresh("fixed", "welltelecom/geofeeds", "geofeeds.csv"),
  fresh("fixed", "Full-Fibre/geofeed"),
  fresh("fixed", "oxiocorp/oxio-geofeed"),
  fresh("fixed", "Guillaume-COMLINK/geofeeds", "geofeeds.csv"),
  fresh("fixed", "Carnsore/geofeed.carnsorebroadband.com"),
  fresh("fixed", "ClickFibra/GeoFeed", "geofeeds.csv"),
  fresh("fixed", "somosfibra/Geofeed", "geofeeds.csv"),
  fresh("fixed", "fastnetisp/geofeed-fasnet", "geofeeds.csv"),
  fresh("hosting", "nttgin/geofeeds", "geofeeds.csv"),
  fresh("hosting", "krihards/geofeeds", "geofeeds.csv"),
  fresh("hosting", "Atomic-Networks/Atomic-Geofeed"),
  fresh("hosting", "HostGnome/ripegeofeed"),
  fresh("corporate", "tv2/geofeeds", "geofeeds.csv"),
  fresh("corporate", "Enapter/enapteripgeofeed"),
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

/** Returns the path of a sample's file. Fetches the file into INKLING_SAMPLES if it is not there. */
export async function fileOf({ name, url, feed }: Publisher): Promise<string> {
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
  const dbip = openPlaces([v4, v6].map((path) => readFileSync(path)));
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

/** How a database's answer about an address compares with what the owner states. */
export interface Scored {
  readonly isNamed: boolean;
  readonly km: number;
  readonly isCountry: boolean;
  readonly radius: number | undefined;
}

async function scored(find: Find, samples: readonly Sample[]): Promise<Scored[]> {
  const answers: Scored[] = [];
  for (const { address, country, at } of samples.flatMap(({ rows }) => rows)) {
    const place = await find(address);
    const here = place && knownCoordinates(place);
    answers.push({
      isNamed: place?.cityName !== undefined,
      km: here === undefined ? Number.POSITIVE_INFINITY : distanceKm(here, at!),
      isCountry: place?.countryCode === country,
      radius: place?.radius,
    });
  }
  return answers;
}

const isRight = ({ isNamed, km }: Scored) => isNamed && km <= NEAR_KM;

const BAR = 20;
/** Draws the shares of right, wrong and silent answers. */
function bar(right: number, wrong: number, all: number): string {
  const [full, half] = [right, right + wrong].map((part) => Math.round((BAR * part) / all));
  return `\`${"█".repeat(full!)}${"▒".repeat(half! - full!)}${"·".repeat(BAR - half!)}\``;
}

function tableOf(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = rows.map((cells) => `| ${cells.join(" | ")} |\n`);
  return `| ${heads.join(" | ")} |\n|${"---|".repeat(heads.length)}\n${lines.join("")}`;
}

const SCORE_HEADS = [
  ...["class", "database", "networks", "right █ wrong ▒ silent ·", "right", "wrong", "silent"],
  ...["right of the named", "country right", "within the radius"],
];

export function scoreCells(answers: readonly Scored[]): string[] {
  const { length } = answers;
  const right = answers.filter(isRight).length;
  const named = answers.filter(({ isNamed }) => isNamed).length;
  const wrong = named - right;
  const withRadius = answers.filter(({ radius }) => radius !== undefined);
  const within = withRadius.filter(({ km, radius }) => km <= radius!).length;
  return [
    ...[count(length), bar(right, wrong, length), interval(right, length), share(wrong, length)],
    ...[share(length - named, length), named === 0 ? "" : interval(right, named)],
    ...[
      share(answers.filter(({ isCountry }) => isCountry).length, length),
      interval(within, withRadius.length),
    ],
  ];
}

/** The share of the networks of a class in whose country Inkling should be right. */
const COUNTRY_TARGETS: Readonly<Partial<Record<string, string>>> = {
  fixed: "at least 98.5%",
  mobile: "at least 98.5%",
  hosting: "at least 93%",
};

/** Marks the cells of Inkling that miss their targets. Other databases have none. @param row a row of {@link Places.scores} */
export function marked(row: readonly string[]): string[] {
  const [of = "", name = ""] = row;
  if (!name.startsWith("Inkling, ")) return [...row];
  const targets = ["at least 80%", COUNTRY_TARGETS[of.replace(/, .*/, "")], "60 to 75%"];
  return [...row.slice(0, -3), ...row.slice(-3).map((cell, i) => judged(cell, targets[i]))];
}

const SUMMARY_HEADS = [
  ...["class", "networks", "country right: Inkling", "GeoLite2"],
  ...["city right: Inkling", "GeoLite2", "city wrong: Inkling", "GeoLite2"],
];
const INTERVAL = / \([\d.]+ to [\d.]+\)/;
/** Fewer networks say too little for the summary. */
const MIN_IN_SUMMARY = 30;

/**
 * Returns the table of Inkling beside GeoLite2. The release of seeds has read none of the samples, so both answer about
 * the same networks.
 * @param scores rows of {@link Places.scores}
 */
export function summaryTable(scores: readonly (readonly string[])[]): string {
  const cellsOf = (of: string, database: string) => {
    const row = scores.find(([its, name]) => its === of && name === database) ?? [];
    return [8, 4, 5].map((column) => row[column]?.replace(INTERVAL, "") ?? "");
  };
  const rows = scores
    .filter(
      ([, name, networks = ""]) =>
        name === "Inkling, seeds" && Number(networks.replaceAll(",", "")) >= MIN_IN_SUMMARY,
    )
    .map(([of = "", name = "", networks = ""]) => {
      const [own, other] = [cellsOf(of, name), cellsOf(of, "GeoLite2")];
      return [of, networks, ...own.flatMap((cell, i) => [cell, other[i]!])];
    });
  return tableOf(SUMMARY_HEADS, rows);
}

/** The largest radius, in kilometres, of the cities that count in a column of the table by radius. */
const RADII = [10, 20, 50, 100, 200, Number.POSITIVE_INFINITY];

/** For each radius, counts only cities with at most this radius: how many networks have one, and how many are right. */
export const radiusCells = (answers: readonly Scored[]): string[] =>
  RADII.map((most) => {
    const named = answers.filter(({ isNamed, radius }) => isNamed && radius !== undefined && radius <= most);
    const right = named.filter(isRight).length;
    return named.length === 0
      ? "0%"
      : `${share(named.length, answers.length)}; ${share(right, named.length)}`;
  });

export interface Places {
  readonly summary: string;
  /** All classes and databases. */
  readonly scores: string;
  readonly byRadius: string;
  readonly databases: string;
  readonly samples: string;
}

/** Returns the tables of all classes and databases, and what they are made of. */
export async function placeTables(builds: readonly Build[]): Promise<Places> {
  const { samples: geofeeds, missing } = await readSamples();
  const { atlasProbes } = SAMPLE;
  if (!isThere(atlasProbes)) missing.push(`${atlasProbes.name}: lacks ${atlasProbes.from}`);
  const probes = isThere(atlasProbes)
    ? readProbes(readFileSync(atlasProbes.path, "utf8"), atlasProbes.path)
    : [];
  const opened = await databases(builds);
  const sets = CLASSES.flatMap((of) => {
    const own = geofeeds.filter((sample) => sample.class === of);
    return [
      { of, own: own.filter(({ isFresh }) => !isFresh) },
      { of: `${of}, fresh`, own: own.filter(({ isFresh }) => isFresh) },
      { of: `${of}, probes`, own: probes.filter((sample) => sample.class === of) },
    ];
  });
  const [scores, byRadius]: [string[][], string[][]] = [[], []];
  for (const { of, own } of sets)
    for (const { name, find, isMirror } of opened.all) {
      const answers = await scored(find, isMirror ? own.filter(({ feed }) => feed === undefined) : own);
      if (answers.length === 0) continue;
      scores.push(marked([of, name, ...scoreCells(answers)]));
      if (answers.some(({ radius }) => radius !== undefined))
        byRadius.push([of, name, ...radiusCells(answers)]);
    }
  const made = [...geofeeds, ...probes].map(({ name, class: of, isFresh, file, rows }) => {
    const date = statSync(file).mtime.toISOString().slice(0, 10);
    return [name, isFresh ? `${of}, fresh` : of, count(rows.length), date];
  });
  const lacks = [...missing, ...opened.missing].map((why) => `- Not measured: ${why}\n`).join("");
  const limits = RADII.map((most) => (most === Number.POSITIVE_INFINITY ? "any" : `at most ${most} km`));
  return {
    summary: summaryTable(scores),
    scores: tableOf(SCORE_HEADS, scores),
    byRadius: tableOf(["class", "database", ...limits], byRadius),
    databases: opened.table,
    samples: `${tableOf(["sample", "class", "networks", "date of the file"], made)}${lacks && `\n${lacks}`}`,
  };
}
