// The picture of the traffic: what answers say, minute by minute.

import { describe, expect, test } from "bun:test";
import { adminServer, closeAdminServers } from "../../../../test/admin-server.ts";
import { type Counted, Counts, LATENCY_BOUNDS, slotOf } from "./counts.ts";
import { MINUTE_MS, percentile, Traffic } from "./traffic.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const NOON = Date.UTC(2026, 5, 1, 12);
const flags = (abuser: boolean, proxy: boolean, tor: boolean) =>
  encode(JSON.stringify({ is_abuser: abuser, is_proxy: proxy, is_tor_exit: tor }));
const place = (city: string, country: object) =>
  encode(
    `{"city":{"name":${JSON.stringify(city)}},"continent":{"code":"EU","name":"Europe"},"country":${JSON.stringify(country)},"location":{},"postal":{},"registered_country":{"iso_code":"XX"},"subdivisions":[]}`,
  );

describe("answers are counted by what they contain", () => {
  test("flags, each by itself and all together", () => {
    const all = [false, true].flatMap((a) =>
      [false, true].flatMap((b) => [false, true].map((c) => [a, b, c] as const)),
    );
    for (const [a, b, c] of all) {
      const counts = new Counts();
      counts.countFlags("reputation", flags(a, b, c), NOON);
      expect(Object.fromEntries(counts.flagRows())).toEqual({
        is_abuser: Number(a),
        is_proxy: Number(b),
        is_tor_exit: Number(c),
        disposable: 0,
      });
    }
  });
  test("disposable, of valid addresses and of others", () => {
    for (const [valid, disposable] of [
      [true, true],
      [true, false],
      [false, true],
      [false, false],
    ] as const) {
      const counts = new Counts();
      counts.countFlags("email", encode(JSON.stringify({ valid, disposable, providers: [] })), NOON);
      expect(Object.fromEntries(counts.flagRows()).disposable).toBe(Number(disposable));
    }
  });

  const countries: [name: string, body: Uint8Array, codes: string[]][] = [
    ["a country", place("Paris", { iso_code: "FR", name: "France" }), ["FR"]],
    ["none", place("Nowhere", {}), []],
    ["a name alone", place("Nowhere", { name: "Nowhereland" }), []],
    ["a city that looks like one", place(',"country":{"iso_code":"ZZ"}', { iso_code: "DE" }), ["DE"]],
    ["nothing before it", encode('{"city":{},"continent":{},"country":{"iso_code":"JP"}}'), ["JP"]],
    ["a body that is cut off", encode('{"city":{},"continent":{},"country":{"iso_code":"J'), []],
    ["nothing at all", encode("{}"), []],
  ];
  test.each(countries)("%s", (_, body, codes) => {
    const counts = new Counts();
    counts.countFlags("geolocate", body, NOON);
    expect([...counts.countryRows()]).toEqual(codes.map((code) => [code, 1]));
    // In the middle of other answers, as a batch has it.
    const before = encode('{"country":{"iso_code":"AA"},"country":{"iso_code":"AA"}}');
    const all = Buffer.concat([before, body, before]);
    counts.countFlags("geolocate", all, NOON, before.length, before.length + body.length);
    expect([...counts.countryRows()]).toEqual(codes.map((code) => [code, 2]));
  });

  test("in a second with many, a sample stands for all", () => {
    const counts = new Counts();
    for (let i = 0; i < 16_100; i++) counts.countFlags("geolocate", place("Rome", { iso_code: "IT" }), NOON);
    expect([...counts.countryRows()]).toEqual([["IT", 16_100]]);
    counts.countFlags("geolocate", place("Rome", { iso_code: "IT" }), NOON + 1000);
    expect([...counts.countryRows()]).toEqual([["IT", 16_101]]);
  });
});

