// Tests the traffic counts, minute by minute.

import { describe, expect, test } from "bun:test";
import { REPUTATION_ANSWERS } from "@inkling/engine";
import { openStore } from "@inkling/store/store";
import { LATENCY_BOUNDS, METRIC_BOUNDS, percentile, sumTraffic } from "@inkling/store/traffic-counts";
import { adminServer, closeAdminServers } from "../../../../test/harness/admin-server.ts";
import { fetch } from "../../../../test/harness/checked-fetch.ts";
import { testServerOptions } from "../../../../test/harness/server-options.ts";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { startServer } from "../run/server.ts";
import { type Counted, Counts, slotOf } from "../telemetry/counts.ts";
import { MINUTE_MS, Traffic } from "./traffic.ts";

const NOON = Date.UTC(2026, 5, 1, 12);
const trafficOf = (counts: Counts, now: () => number) =>
  new Traffic({ serving: { counts, refresh() {} }, usage: { recordTraffic() {} }, now } as never);

describe("answers are counted by what they contain", () => {
  test("flags, each by itself and all together", () => {
    for (const [bits, answer] of REPUTATION_ANSWERS.entries()) {
      const counts = new Counts();
      counts.countFlags(bits);
      const set = JSON.parse(new TextDecoder().decode(answer));
      const want = Object.entries(set).map(([flag, isSet]) => [flag, Number(isSet)]);
      expect([...counts.flagRows()]).toEqual([...want, ["disposable", 0]] as never);
    }
    const counts = new Counts();
    counts.countDisposable();
    expect(Object.fromEntries(counts.flagRows())).toMatchObject({ disposable: 1, is_proxy: 0 });
  });

  const countIn = (counts: Counts, code: string | undefined, now: number) => {
    const weight = counts.sampleWeight(now);
    if (weight > 0) counts.countCountry(code, weight);
  };
  test("countries, if an answer has one", () => {
    const counts = new Counts();
    for (const code of ["FR", "AA", undefined, "ZZ", "FR"]) countIn(counts, code, NOON);
    expect([...counts.countryRows()]).toEqual([
      ["AA", 1],
      ["FR", 2],
      ["ZZ", 1],
    ]);
  });

  test("in a second with many, a sample stands for all", () => {
    const counts = new Counts();
    for (let i = 0; i < 16_100; i++) countIn(counts, "IT", NOON);
    expect([...counts.countryRows()]).toEqual([["IT", 16_100]]);
    countIn(counts, "IT", NOON + 1000);
    expect([...counts.countryRows()]).toEqual([["IT", 16_101]]);
  });
});

