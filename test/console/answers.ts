// answers.ts: admin API answers that a test cannot wait for or cause.

import { NO_FLAGS } from "@inkling/contract";
import type { Release } from "@inkling/engine";
import { FEEDS } from "../../packages/compiler/src/catalog/feeds.ts";

const HOSTILE = '<img src=x onerror="fetch(`https://evil.example/`)">';

/** Every existing feed as a release reports it, with all names, licences and notices. */
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

/** An hour of traffic. */
export const HOUR = {
  hours: 3,
  step_minutes: 1,
  hosts: 1,
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
/** Charts with the widest possible labels, one of them at the right edge. */
export const LARGE_NUMBERS = {
  ...HOUR,
  series: HOUR.series.slice(0, 31).map((point) => ({
    ...point,
    statuses: { "2xx": 456_000_000 },
    latency_seconds: { p50: 0.1, p95: 0.5, p99: 5 },
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
  failed_build: { at: "2026-01-03T00:00:03.000Z", why: "no list of is_tor_exit could be read" },
  update: { running: true, asked: false, last: null },
};

/** One feed in each state. */
export const TROUBLED_FEEDS = [
  { id: "healthy", state: "loaded", entries: 4_200, history: [4_000, 4_100, 3_900, 4_200] },
  { id: "getting-old", state: "loaded", entries: 310, age_seconds: 20 * 3_600 },
  { id: "too-old", state: "loaded", stale: true, entries: 12, age_seconds: 90 * 3_600, error: "HTTP 503" },
  {
    id: "changed",
    state: "loaded",
    entries: 900,
    error: "9,000 entries, not 900",
    held: { sha256: "00", why: "9,000 entries, not 900" },
  },
  { id: "expired", state: "expired", entries: 0, age_seconds: 900 * 3_600, error: "older than 30 days" },
  {
    id: "held",
    state: "missing",
    entries: 0,
    held: { sha256: "01", why: "-" },
    error: `${HOSTILE} would flag a public resolver`,
  },
  { id: "missing", state: "missing", entries: 0, age_seconds: null },
  ...["first-of-two", "second-of-two"].map((id) => ({
    id,
    state: "loaded",
    entries: 7,
    error: `publisher: https://${id}.example/list could not be reached: host not found`,
  })),
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
  weight: 2,
  error: null,
  held: null,
  licence: "CC0-1.0",
  attribution: null,
  on: feed.id !== "away",
  own: false,
  needs_agreement: false,
  ...feed,
  history: ("history" in feed ? feed.history : []).map((entries) => ({ entries })),
}));

/** Feeds that are off, off until the operator agrees to terms, or waiting for the next build. */
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
  history: [],
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
      reasons: ["no data release is loaded", `${HOSTILE} was refused`],
      release: null,
    }),
    host("web-4", { state: "silent", last_contact: new Date(Date.now() - 300_000).toISOString() }),
    host("web-5", { state: "unknown", version: null, requests_per_second: null }),
  ],
};

