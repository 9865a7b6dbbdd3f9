// release.ts: releases for tests, built by the real compiler.
//
// smallRelease  one city, one flag and one domain, all named after its number: built in milliseconds
// builtRelease  the seeds in npm packages and a mirror: 10 to 20 s, once for all test processes
// freshMirror   a small mirror of our own (made-mirror.ts)

import { copyFileSync, linkSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { prepareDataFolder, publish, releaseId, writeSegmentFile } from "@inkling/data";
import { parsePrefix, type Release, type SegmentKind } from "@inkling/engine";
import { readAsnCsv } from "../../packages/compiler/src/parse/asn.ts";
import { judgeNetworks } from "../../packages/compiler/src/policy/reputation.ts";
import { emailSections } from "../../packages/compiler/src/segments/email-table.ts";
import { geoTable } from "../../packages/compiler/src/segments/geo-table.ts";
import { networkTable } from "../../packages/compiler/src/segments/network-table.ts";
import { reputationSections } from "../../packages/compiler/src/segments/reputation-table.ts";
import { type SectionData, segmentChunks } from "../../packages/compiler/src/segments/segment-writer.ts";
import { makeMirror } from "./made-mirror.ts";
import { once } from "./once.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export { temporaryFolder };

const ROOT = resolve(import.meta.dir, "../..");

/** The only network of a small release. */
export const SMALL_NETWORK = "81.2.69.0/24";
/** An API path that every small release answers. */
export const GEOLOCATE = `/v1/ip-intel/geolocate/${SMALL_NETWORK.replace("0/24", "142")}`;
/**
 * The systems of a small release with networks: a part of {@link SMALL_NETWORK}, its neighbour, and an IPv6
 * network.
 */
const SYSTEMS = [
  '81.2.69.0,81.2.69.127,20712,"Andrews & Arnold, Ltd"',
  "81.2.70.0,81.2.70.255,4100000001,",
  "2a02:8010::,2a02:8010:ffff:ffff:ffff:ffff:ffff:ffff,20712,Andrews & Arnold Ltd",
  "",
].join("\n");
const FLAGS = ["is_abuser", "is_proxy", "is_tor_exit"] as const;

/** Returns the flag of {@link SMALL_NETWORK} in small release `n`. */
export const smallFlag = (n: number) => FLAGS[n % 3]!;
export const smallCity = (n: number) => `City ${n}`;
export const smallDomain = (n: number) => `disposable-${n}.com`;

/**
 * Publishes a release that differs from all others by its number.
 * @param missing flags without data
 * @param feeds reports on its feeds
 * @param withNetwork whether it has data about the networks of addresses
 * @param meta the description at the start of its segments
 * @returns its id and the paths of its segments
 */
export function smallRelease(
  dataDir: string,
  n: number,
  missing: Release["missing"] = [],
  feeds: Release["feeds"] = [],
  withNetwork = false,
  meta: unknown = {},
): { id: string; files: string[] } {
  prepareDataFolder(dataDir);
  const network = parsePrefix(SMALL_NETWORK)!;
  const geo = geoTable(
    {
      places: [{ cityName: smallCity(n), countryCode: "GB", subdivisions: [] }],
      walk: (family, visit) => {
        if (family === 4) visit(network.address.words[0]!, 0, 0, 0, network.bits, 0);
      },
    },
    undefined,
    {
      feeds: { places: ["test"] },
      progress: () => {},
      collectGarbage: () => {},
    },
  );
  const label = ({ is_abuser: "attacker", is_proxy: "vpn", is_tor_exit: "tor_exit" } as const)[smallFlag(n)];
  const judgement = judgeNetworks([{ feed: "test", subject: smallFlag(n), label, networks: [network] }]);
  const write = (kind: SegmentKind, sections: readonly SectionData[]) => ({
    ...writeSegmentFile(dataDir, segmentChunks(kind, sections, meta)),
    inputs: "0".repeat(64),
  });
  const segments = {
    geo: write("geo", geo.sections),
    reputation: write("reputation", reputationSections(judgement)),
    email: write("email", emailSections(new Map([[smallDomain(n), [smallDomain(n)]]]), new Map())),
    ...(withNetwork && { network: write("network", smallNetworks()) }),
  };
  const content: Omit<Release, "id"> = {
    format: 1,
    created_at: new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString(),
    code: "0".repeat(64),
    segments,
    feeds,
    missing,
    partial: [],
  };
  const manifest: Release = { id: releaseId(content), ...content };
  publish(dataDir, manifest);
  const files = Object.values(segments).map(({ sha256 }) => join(dataDir, "segments", `${sha256}.seg`));
  return { id: manifest.id, files };
}

function smallNetworks(): readonly SectionData[] {
  const relay = { feed: "test-relays", subject: "relay", label: "relay" } as const;
  const claims = [{ ...relay, networks: [parsePrefix("81.2.70.128/25")!] }];
  return networkTable("asn", readAsnCsv([Buffer.from(SYSTEMS)]), claims).sections;
}

/** Files that the release depends on. The seeds are in npm packages. */
const INPUTS = [
  "packages/compiler/src",
  "packages/compiler/data",
  "packages/engine/src",
  "package-lock.json",
  "test/harness/release.ts",
];

/**
 * Returns a fresh data folder with a release from a mirror. Its files are links to shared files, so never write to
 * them.
 * @param inputs files and folders that the mirror depends on
 */
export async function builtRelease(
  name: string,
  inputs: readonly string[],
  mirror: () => string,
): Promise<string> {
  const all = [...INPUTS.map((path) => join(ROOT, path)), ...inputs];
  const from = await once(name, all, (folder) => buildReal(folder, mirror()));
  const dataDir = temporaryFolder();
  prepareDataFolder(dataDir);
  for (const part of ["segments", "releases", "."]) {
    for (const file of readdirSync(join(from, part), { withFileTypes: true })) {
      if (file.isFile()) linkOrCopy(join(from, part, file.name), join(dataDir, part, file.name));
    }
  }
  return dataDir;
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to); // on another file system
  }
}

/** A choice of feeds without the large seeds. A build of only the small mirror takes a second. */
export const LISTS_ALONE = {
  enabled: [],
  disabled: ["asn", "dbip-city-lite", "fakefilter", "nro-delegated-stats", "tompec-domains"],
} as const;

/** Creates a small mirror of our own in a new folder. */
export function freshMirror(): string {
  const mirror = temporaryFolder();
  makeMirror(mirror);
  return mirror;
}

async function buildReal(dataDir: string, mirror: string): Promise<void> {
  const main = join(ROOT, "packages/compiler/src/pipeline/main.ts");
  const request = JSON.stringify({ dataDir, mirror, fetch: false });
  const child = Bun.spawn([process.execPath, main], {
    stdin: Buffer.from(request),
    stdout: "pipe",
    stderr: "inherit",
  });
  const events = await new Response(child.stdout).text();
  const status = await child.exited;
  if (status === 1) throw new Error(`the build failed: ${events.trim().split("\n").at(-1)}`);
}
