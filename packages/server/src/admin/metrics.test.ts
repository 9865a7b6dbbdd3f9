import { describe, expect, test } from "bun:test";
import { METRICS, OPERATIONS } from "@inkling/contract";
import { dataStates, type LoadedRelease, type Release } from "@inkling/engine";
import { METRIC_BOUNDS } from "@inkling/store/traffic-counts";
import { testSettings } from "../../../../test/harness/server-options.ts";
import { Counts, slotOf } from "../telemetry/counts.ts";
import { metricsText } from "./metrics.ts";
import type { Services } from "./services.ts";

const manifest = {
  id: "0123456789ab",
  created_at: "2026-06-01T00:00:00.000Z",
  segments: {},
  missing: ["is_proxy"],
  partial: [],
  feeds: [
    {
      id: "tor",
      entries: 5,
      published_at: "2026-06-01T11:00:00.000Z",
      fetched_at: "2026-06-01T11:59:00.000Z",
    },
    {
      id: "seed",
      entries: 7,
      error: "HTML",
      stale: true,
      failures: 4,
      checked_at: "1970-01-01T00:00:09.000Z",
      held: { sha256: "", why: "" },
    },
    { id: "old", entries: 0, state: "expired" },
  ],
} as unknown as Release;
const loaded = { name: "n", manifest, states: dataStates(manifest) } as unknown as LoadedRelease;

