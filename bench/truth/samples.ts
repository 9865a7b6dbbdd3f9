// samples.ts: lists the samples that some builds, or all builds, do not read, with the path, name and source of each
// sample, and fetches those that are in public repositories.

import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { BENCH } from "../lib/peers.ts";
import { MIRROR, VECTORS } from "../lib/shared-folders.ts";

/** Folder for files that belong to other publishers and are in no mirror, each under the name below. */
export const SAMPLES = process.env.INKLING_SAMPLES;

export interface Sample {
  readonly name: string;
  readonly path: string;
  /** Instructions for getting the sample. */
  readonly from: string;
  readonly repositories?: Repositories;
}

/** What to take from one or several repositories on GitHub. */
interface Repositories {
  readonly names: readonly string[];
  /** Missing for a sample without a date: the newest commit. */
  readonly commit?: string;
  /** True to fetch all commits without their files. */
  readonly isHistory?: true;
  /** The file or folder that is the sample, or a function that returns the sample's lines from a fetched repository. */
  readonly take: string | ((folder: string) => readonly string[]);
}

const authorDomains = (folder: string) =>
  git("-C", folder, "log", "--format=%ae")
    .split("\n")
    .flatMap((address) => (address.includes("@") ? address.slice(address.lastIndexOf("@") + 1) : []));

const providerDomains = (folder: string) =>
  readdirSync(join(folder, "ispdb")).flatMap((file) =>
    Array.from(
      readFileSync(join(folder, "ispdb", file), "utf8").matchAll(/<domain>([^<]+)<\/domain>/g),
      ([, domain]) => domain!,
    ),
  );

const inFolder = (file: string) => (SAMPLES === undefined ? "" : join(SAMPLES, file));

export const SAMPLE = {
  embedded: {
    name: "domains that sites embed (third-party-web 0.30.0)",
    path: join(BENCH, "node_modules/third-party-web/dist/domain-map.csv"),
    from: "`npm ci --prefix bench`",
  },
  popular: {
    name: "Cloudflare's popular domains",
    path: join(MIRROR, "cloudflare-top-100k.json"),
    from: "the `cloudflare-top-100k` feed in a mirror (INKLING_MIRROR)",
  },
  ranked: {
    name: "Tranco's popular domains",
    path: join(MIRROR, "tranco-10k.json"),
    from: "the `tranco-10k` feed in a mirror (INKLING_MIRROR)",
  },
  organisations: {
    name: "organisations and brands (name-suggestion-index 8.0.20260918)",
    path: join(BENCH, "node_modules/name-suggestion-index/dist/wikidata/wikidata.min.json"),
    from: "`npm ci --prefix bench`",
  },
  authors: {
    name: "domains of commit authors",
    path: inFolder("commit-authors.txt"),
    from: "what is after the @ in `git log --format=%ae` of rails/rails, ansible/ansible and symfony/symfony",
    repositories: {
      names: ["rails/rails", "ansible/ansible", "symfony/symfony"],
      isHistory: true,
      take: authorDomains,
    },
  },
  earlier: {
    name: "domains that disposable-email-domains added since 15 January 2026",
    path: join(
      BENCH,
      "node_modules/disposable-email-domains-js-1.20/dist/dict/disposable_email_blocklist.json",
    ),
    from: "`npm ci --prefix bench`: version 1.20.0 of the seed has the earlier list",
  },
  emailondeck: {
    name: "emailondeck.com's domains, according to bdea.cc, October 2025",
    path: inFolder("emailondeck.txt"),
    from: "https://github.com/GeroldSetz/emailondeck.com-domains",
    repositories: {
      names: ["GeroldSetz/emailondeck.com-domains"],
      commit: "8a659303c505a3a3b2d43785a057c575b2243169",
      take: "emailondeck.com_domains_from_bdea.cc.txt",
    },
  },
  mailinator: {
    name: "mailinator.com's domains, according to bdea.cc, March 2026",
    path: inFolder("mailinator.sha1"),
    from: "https://github.com/GeroldSetz/Mailinator-Domains",
    repositories: {
      names: ["GeroldSetz/Mailinator-Domains"],
      commit: "2b9e7a15aa3bc6fcdb1177844afa57da257a8fe4",
      take: "mailinator_domains_from_bdea.cc.txt",
    },
  },
  kukulu: {
    name: "kuku.lu's domains, according to chan-mai, August 2026",
    path: inFolder("kukulu.txt"),
    from: "https://github.com/chan-mai/kukulu-disposable-email-list",
    repositories: {
      names: ["chan-mai/kukulu-disposable-email-list"],
      commit: "f4bdb428398e7db34cffd82ea91838e6aa5b78eb",
      take: "domains.txt",
    },
  },
  castle: {
    name: "the domains that were abused most on 22 August 2026, according to Castle",
    path: inFolder("castle.txt"),
    from: "`disposable-email-domains.txt` of https://github.com/castle/disposable-email-domains at commit b39755c",
    repositories: {
      names: ["castle/disposable-email-domains"],
      commit: "b39755cacb1b3c2213e3c7c427c9c8ad6867cfea",
      take: "disposable-email-domains.txt",
    },
  },
  peeringdb: {
    name: "PeeringDB",
    path: inFolder("peeringdb-net.json"),
    from: "https://www.peeringdb.com/api/net, as `peeringdb-net.json` in INKLING_SAMPLES; all networks, or some such as the first 500 of 16 April 2026, which github.com/dotwaffle/peeringdb-plus has in `testdata/visibility-baseline/prod`",
  },
  vpnServers: {
    name: "servers of 23 VPNs, May 2026",
    path: inFolder("gluetun-servers"),
    from: "the folder `gluetun-servers/pkg/servers` of github.com/passteque/gluetun at commit c77d306c",
    repositories: {
      names: ["passteque/gluetun"],
      commit: "c77d306c02bc2bce590d0b581b8076798409634f",
      take: "gluetun-servers/pkg/servers",
    },
  },
  systemTypes: {
    name: "PeeringDB's types, July 2026",
    path: inFolder("asn-blocklist"),
    from: "the folder `dist` of github.com/InsightFlare/asn-blocklist",
    repositories: {
      names: ["InsightFlare/asn-blocklist"],
      commit: "7be9212a1fef945c13cecb158d309fb09b285f40",
      take: "dist",
    },
  },
  atlasProbes: {
    name: "RIPE Atlas probes",
    path: inFolder("atlas-probes.json"),
    from: "the newest file of https://ftp.ripe.net/ripe/atlas/probes/archive/, decompressed, as `atlas-probes.json` in INKLING_SAMPLES",
  },
  universities: {
    name: "universities",
    path: join(VECTORS, "guards/university_domains.json"),
    from: "MISP's warning list of that name, in `guards/` of INKLING_VECTORS",
  },
  mailProviders: {
    name: "mail providers of Thunderbird's database",
    path: inFolder("mail-providers.txt"),
    from: "the `domain` elements in `ispdb` of https://github.com/thunderbird/autoconfig at commit c6ad796",
    repositories: {
      names: ["thunderbird/autoconfig"],
      commit: "c6ad79659b5fc321d1593ec4c277815b83e5dec5",
      take: providerDomains,
    },
  },
  allowed: {
    name: "allow-list of a checker",
    path: join(VECTORS, "guards/whitelist.txt"),
    from: "`guards/` of INKLING_VECTORS; it has no public source",
  },
} as const satisfies Readonly<Record<string, Sample>>;

