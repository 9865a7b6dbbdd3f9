// domain-feeds.ts: the mail domain feeds that are on by default. The sets "free" and "relay" are allow-lists.
//
// packages/compiler/domain-lists.md shows which lists share entries.

import { sourcesOf } from "./domain-lineage.ts";
import type { Feed } from "./feed.ts";
import { AGE, DAY, fixed, github, OURS, WEEK } from "./feed-limits.ts";

const DISPOSABLE = {
  sets: "disposable",
  cadenceHours: DAY,
  age: AGE.domains,
} as const;

/** Old collections: their entries, on whichever list they appear, count as copies of the collection. */
const COLLECTION = {
  sets: "copied",
  licence: "MIT",
  cadenceHours: WEEK,
  age: AGE.allowList,
  change: 0.3,
} as const;

/** Popular domains, from MISP's warning lists. They count against other lists, but never in favour of a domain. */
const POPULAR = {
  sets: "popular",
  format: "misp-domains",
  licence: "CC0-1.0",
  cadenceHours: WEEK,
  age: AGE.allowList,
  change: 0.5,
} as const;

/** Inkling's own domain lists. */
const OUR_DOMAINS = { ...OURS, format: "relay-domains", entries: { least: 10, most: 2_000 } } as const;

const ROWS: readonly Feed[] = [
  {
    ...DISPOSABLE,
    id: "disposable-email-domains",
    format: "domain-lines",
    otherFormats: { json: "domain-json" },
    title: "disposable-email-domains: community list",
    ...github("disposable-email-domains/disposable-email-domains", "main/disposable_email_blocklist.conf"),
    licence: "CC0-1.0",
    change: 0.3,
    entries: { least: 3_000, most: 500_000 },
    seed: {
      package: "disposable-email-domains-js",
      files: ["dist/dict/disposable_email_blocklist.json"],
      format: "domain-json",
      published: "2026-09-21", // the date when npm received version 1.26.0
    },
  },
  {
    ...DISPOSABLE,
    id: "fakefilter",
    format: "fakefilter-text",
    otherFormats: { json: "fakefilter-json" },
    title: "FakeFilter: domains of disposable email services, with the service behind each",
    ...github("7c/fakefilter", "main/txt/data.txt"),
    licence: "BSD-3-Clause",
    attribution: "FakeFilter, Copyright (c) 2022, 7c",
    change: 0.45,
    entries: { least: 1_500, most: 50_000 },
    seed: {
      package: "fakefilter",
      files: ["json/data_version2.json"],
      format: "fakefilter-json",
      published: "2026-02-18",
    },
  },
  {
    ...DISPOSABLE,
    id: "castle-domains",
    format: "domain-lines",
    title: "Castle: the 1,000 most abused domains, from the services' pages and their mail hosts",
    ...github("castle/disposable-email-domains", "master/disposable-email-domains.txt"),
    licence: "MIT",
    // From May to August 2026, up to 58% of the domains were new after a week, and 72% after two.
    change: 0.8,
    entries: { least: 300, most: 10_000 },
  },
  {
    ...DISPOSABLE,
    id: "disposable-domains",
    format: "domain-lines",
    otherFormats: { json: "domain-json" },
    title: "disposable/disposable: domains from other lists and from the pages of about 20 services",
    homepage: "https://github.com/disposable/disposable",
    urls: fixed("https://disposable.github.io/disposable-email-domains/domains.txt"),
    licence: "MIT",
    change: 0.45,
    entries: { least: 20_000, most: 750_000 },
  },
  {
    ...DISPOSABLE,
    id: "tompec-domains",
    format: "domain-json",
    title: "tompec: domains collected from the services, on top of ivolo's list",
    ...github("tompec/disposable-email-domains", "main/index.json"),
    licence: "MIT",
    change: 0.3,
    entries: { least: 40_000, most: 1_300_000 },
    seed: {
      package: "disposable-domains",
      files: ["index.json"],
      format: "domain-json",
      published: "2026-08-24", // the date when npm received version 2.0.1
    },
  },
  {
    ...COLLECTION,
    id: "ivolo-domains",
    format: "domain-json",
    title: "ivolo: an old, unmaintained collection that other lists copied",
    ...github("ivolo/disposable-email-domains", "master/index.json"),
    entries: { least: 40_000, most: 500_000 },
    seed: {
      package: "disposable-email-domains",
      files: ["index.json"],
      format: "domain-json",
      published: "2024-12-07", // the date when npm received version 1.0.62
    },
  },
  {
    ...COLLECTION,
    id: "mailchecker-domains",
    format: "domain-lines",
    title: "mailchecker: an old, still maintained collection that other lists copied",
    ...github("FGRibreau/mailchecker", "master/list.txt"),
    entries: { least: 20_000, most: 500_000 },
    seed: {
      package: "mailchecker",
      files: ["platform/node/index.js"],
      format: "quoted-domains",
      published: "2026-07-18", // the date when npm received version 6.0.21
    },
  },
  {
    ...COLLECTION,
    id: "wesbos-burner",
    format: "domain-lines",
    title: "wesbos: an old collection, mostly of entries of ivolo and mailchecker",
    ...github("wesbos/burner-email-providers", "master/emails.txt"),
    entries: { least: 3_000, most: 500_000 },
    seed: {
      package: "burner-email-providers",
      files: ["emails.txt"],
      format: "domain-lines",
      published: "2024-12-11", // the date when npm received version 1.0.67
    },
  },
  {
    id: "free-mail",
    sets: "free",
    format: "domain-lines",
    title: "AfterShip: ordinary free mail providers, an allow-list",
    ...github("AfterShip/email-verifier", "main/cmd/build_metadata/free.txt"),
    licence: "MIT",
    cadenceHours: WEEK,
    age: AGE.allowList,
    change: 0.3,
    entries: { least: 1_500, most: 50_000 },
  },
  {
    id: "relay-mail",
    sets: "relay",
    format: "domain-lines",
    title: "disposable/disposable: privacy relays and alias services, an allow-list",
    ...github("disposable/disposable", "master/greylist.txt"),
    licence: "MIT",
    cadenceHours: WEEK,
    age: AGE.allowList,
    change: 0.45,
    entries: { least: 10, most: 2_000 },
  },
  {
    ...POPULAR,
    id: "cloudflare-top-100k",
    title: "MISP warning list: the 100,000 most requested domains, according to Cloudflare Radar",
    ...github("MISP/misp-warninglists", "main/lists/cloudflare-top100k/list.json"),
    entries: { least: 50_000, most: 200_000 },
  },
  {
    ...POPULAR,
    id: "tranco-10k",
    title: "MISP warning list: the 10,000 most popular sites, according to Tranco",
    ...github("MISP/misp-warninglists", "main/lists/tranco10k/list.json"),
    // Tranco combines several rankings, including Cloudflare's.
    lineage: ["cloudflare-top-100k"],
    entries: { least: 5_000, most: 20_000 },
  },
  {
    ...POPULAR,
    id: "organisations",
    format: "organisation-websites",
    title: "name-suggestion-index: websites of organisations and brands",
    homepage: "https://github.com/osmlab/name-suggestion-index",
    urls: fixed("https://cdn.jsdelivr.net/npm/name-suggestion-index@latest/dist/wikidata/wikidata.min.json"),
    licence: "BSD-3-Clause",
    attribution: "name-suggestion-index, Copyright 2026, name-suggestion-index contributors",
    entries: { least: 9_000, most: 300_000 },
  },
  {
    ...OUR_DOMAINS,
    id: "shared-domains",
    sets: "shared",
    title: "Inkling: domains under which anybody can get a name, each with its source",
    homepage: "docs/policy.md",
    own: "data/shared-domains.csv",
  },
  {
    ...OUR_DOMAINS,
    id: "relay-domains",
    sets: "relay",
    title: "Inkling: privacy relays and alias services, each with its source",
    homepage: "docs/feeds.md",
    own: "data/relay-domains.csv",
  },
  {
    ...OUR_DOMAINS,
    id: "ordinary-mail",
    sets: "free",
    title: "Inkling: mailbox providers and organisations that are never disposable, each with its source",
    homepage: "docs/policy.md",
    own: "data/ordinary-mail.csv",
  },
  {
    ...OUR_DOMAINS,
    id: "disposable-services",
    sets: "disposable",
    title: "Inkling: services that offer disposable addresses, each with its own page",
    homepage: "docs/policy.md",
    own: "data/disposable-services.csv",
    supplement: true,
  },
];

export const DOMAIN_FEEDS = ROWS.map((feed) => {
  const sources = sourcesOf(feed.id);
  return sources.length === 0 ? feed : { ...feed, lineage: sources };
});