function services(current: LoadedRelease | undefined, counts = new Counts(), over: object = {}): Services {
  const made = {
    version: "1.2.3",
    settings: testSettings({ decisionsMaxMb: 2 }),
    releases: { current, refused: undefined, since: undefined, feeds: current?.manifest.feeds ?? [] },
    keyring: {
      refused: new Set(),
      state: { loaded: true, keys: 3, checkedAt: 2_000, failures: 0, lastError: undefined },
    },
    serving: { counts, workers: { states: new Map([["serving", 1]]), restarts: 0 } },
    notices: { state: "listening" },
    group: {
      state: { hosts: 3, isUnreachable: false, silentSeconds: 0.2, failures: 0, clockOffsetMs: 40 },
    },
    usage: {
      state: { pending: 4, oldestMs: 1_500, failures: 2 },
    },
    decisions: { state: { waiting: 3, stored: 70, dropped: 5, recalled: 6, notRecalled: 2 } },
    store: {
      retention: { decisions: { bytes: 2_000 } },
      database: { unreadable: { counts: new Map([["keys", 2]]) } },
    },
    webhooks: {
      attempts: new Map([["delivered", 5]]),
      dropped: 7,
      queue: { waiting: 3, oldestAt: Date.UTC(2026, 5, 1, 11, 59) },
    },
    overrides: { current: { all: Array(8).fill({}) }, state: { checkedAt: 3_000 } },
    now: () => Date.UTC(2026, 5, 1, 12),
    adminProblems: new Map([["CSRF_REJECTED", 2]]),
    ...over,
  };
  return made as unknown as Services;
}
function lines(of: Services): string[] {
  const text = metricsText(of);
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

describe("metrics", () => {
  test("counts become requests, lookups and problems", async () => {
    const counts = new Counts();
    counts.recordAnswer(0, 200, "live", 0.02);
    counts.recordAnswer(0, 304, "live", 0.02);
    counts.recordAnswer(0, 404, "test", 0.02);
    counts.recordAnswer(0, 400, "live", 0.02);
    counts.recordAnswer(0, 404, "none", 0.02);
    counts.recordAnswer(slotOf("none"), 404, "none", 0.02);
    counts.countLookup("geolocate", "live", "single");
    counts.countLookup("geolocate", "live", "single");
    counts.countLookup("geolocate", "live", "batch", 100);
    counts.countLookup("geolocate", "test", "single");
    counts.countLookup("email", "test", "batch");
    counts.countProblem("KEY_MISSING");
    const text = lines(services(loaded, counts));
    for (const line of [
      'inkling_http_requests_total{route="/v1/ip-intel/geolocate/{ip}",status="200",key="live"} 1',
      'inkling_http_requests_total{route="none",status="404",key="none"} 1',
      'inkling_lookups_total{lookup="geolocate",key="live",request="single"} 2',
      'inkling_lookups_total{lookup="geolocate",key="live",request="batch"} 100',
      'inkling_lookups_total{lookup="geolocate",key="test",request="single"} 1',
      'inkling_lookups_total{lookup="email",key="test",request="batch"} 1',
      'inkling_problems_total{code="KEY_MISSING"} 1',
      "inkling_ready 1",
      'inkling_release_info{id="0123456789ab",name="n"} 1',
      "inkling_release_age_seconds 43200",
      'inkling_answer_missing{answer="is_proxy"} 1',
      'inkling_feed_age_seconds{feed="tor"} 3600',
      'inkling_feed_entries{feed="seed"} 7',
      'inkling_feed_failed{feed="seed"} 1',
      'inkling_feed_failed{feed="tor"} 0',
      'inkling_feed_consecutive_failures{feed="seed"} 4',
      'inkling_feed_consecutive_failures{feed="tor"} 0',
      'inkling_feed_stale{feed="seed"} 1',
      'inkling_feed_stale{feed="tor"} 0',
      'inkling_feed_expired{feed="old"} 1',
      'inkling_feed_expired{feed="tor"} 0',
      'inkling_feed_held{feed="seed"} 1',
      'inkling_feed_held{feed="tor"} 0',
      'inkling_feed_checked_timestamp_seconds{feed="seed"} 9',
      "inkling_keys 3",
      "inkling_overrides 8",
      "inkling_overrides_checked_timestamp_seconds 3",
      "inkling_usage_pending 4",
      "inkling_usage_flush_failures_total 2",
      'inkling_build_info{version="1.2.3"} 1',
    ]) {
      expect(text).toContain(line);
    }
    const lookups = text.filter((line) => line.startsWith("inkling_lookups_total") && !line.endsWith(" 0"));
    expect(lookups).toHaveLength(4);
    expect(text.some((line) => line.startsWith('inkling_feed_age_seconds{feed="seed"}'))).toBe(false);
  });

  test("what alerts compare is 0 from the start: rate() takes no rise from a series that appears", () => {
    const text = lines(services(undefined));
    for (const line of [
      'inkling_http_requests_total{route="/v1/ip-intel/reputation/{ip}",status="503",key="live"} 0',
      'inkling_http_requests_total{route="/v1/ip-intel/reputation/{ip}",status="503",key="none"} 0',
      'inkling_http_requests_total{route="/v1/user-intel/email",status="500",key="live"} 0',
      'inkling_http_requests_total{route="/v1/ip-intel/geolocate/{ip}",status="429",key="live"} 0',
      'inkling_http_requests_total{route="/v1/ip-intel/geolocate/{ip}",status="401",key="none"} 0',
      'inkling_http_requests_total{route="/geoip/v2.1/city/{ip}",status="503",key="live"} 0',
      'inkling_http_request_duration_seconds_bucket{le="+Inf",route="/v1/ip-intel/reputation/{ip}"} 0',
      'inkling_lookups_total{lookup="email",key="live",request="batch"} 0',
      "inkling_worker_restarts_total 0",
      'inkling_problems_total{code="KEY_MISSING"} 0',
    ])
      expect(text).toContain(line);
    const once = text.map((line) => line.replace(/ \S+$/, ""));
    expect(once).toHaveLength(new Set(once).size);
  });

  test("checks of mail domains", async () => {
    const counts = new Counts();
    counts.setMxState({ underWay: 1, waiting: 2, cached: 3 });
    counts.countMxLookup("nxdomain", 250);
    counts.countMxLookup("nxdomain", 500);
    counts.countMxHit();
    counts.countMxAnswer("nxdomain");
    counts.countMxAnswer("skipped");
    const text = lines(services(loaded, counts));
    for (const line of [
      'inkling_mx_checks_total{outcome="nxdomain"} 1',
      'inkling_mx_checks_total{outcome="skipped"} 1',
      'inkling_mx_lookups_total{outcome="nxdomain"} 2',
      "inkling_mx_lookup_seconds_total 0.75",
      "inkling_mx_cache_hits_total 1",
      "inkling_mx_lookups_in_flight 1",
      "inkling_mx_lookups_waiting 2",
      "inkling_mx_cache_entries 3",
    ]) {
      expect(text).toContain(line);
    }
  });

  test("a scrape adds nothing to the next", async () => {
    const counts = new Counts();
    counts.recordAnswer(1, 200, "live", 0.02);
    const of = services(loaded, counts);
    const requests = () => metricsText(of).match(/^inkling_http_requests_total.*$/m)?.[0];
    expect(requests()).toBe(requests());
  });

  test("what is not known is not 0", async () => {
    const text = lines(services(undefined));
    const names = text.map((line) => line.split(/[ {]/)[0]!);
    for (const name of ["inkling_release_age_seconds", "inkling_release_info"]) {
      expect(names).not.toContain(name);
    }
    expect(text).toContain("inkling_ready 0");
  });

  test("the histogram is cumulative and adds up", async () => {
    const counts = new Counts();
    for (const ms of [0.001, 0.02, 0.02, 3, 10_000]) counts.recordAnswer(2, 200, "live", ms);
    const text = lines(services(loaded, counts)).filter(
      (line) => line.includes("duration_seconds") && line.includes(`route="${OPERATIONS.email.path}"`),
    );
    const bucket = (le: string) =>
      text
        .find((line) => line.includes(`le="${le}"`))
        ?.split(" ")
        .at(-1);
    expect(text.length).toBe(METRIC_BOUNDS.length + 3);
    expect([bucket("0.000005"), bucket("0.000025"), bucket("0.005"), bucket("0.5"), bucket("+Inf")]).toEqual([
      "1",
      "3",
      "4",
      "4",
      "5",
    ]);
    expect(text.find((line) => line.includes("_count"))).toEndWith(" 5");
    expect(
      Number(
        text
          .find((line) => line.includes("_sum"))
          ?.split(" ")
          .at(-1),
      ),
    ).toBeCloseTo(10.003041, 6);
  });
});

test("every metric is there", () => {
  const text = metricsText(services(loaded));
  expect([...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name!)).toEqual(Object.keys(METRICS));
});

test("text that Prometheus reads: labels escaped, numbers of any kind, a line end at the end", () => {
  const counts = new Counts();
  counts.recordAnswer(0, 200, "live", 0.02);
  const usage = { state: { pending: 0, oldestMs: Number.NEGATIVE_INFINITY, failures: 0 } };
  const of = services(loaded, counts, { version: 'a"b\\c\nd', usage });
  const text = metricsText(of);
  expect(text).toMatch(/^inkling_build_info\{.*version="a\\"b\\\\c\\nd".*\} 1$/m);
  expect(text).toMatch(/^\w+ -Inf$/m);
  const sampleLine = /^[a-z_]+(\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)+\})? ([-+]?[\d.e-]+|[-+]Inf|NaN)$/;
  const comment = /^# (HELP [a-z_]+ .+|TYPE [a-z_]+ (counter|gauge|histogram))$/;
  const wrong = text
    .split("\n")
    .filter((line) => line !== "" && !comment.test(line) && !sampleLine.test(line));
  expect(wrong).toEqual([]);
  expect(text).toEndWith("\n");
});
