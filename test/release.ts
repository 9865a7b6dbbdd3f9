// release.ts: releases for tests, made by the real compiler.
//
// smallRelease  one city, one flag, one domain, all named after its number: made in milliseconds
// realRelease   everything that the mirror and the npm packages hold: 10 to 20 s, once for each test process

import { linkSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parsePrefix, type Release } from "@inkling/engine";
import { releaseId } from "@inkling/release-store";
import { prepareDataFolder, publish, writeSegmentFile } from "../packages/compiler/src/build/data-folder.ts";
import { completePlace } from "../packages/compiler/src/geo/complete-place.ts";
import { encodePlace } from "../packages/compiler/src/geo/encode-place.ts";
import { judgeNetworks } from "../packages/compiler/src/policy/reputation.ts";
import { emailSections } from "../packages/compiler/src/segments/email-table.ts";
import { geoTable } from "../packages/compiler/src/segments/geo-table.ts";
import { reputationSections } from "../packages/compiler/src/segments/reputation-table.ts";
import { type SectionData, segmentChunks } from "../packages/compiler/src/segments/segment-writer.ts";
import { MIRROR } from "./shared.ts";

/** The network that a small release knows. */
export const SMALL_NETWORK = "81.2.69.0/24";
const FLAGS = ["is_abuser", "is_proxy", "is_tor_exit"] as const;

/** What small release `n` says of {@link SMALL_NETWORK}. */
export const smallFlag = (n: number) => FLAGS[n % 3]!;
export const smallCity = (n: number) => `City ${n}`;
export const smallDomain = (n: number) => `throw-away-${n}.com`;

/**
 * Publishes a release that differs from all others by its number.
 * @param missing flags that no list of it tells
 * @param feeds what it tells of its feeds
 * @returns its id and the paths of its segments
 */
export function smallRelease(
  dataDir: string,
  n: number,
  missing: Release["missing"] = [],
  feeds: Release["feeds"] = [],
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
      complete: completePlace,
      encode: encodePlace,
      progress: () => {},
      settle: () => {},
    },
  );
  const label = ({ is_abuser: "attacker", is_proxy: "vpn", is_tor_exit: "tor_exit" } as const)[smallFlag(n)];
  const judgement = judgeNetworks([{ feed: "test", subject: smallFlag(n), label, networks: [network] }]);
  const write = (kind: "geo" | "reputation" | "email", sections: readonly SectionData[]) => ({
    ...writeSegmentFile(dataDir, segmentChunks(kind, sections, {})),
    inputs: "0".repeat(64),
  });
  const segments = {
    geo: write("geo", geo.sections),
    reputation: write("reputation", reputationSections(judgement)),
    email: write("email", emailSections(new Map([[smallDomain(n), [smallDomain(n)]]]))),
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

let built: Promise<string> | undefined;

/** A fresh data folder with the release of the whole mirror; the files are shared between folders, as links. */
export async function realRelease(): Promise<string> {
  built ??= buildReal();
  const from = await built;
  const dataDir = temporaryFolder();
  prepareDataFolder(dataDir);
  for (const part of ["segments", "releases", "."]) {
    for (const file of readdirSync(join(from, part), { withFileTypes: true })) {
      if (file.isFile()) linkSync(join(from, part, file.name), join(dataDir, part, file.name));
    }
  }
  return dataDir;
}

/** The mirror as if it had been put there today: of an old one most lists of addresses would be dropped. */
export function freshMirror(): string {
  const mirror = temporaryFolder();
  for (const file of readdirSync(MIRROR)) writeFileSync(join(mirror, file), readFileSync(join(MIRROR, file)));
  return mirror;
}

async function buildReal(): Promise<string> {
  const dataDir = temporaryFolder();
  const main = resolve(import.meta.dir, "../packages/compiler/src/build/main.ts");
  const request = JSON.stringify({ dataDir, mirror: freshMirror(), fetch: false });
  const child = Bun.spawn([process.execPath, main], {
    stdin: Buffer.from(request),
    stdout: "pipe",
    stderr: "inherit",
  });
  const said = await new Response(child.stdout).text();
  const status = await child.exited;
  if (status === 1) throw new Error(`the build failed: ${said.trim().split("\n").at(-1)}`);
  return dataDir;
}

const folders: string[] = [];
process.on("exit", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A folder that goes away with this process. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "inkling-test-"));
  folders.push(folder);
  return folder;
}
