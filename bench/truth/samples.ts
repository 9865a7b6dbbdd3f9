// samples.ts: lists the samples that some builds, or all builds, do not read, with the path, name and source of each
// sample.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { BENCH } from "../lib/peers.ts";
import { MIRROR, VECTORS } from "../lib/shared-folders.ts";

/** Folder for files that belong to other publishers and are in no mirror, each under the name below. */
export const SAMPLES = process.env.INKLING_SAMPLES;

export interface Sample {
  readonly name: string;
  readonly path: string;
  /** Instructions for getting the sample. */
  readonly from: string;
}

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
    from: "`git log --format=%ae` of rails/rails, ansible/ansible and symfony/symfony, without what stands before the @, as `commit-authors.txt` in INKLING_SAMPLES",
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
    from: "https://github.com/GeroldSetz/emailondeck.com-domains, as `emailondeck.txt` in INKLING_SAMPLES",
  },
  mailinator: {
    name: "mailinator.com's domains, according to bdea.cc, March 2026",
    path: inFolder("mailinator.sha1"),
    from: "https://github.com/GeroldSetz/Mailinator-Domains, as `mailinator.sha1` in INKLING_SAMPLES",
  },
  kukulu: {
    name: "kuku.lu's domains, according to chan-mai, August 2026",
    path: inFolder("kukulu.txt"),
    from: "https://github.com/chan-mai/kukulu-disposable-email-list, as `kukulu.txt` in INKLING_SAMPLES",
  },
  castle: {
    name: "the domains that were abused most on 22 August 2026, according to Castle",
    path: inFolder("castle.txt"),
    from: "`disposable-email-domains.txt` of https://github.com/castle/disposable-email-domains at commit b39755c, as `castle.txt` in INKLING_SAMPLES",
  },
  peeringdb: {
    name: "PeeringDB",
    path: inFolder("peeringdb-net.json"),
    from: "https://www.peeringdb.com/api/net, as `peeringdb-net.json` in INKLING_SAMPLES; all networks, or some such as the first 500 of 16 April 2026, which github.com/dotwaffle/peeringdb-plus has in `testdata/visibility-baseline/prod`",
  },
  vpnServers: {
    name: "servers of 23 VPNs, May 2026",
    path: inFolder("gluetun-servers"),
    from: "the folder `gluetun-servers/pkg/servers` of github.com/passteque/gluetun at commit c77d306c, as `gluetun-servers` in INKLING_SAMPLES",
  },
  systemTypes: {
    name: "PeeringDB's types, July 2026",
    path: inFolder("asn-blocklist"),
    from: "the folder `dist` of github.com/InsightFlare/asn-blocklist, as `asn-blocklist` in INKLING_SAMPLES",
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
    from: "the `domain` elements in `ispdb` of https://github.com/thunderbird/autoconfig at commit c6ad796, one on each line, as `mail-providers.txt` in INKLING_SAMPLES",
  },
  allowed: {
    name: "allow-list of a checker",
    path: join(VECTORS, "guards/whitelist.txt"),
    from: "`guards/` of INKLING_VECTORS",
  },
} as const satisfies Readonly<Record<string, Sample>>;

export const isThere = ({ path }: Sample): boolean => path !== "" && existsSync(path);

/** Returns a table of all samples, for the report. */
export function sampleTable(): string {
  const lines = Object.values(SAMPLE).map(
    (sample) => `| ${sample.name} | ${isThere(sample) ? "measured" : "not here"} | ${sample.from} |\n`,
  );
  return `| sample | | where to get it |\n|---|---|---|\n${lines.join("")}`;
}
