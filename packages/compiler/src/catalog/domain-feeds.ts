// domain-feeds.ts: the feeds of mail domains that are on by default; "free" and "relay" are allow-lists.

import type { Feed } from "./feed.ts";
import { AGE, DAY, fixed, MIB, OURS, WEEK } from "./feed-limits.ts";

const DISPOSABLE = {
  sets: "disposable",
  cadenceHours: DAY,
  age: AGE.domains,
  maxBytes: 16 * MIB,
} as const;

/** Our lists of domains. */
const OUR_DOMAINS = { ...OURS, format: "relay-domains", entries: { least: 10, most: 2_000 } } as const;

export const DOMAIN_FEEDS: readonly Feed[] = [
  {
    ...DISPOSABLE,
    id: "disposable-email-domains",
    format: "domain-lines",
    otherFormats: { json: "domain-json" },
    title: "disposable-email-domains: community list",
    homepage: "https://github.com/disposable-email-domains/disposable-email-domains",
    urls: fixed(
      "https://raw.githubusercontent.com/disposable-email-domains/disposable-email-domains/main/disposable_email_blocklist.conf",
    ),
    licence: "CC0-1.0",
    change: 0.3,
    entries: { least: 3_000, most: 500_000 },
    seed: {
      package: "disposable-email-domains-js",
      files: ["dist/dict/disposable_email_blocklist.json"],
      format: "domain-json",
    },
  },
  {
    ...DISPOSABLE,
    id: "fakefilter",
    format: "fakefilter-text",
    otherFormats: { json: "fakefilter-json" },
    title: "FakeFilter: domains of disposable email services, with the service behind each",
    homepage: "https://github.com/7c/fakefilter",
    urls: fixed("https://raw.githubusercontent.com/7c/fakefilter/main/txt/data.txt"),
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
    id: "disposable-domains-mx",
    format: "domain-lines",
    otherFormats: { json: "domain-json" },
    title: "disposable/disposable: domains with a live mail server (its seed is a related list, by ivolo)",
    homepage: "https://github.com/disposable/disposable",
    urls: fixed("https://disposable.github.io/disposable-email-domains/domains_mx.txt"),
    licence: "MIT",
    change: 0.45,
    // No lineage, although it collects other lists: it names only domains whose mail server it found alive.
    entries: { least: 7_000, most: 500_000 },
    seed: {
      package: "disposable-email-domains",
      files: ["index.json"],
      format: "domain-json",
      licence: "MIT (github.com/ivolo/disposable-email-domains, no longer maintained)",
    },
  },
  {
    id: "free-mail",
    sets: "free",
    format: "domain-lines",
    title: "AfterShip: ordinary providers of free mail, an allow-list",
    homepage: "https://github.com/AfterShip/email-verifier",
    urls: fixed(
      "https://raw.githubusercontent.com/AfterShip/email-verifier/main/cmd/build_metadata/free.txt",
    ),
    licence: "MIT",
    cadenceHours: WEEK,
    age: AGE.allowList,
    change: 0.3,
    entries: { least: 1_500, most: 50_000 },
    maxBytes: 4 * MIB,
  },
  {
    id: "relay-mail",
    sets: "relay",
    format: "domain-lines",
    title: "disposable/disposable: privacy relays and alias services, an allow-list",
    homepage: "https://github.com/disposable/disposable",
    urls: fixed("https://raw.githubusercontent.com/disposable/disposable/master/greylist.txt"),
    licence: "MIT",
    cadenceHours: WEEK,
    age: AGE.allowList,
    change: 0.45,
    entries: { least: 10, most: 2_000 },
    maxBytes: MIB,
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