describe("minutes", () => {
  test("hold what came since the one before, for a day", async () => {
    const counts = new Counts();
    let now = NOON;
    const traffic = trafficOf(counts, () => now);
    const next = () => {
      now += MINUTE_MS;
      traffic.closeMinute();
    };
    counts.recordAnswer(0, 200, "live", 0.02);
    next();
    expect(traffic.minutes).toEqual([]); // the duration of that period is unknown
    counts.recordAnswer(0, 200, "live", 0.02);
    counts.recordAnswer(1, 404, "live", 3);
    counts.countLookup("geolocate", "live", "single", 2);
    counts.countLookup("geolocate", "live", "batch", 100);
    counts.countProblem("RATE_LIMITED");
    counts.countFlags(1);
    counts.countCountry("IT", counts.sampleWeight(now));
    next();
    expect(traffic.minutes).toMatchObject([
      {
        at: now,
        requests: 2,
        statuses: { "2xx": 1, "4xx": 1 },
        lookups: { geolocate: 102 },
        batchLookups: { geolocate: 100 },
        problems: { RATE_LIMITED: 1 },
        flags: { is_abuser: 1 },
        countries: { IT: 1 },
      },
    ]);
    for (let i = 0; i < 1500; i++) next();
    expect(traffic.minutes).toHaveLength(1440);
    expect(traffic.minutes.at(-1)).toMatchObject({ requests: 0, statuses: {}, problems: {} });
  });

  test("batches, probes and documents do not change the latency of lookups of one value", async () => {
    const counts = new Counts();
    const traffic = trafficOf(counts, () => NOON);
    const record = (requests: number, ids: readonly Counted[], ms: number) => {
      for (const id of ids)
        for (let i = 0; i < requests; i++) counts.recordAnswer(slotOf(id), 200, "live", ms);
    };
    traffic.closeMinute();
    record(100, ["geolocate", "reputation", "email"], 0.02);
    record(100, ["geolocate_batch", "reputation_batch", "email_batch"], 90);
    record(1_000, ["readyz", "docs", "none"], 900);
    traffic.closeMinute();
    const { latency } = traffic.minutes[0]!;
    expect([0, 0.5, 1].map((share) => percentile(latency.single, share))).toEqual([15e-6, 20e-6, 25e-6]);
    expect([0, 0.5, 1].map((share) => percentile(latency.batch, share))).toEqual([0.07, 0.085, 0.1]);
  });

  test("percentiles are interpolated within a bucket, and end with the last bound", () => {
    const latency = new Array(LATENCY_BOUNDS.length + 1).fill(0);
    expect(percentile(latency, 0.5)).toBeNull();
    latency[LATENCY_BOUNDS.indexOf(0.0015)] = 50;
    latency[LATENCY_BOUNDS.indexOf(0.007)] = 49;
    latency[LATENCY_BOUNDS.length] = 1;
    const found = [0.25, 0.5, 0.99, 0.995, 1].map((share) => percentile(latency, share)!);
    for (const [i, want] of [0.00125, 0.0015, 0.007, 5, 5].entries()) expect(found[i]).toBeCloseTo(want, 6);
  });

  test("a percentile is off by less than a third, whatever the latency", () => {
    for (let seconds = 7e-6; seconds < 5; seconds *= 1.13) {
      const counts = new Counts();
      counts.recordAnswer(slotOf("geolocate"), 200, "live", seconds * 1000);
      const found = percentile(counts.latencyOf("single"), 0.5)!;
      expect(Math.abs(found - seconds) / seconds).toBeLessThan(0.34);
    }
  });

  test("hours that an earlier version stored keep their place among the finer buckets", () => {
    const stored = METRIC_BOUNDS.map((bound) => (bound === 0.025 ? 10 : 0));
    const empty = { statuses: {}, lookups: {}, batchLookups: {}, problems: {}, flags: {}, countries: {} };
    const row = { ...empty, requests: 12, latency: { single: [...stored, 2], batch: [] } };
    const { latency } = sumTraffic([row, row]);
    expect(latency.single).toHaveLength(LATENCY_BOUNDS.length + 1);
    expect(latency.single[LATENCY_BOUNDS.indexOf(0.025)]).toBe(20);
    expect(latency.single[LATENCY_BOUNDS.indexOf(0.7)]).toBe(4);
  });

  test("over the admin API, in steps", async () => {
    const counts = new Counts();
    let now = Date.parse("2026-06-01T11:50:00Z");
    const traffic = trafficOf(counts, () => now);
    const { ask } = await adminServer({ traffic });
    traffic.closeMinute();
    for (; now < Date.parse("2026-06-01T12:00:00Z"); ) {
      counts.recordAnswer(0, 200, "live", 0.02);
      counts.countCountry(now % 3 === 0 ? "IT" : "FR", counts.sampleWeight(now));
      now += MINUTE_MS;
      traffic.closeMinute();
    }
    const { document } = await ask("GET", "traffic?hours=1&step=5");
    expect(
      document.series.map(({ at, requests }: { at: string; requests: number }) => [at, requests]),
    ).toEqual([
      ["2026-06-01T11:50:00.000Z", 5],
      ["2026-06-01T11:55:00.000Z", 5],
    ]);
    expect(document.total).toMatchObject({ requests: 10, latency_seconds: { p50: 0.00002 } });
    expect(
      document.total.countries.reduce((sum: number, { count }: { count: number }) => sum + count, 0),
    ).toBe(10);
    for (const query of [
      "hours=2",
      "step=7",
      "hours=1&hours=3",
      "from=x",
      "hours=168&step=30",
      "hours=12&step=1440",
    ]) {
      expect((await ask("GET", `traffic?${query}`)).code).toBe("PARAMETER_INVALID");
    }
    await closeAdminServers();
  });

  test("over the admin API, as stored: all hosts, in hours or days, also those without requests", async () => {
    const { ask, store } = await adminServer();
    const counts = { ...sumTraffic([]), requests: 2, countries: { IT: 1 } };
    const traffic = [
      { host: "web-1", hour: "2026-06-01T12", counts },
      { host: "web-2", hour: "2026-06-01T12", counts },
      { host: "web-1", hour: "2026-05-31T13", counts },
      { host: "web-1", hour: "2026-05-31T12", counts },
      { host: "web-1", hour: "2026-05-03T00", counts },
      { host: "web-1", hour: "2026-05-02T23", counts },
    ];
    await store.usage.add({ recorder: "r", sequence: 1, entries: [], traffic });
    const seriesOf = async (query: string) => {
      const { document } = await ask("GET", `traffic?${query}`);
      const filled = document.series.filter(({ requests }: { requests: number }) => requests > 0);
      return [
        document.hosts,
        document.series.length,
        filled.map(({ at, requests }: { at: string; requests: number }) => [at.slice(0, 13), requests]),
      ];
    };
    const [yesterday, today] = [
      ["2026-05-31T13", 2],
      ["2026-06-01T12", 4],
    ];
    expect(await seriesOf("hours=24&step=60")).toEqual([2, 24, [yesterday, today]]);
    expect(await seriesOf("hours=168")).toEqual([2, 168, [["2026-05-31T12", 2], yesterday, today]]);
    const days = [
      ["2026-05-03T00", 2],
      ["2026-05-31T00", 4],
      ["2026-06-01T00", 4],
    ];
    expect(await seriesOf("hours=720")).toEqual([2, 30, days]);
    await closeAdminServers();
  });
});

test("a server's traffic is still there after a restart, with the minute in which it stopped", async () => {
  const options = testServerOptions(temporaryFolder());
  const read = async () => {
    const server = await startServer(options);
    await (await fetch(`http://127.0.0.1:${server.port}/healthz`)).text();
    await server.stop();
    const store = await openStore(options.databaseUrl);
    const stored = await store.usage.readTraffic(0);
    await store.close();
    return [
      new Set(stored.map(({ host }) => host)).size,
      sumTraffic(stored.map(({ counts }) => counts)).requests,
    ];
  };
  expect(await read()).toEqual([1, 1]);
  expect(await read()).toEqual([1, 2]);
});