describe("minutes", () => {
  test("hold what came since the one before, for a day", async () => {
    const counts = new Counts();
    let now = NOON;
    const traffic = new Traffic(
      () => counts,
      () => now,
    );
    const next = async () => {
      now += MINUTE_MS;
      await traffic.closeMinute();
    };
    counts.recordAnswer(0, 200, "live", 0.02);
    await next();
    expect(traffic.minutes).toEqual([]); // how long that took nobody knows
    counts.recordAnswer(0, 200, "live", 0.02);
    counts.recordAnswer(1, 404, "live", 3);
    counts.countLookup("geolocate", "live", "single", 2);
    counts.countLookup("geolocate", "live", "batch", 100);
    counts.countProblem("RATE_LIMITED");
    counts.countFlags("reputation", flags(true, false, false), now);
    counts.countFlags("geolocate", place("Rome", { iso_code: "IT" }), now);
    await next();
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
    for (let i = 0; i < 1500; i++) await next();
    expect(traffic.minutes).toHaveLength(1440);
    expect(traffic.minutes.at(-1)).toMatchObject({ requests: 0, statuses: {}, problems: {} });
  });

  test("batches, probes and documents do not change the latency of lookups of one value", async () => {
    const counts = new Counts();
    const traffic = new Traffic(
      () => counts,
      () => NOON,
    );
    const record = (requests: number, ids: readonly Counted[], ms: number) => {
      for (const id of ids)
        for (let i = 0; i < requests; i++) counts.recordAnswer(slotOf(id), 200, "live", ms);
    };
    await traffic.closeMinute();
    record(100, ["geolocate", "reputation", "email"], 0.02);
    record(100, ["geolocate_batch", "reputation_batch", "email_batch"], 90);
    record(1_000, ["readyz", "docs", "none"], 900);
    await traffic.closeMinute();
    const { latency } = traffic.minutes[0]!;
    expect([0.5, 0.99, 1].map((share) => percentile(latency.single, share))).toEqual([25e-6, 25e-6, 25e-6]);
    expect([0, 0.5, 1].map((share) => percentile(latency.batch, share))).toEqual([5e-6, 0.1, 0.1]);
  });

  test("of workers that were replaced never go below zero", async () => {
    let counts = new Counts();
    const traffic = new Traffic(
      () => counts,
      () => NOON,
    );
    counts.recordAnswer(0, 200, "live", 0.02);
    await traffic.closeMinute();
    counts = new Counts();
    await traffic.closeMinute();
    expect(traffic.minutes).toMatchObject([{ requests: 0, statuses: {} }]);
  });

  test("percentiles are the bounds of the histogram", () => {
    const latency = new Array(LATENCY_BOUNDS.length + 1).fill(0);
    expect(percentile(latency, 0.5)).toBeNull();
    latency[2] = 95;
    latency[7] = 4;
    latency[LATENCY_BOUNDS.length] = 1;
    expect([0.5, 0.95, 0.96, 0.99, 1].map((share) => percentile(latency, share))).toEqual([
      LATENCY_BOUNDS[2],
      LATENCY_BOUNDS[2],
      LATENCY_BOUNDS[7],
      LATENCY_BOUNDS[7],
      null,
    ] as number[]);
  });

  test("over the admin API, in steps", async () => {
    const counts = new Counts();
    let now = Date.parse("2026-06-01T11:50:00Z");
    const traffic = new Traffic(
      () => counts,
      () => now,
    );
    const { ask } = await adminServer({ traffic });
    await traffic.closeMinute();
    for (; now < Date.parse("2026-06-01T12:00:00Z"); ) {
      counts.recordAnswer(0, 200, "live", 0.02);
      counts.countFlags("geolocate", place("Rome", { iso_code: now % 3 === 0 ? "IT" : "FR" }), now);
      now += MINUTE_MS;
      await traffic.closeMinute();
    }
    const { document } = await ask("GET", "traffic?hours=1&step=5");
    expect(
      document.series.map(({ at, requests }: { at: string; requests: number }) => [at, requests]),
    ).toEqual([
      ["2026-06-01T11:50:00.000Z", 5],
      ["2026-06-01T11:55:00.000Z", 5],
    ]);
    expect(document.total).toMatchObject({ requests: 10, latency_seconds: { p50: LATENCY_BOUNDS[2] } });
    expect(
      document.total.countries.reduce((sum: number, { count }: { count: number }) => sum + count, 0),
    ).toBe(10);
    for (const query of ["hours=2", "step=7", "hours=1&hours=3", "from=x"]) {
      expect((await ask("GET", `traffic?${query}`)).code).toBe("QUERY_INVALID");
    }
    await closeAdminServers();
  });
});