/** A key's usage over a month. */
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
      flagged: { is_abuser: n >> 6, is_proxy: n >> 5, is_tor_exit: 0, disposable: n >> 4 },
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
          { feed: "dbip-city-lite", label: "geolocation", effect: "sets", fields: ["city", "country"] },
          {
            feed: "geonames",
            label: "time_zone",
            effect: "fills",
            fields: ["location"],
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
          {
            feed: "ipsum-3",
            label: "attacker",
            effect: "label",
            network: "185.220.101.1/32",
            why: "traffic of a Tor exit's users",
          },
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

/** A month of decisions by day and action. */
export const DECISION_COUNTS = {
  stores_decisions: true,
  days: Array.from({ length: 30 }, (_, i) => {
    const day = new Date(Date.now() - i * 86_400_000).toISOString().slice(0, 10);
    const n = Math.round(4_000 + 3_000 * Math.sin(i / 4));
    const row = { day, legitimate: 1, fraud: 2 };
    return [
      { ...row, action: "allow", count: n },
      { ...row, action: "challenge", count: n >> 3 },
      { ...row, action: "deny", count: n >> 4 },
    ];
  }).flat(),
};

const decision = (i: number, over: object = {}) => ({
  id: `asm_${String(i).padStart(16, "0")}`,
  at: new Date(Date.now() - i * 1_000_000).toISOString(),
  event: "sign_up",
  ref: `user-${i}`,
  action: "allow",
  review: false,
  score: 0,
  reasons: [] as { code: string; weight: number }[],
  rule: null as string | null,
  shadow: [] as object[],
  degraded: [] as string[],
  ruleset: 7,
  data_version: "3c05d22e1399",
  facts: {
    event: "sign_up",
    "ip.network": "203.0.113.0/24",
    "ip.country": "DE",
    "ip.asn": 64500,
    "ip.organization": "Example Hosting",
    "email.domain": "example.com",
  },
  facts_read: ["ip.country", "ip.asn"],
  rule_action: null,
  outcome: null as string | null,
  outcome_at: null as string | null,
  ...over,
});

/** A decision of each kind, with long names. */
export const DECISIONS = {
  decisions: [
    decision(1, {
      action: "challenge",
      review: true,
      score: 0.62,
      rule: "card-from-elsewhere-and-a-data-centre",
      ref: `account-${"0123456789".repeat(11)}`,
      reasons: [
        { code: "proxy", weight: 0.35 },
        { code: "hosting_network", weight: 0.25 },
        { code: "role_account", weight: 0.2 },
        { code: "a_reason_of_a_newer_version", weight: 0.1 },
        { code: "country_mismatch", weight: 0.25 },
      ],
      shadow: [{ rule: "no-hosting-sign-ups", action: "deny", review: true }],
      degraded: ["is_abuser", "geolocation"],
      outcome: "fraud",
      outcome_at: fetched_at,
    }),
    decision(2, { event: "login", outcome: "legitimate", outcome_at: fetched_at }),
    decision(3, { action: "deny", score: 0.9, reasons: [{ code: "disposable", weight: 0.9 }], ref: null }),
    decision(4, { facts: { event: "login", "ip.network": "2001:db8:1234::/48" } }),
  ],
  next_cursor: "1-asm_0000000000000004",
};

const share = (n: number, of: number) => ({ count: n, of, share: n / of, low: 0.41, high: 0.87 });
/** Reasons and rules with few and many labels, and long names. */
export const CALIBRATION = {
  from: fetched_at,
  decisions: 1_234_567,
  fraud: 52,
  legitimate: 40,
  reasons: ["tor_exit", "proxy", "country_mismatch"].map((reason, i) => ({
    reason,
    weight: 0.35,
    default_weight: 0.35,
    decisions: 1_000 * i,
    fraud: 30 * i,
    legitimate: 10 * i,
    precision: i === 0 ? null : share(30 * i, 40 * i),
    suggested_weight: i === 0 ? null : 0.35 + 0.1 * (i - 1),
  })),
  rules: ["no-hosting-sign-ups", "card-from-elsewhere-and-a-data-centre"].map((rule, i) => ({
    rule,
    mode: i === 0 ? "live" : "shadow",
    action: "deny",
    live: i === 0 ? 1_300 : 0,
    shadow: i === 0 ? 0 : 12,
    fraud: 9 * i,
    legitimate: 3 * i,
    precision: i === 0 ? null : share(9, 12),
  })),
};

const examples = [1, 2, 3].map((i) => ({
  id: `asm_${String(i).padStart(16, "0")}`,
  at: fetched_at,
  ref: i === 1 ? null : `user-${i}`,
  event: "sign_up",
  before: "allow",
  after: "deny",
  rule_before: null,
  rule_after: "no-hosting-sign-ups",
  outcome: i === 1 ? "legitimate" : null,
}));

/** Hits of rules of the starter ruleset. */
export const RULE_HITS = {
  from: fetched_at,
  decisions: 1_234_567,
  fraud: 0,
  legitimate: 0,
  reasons: [],
  rules: ["no-hosting-sign-ups", "tor-sign-ups"].map((rule) => ({
    rule,
    mode: "shadow",
    action: "deny",
    live: 0,
    shadow: 1_234,
    fraud: 0,
    legitimate: 0,
    precision: null,
  })),
};

/** A replay with every notice. */
export const REPLAY = {
  summary:
    "Of 100,000 stored decisions since 2026-11-01, this ruleset would deny 1,200 (3 of them labelled legitimate) instead of 0, and challenge 0 instead of 34.",
  decisions: 100_000,
  changed: 1_234,
  from: fetched_at,
  to: fetched_at,
  outcomes: { legitimate: 40, fraud: 12 },
  actions: [
    { before: "allow", after: "allow", count: 98_766, legitimate: 40, examples: [] },
    { before: "allow", after: "deny", count: 1_200, legitimate: 3, examples },
    { before: "challenge", after: "allow", count: 34, legitimate: 0, examples: [] },
  ],
  rules: ["no-hosting-sign-ups", "card-from-elsewhere-and-a-data-centre"].map((rule, i) => ({
    rule,
    mode: i === 0 ? "live" : "shadow",
    action: "deny",
    matches: 1_300,
    decides: i === 0 ? 1_300 : 0,
    changes: 1_200,
    precision: i === 0 ? share(9, 12) : null,
    recall: share(9, 12),
    examples,
  })),
  score: { decides: 98_700, changes: 34 },
  reasons: [{ reason: "proxy", weight: 0.35, matches: 4_200, precision: share(9, 12), recall: share(9, 12) }],
  unknown_facts: [{ fact: "facts.plan", decisions: 1_400 }],
  stopped: "limit",
};