export const isThere = ({ path }: Sample): boolean => path !== "" && existsSync(path);

/**
 * Fetches the samples in public repositories that are not in INKLING_SAMPLES yet.
 * @param origin where the repositories are
 * @param report receives a line about each of them
 */
export function fetchSamples(
  samples: readonly Sample[] = Object.values(SAMPLE),
  origin = "https://github.com",
  report = (line: string): unknown => process.stderr.write(`${line}\n`),
): void {
  for (const { name, path, repositories } of samples) {
    if (repositories === undefined || path === "" || existsSync(path)) continue;
    try {
      report(`${name}: fetched ${fetchFrom(origin, repositories, path)}`);
    } catch (error) {
      report(`${name}: ${(error as Error).message}`);
    }
  }
}

/** @returns the commits and the time, which it also writes into a file beside the sample */
function fetchFrom(origin: string, { names, commit, isHistory, take }: Repositories, path: string): string {
  const folder = mkdtempSync(join(tmpdir(), "inkling-sample-"));
  try {
    const clones = names.map((name) => {
      const [url, clone] = [`${origin}/${name}`, join(folder, name.replaceAll("/", "-"))];
      if (isHistory) git("clone", "--quiet", "--bare", "--filter=tree:0", url, clone);
      else {
        git("init", "--quiet", clone);
        git("-C", clone, "fetch", "--quiet", "--depth=1", url, commit ?? "HEAD");
        git("-C", clone, "checkout", "--quiet", "FETCH_HEAD");
      }
      return clone;
    });
    mkdirSync(dirname(path), { recursive: true });
    const part = `${path}.part`; // what an interrupted run leaves is not the sample
    rmSync(part, { recursive: true, force: true });
    if (typeof take === "string") cpSync(join(clones[0]!, take), part, { recursive: true });
    else writeFileSync(part, `${clones.flatMap((clone) => take(clone)).join("\n")}\n`);
    renameSync(part, path);
    const commits = clones.map((clone) => git("-C", clone, "rev-parse", "--short", "HEAD").trim());
    const fetched = `${new Date().toISOString().slice(0, 10)} at ${commits.join(", ")}`;
    writeFileSync(fetchedFile(path), fetched);
    return fetched;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const fetchedFile = (path: string) => `${path}.fetched`;

/** @throws Error with Git's error */
function git(...args: readonly string[]): string {
  const env = { ...process.env, GIT_TERMINAL_PROMPT: "0" };
  const { status, stdout, stderr, error } = spawnSync("git", args, {
    encoding: "utf8",
    env,
    maxBuffer: 1024 ** 3,
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(/^fatal: .*/m.exec(stderr)?.[0] ?? `git ${args[0]} failed: ${stderr}`);
  return stdout;
}

/** Returns a table of all samples, for the report. */
export function sampleTable(): string {
  const lines = Object.values(SAMPLE).map((sample) => {
    const file = fetchedFile(sample.path);
    const byHand = "repositories" in sample ? ", placed by hand" : "";
    const fetched = existsSync(file) ? `, fetched ${readFileSync(file, "utf8")}` : byHand;
    return `| ${sample.name} | ${isThere(sample) ? `measured${fetched}` : "not here"} | ${sample.from} |\n`;
  });
  return `| sample | | where it is from |\n|---|---|---|\n${lines.join("")}`;
}
