import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { PARTS } from "../parts/index.ts";
import { BENCH } from "./peers.ts";
import { drawPlots, PLOTS } from "./plots.ts";
import type { Line, PartResult } from "./record.ts";
import { Run } from "./record.ts";
import { comparison, renderReport } from "./report.ts";
import { figure, quantile, ratios, spread } from "./stats.ts";
import { TARGETS } from "./targets.ts";

const row = (what: string, who: string, measure: string, unit: string, values: number[]): Line => ({
  type: "row",
  what,
  who,
  measure,
  unit,
  values,
});

const result = (part: string, lines: Line[]): PartResult => ({
  part,
  commit: "0000000",
  at: "2026-11-21T00:00:00Z",
  seconds: 12.3,
  command: `npm run bench -- ${part}`,
  machine: "2 cores",
  data: "feeds: 2 from npm packages (seeds)",
  lines,
});

const V4 = "geolocate, random IPv4";
const RESULTS = [
  result("engine", [
    row(V4, "inkling on Bun", "time per lookup", "ns", [100, 140, 120]),
    row(V4, "libmaxminddb (C), find only", "time per lookup", "ns", [500, 560, 360]),
    { type: "missing", who: "a <peer>", why: "not installed", install: "apt-get install" },
    {
      type: "series",
      plot: "distribution-v4",
      who: "inkling & <others>",
      points: [
        [90, 0.1],
        [110, 0.9],
      ],
    },
  ]),
  result("http", [
    row(V4, "inkling", "CPU per request", "µs", [9]),
    row(V4, "nginx + geoip2, key, same members and headers", "CPU per request", "µs", [8]),
    row(`${V4}, beside neighbours`, "inkling", "CPU per request, 64 MB", "µs", [24, 30, 30]),
    row(`${V4}, beside neighbours`, "bare Bun.serve", "CPU per request, 64 MB", "µs", [20, 20, 25]),
    {
      type: "series",
      plot: "pressure-http",
      who: "inkling",
      points: [
        [0, 9],
        [64, 30],
      ],
    },
  ]),
  result(
    "growth",
    [1, 10].flatMap((n) => [
      row(`growth, ${n}×`, "IPv4", "time per lookup", "ns", [100 + 4 * n]),
      row(`growth, ${n}×`, "IPv4", "memory of one process after all lookups", "MB", [n]),
      row(`growth, ${n}×`, "segment", "build", "s", [n]),
      row(`growth, ${n}×`, "segment", "file", "MB", [n]),
    ]),
  ),
  result("build", [
    row("sizes of segments", "email", "file to sources", "times", [3]),
    row("sizes of segments", "email, from seeds", "file to sources", "times", [1.5]),
    row("sizes of segments", "geo", "file to sources", "times", [1.9]),
  ]),
];

const markdown = renderReport({ parts: PARTS, results: RESULTS, targets: TARGETS, plots: PLOTS.slice(1, 2) });

describe("statistics", () => {
  test.each([
    [[3, 1, 2], 0.5, 2],
    [[1, 2, 3, 4], 0.5, 2.5],
    [[5], 0.99, 5],
    [[0, 10], 0.25, 2.5],
  ])("the %p quantile of %p", (values, share, want) => expect(quantile(values, share)).toBe(want));
  test("of nothing throws", () => expect(() => quantile([], 0.5)).toThrow("no values"));
  test("ratios go round by round", () => expect(ratios([2, 9, 4], [1, 3])).toEqual([2, 3]));
  test("figures", () =>
    expect([0, 0.1234, 1.234, 12.34, 1234.5].map(figure)).toEqual(["0", "0.123", "1.23", "12.3", "1,235"]));
  test("one round has no spread", () =>
    expect([spread([]), spread([7]), spread([3, 1, 2])]).toEqual(["", "7.00", "2.00 (1.00 to 3.00)"]));
});

describe("alternating rounds", () => {
  const run = () => new Run("/", { isQuick: false, hasPressure: false });
  const contestants = (order: string[]) =>
    ["a", "b"].map((who, i) => ({
      what: "w",
      who,
      measure: async () => ({ "time, ns": order.push(who) + 100 * i }),
    }));

  test("the first is not recorded, every other one goes backwards", async () => {
    const [one, order]: [Run, string[]] = [run(), []];
    await one.alternate(contestants(order), 3);
    expect(order.join("")).toBe("baabbaab");
    expect([one.values("w", "a", "time"), one.values("w", "b", "time")]).toEqual([
      [3, 6, 7],
      [104, 105, 108],
    ]);
    expect(one.lines[0]).toEqual({
      type: "row",
      what: "w",
      who: "a",
      measure: "time",
      unit: "ns",
      values: [3, 6, 7],
    });
  });
  test("undoes all that was deferred, also when some of it fails, and reports each failure", async () => {
    const one = run();
    const ended: string[] = [];
    const fail = (message: string) => () => {
      throw new Error(message);
    };
    one.defer(() => ended.push("server"));
    one.defer(async () => fail("EACCES")());
    one.defer(() => ended.push("database"));
    one.defer(fail("EBUSY"));
    await expect(one.end()).rejects.toThrow("not all could be undone: EBUSY; EACCES");
    expect(ended).toEqual(["database", "server"]);
    await one.end();
  });
});

test("two checkouts are compared round by round", () => {
  const lines = [
    row("w", "inkling", "time", "ns", [110, 330, 88]),
    row("w", "npm", "time", "ns", [1]),
    row("w", "inkling (other)", "time", "ns", [100, 300, 100]),
  ];
  expect(comparison(lines, " (other)")).toBe(
    "w: inkling: time, ns\n  other 100 (100 to 300)   this 110 (88.0 to 330)   this / other 1.10 (0.880 to 1.10)\n",
  );
});

describe("plots", () => {
  test("every plot belongs to a part", () =>
    expect(PLOTS.filter(({ usermeta }) => !PARTS.some(({ name }) => name === usermeta.part))).toEqual([]));
  const testWithVega = test.skipIf(!existsSync(join(BENCH, "node_modules/vega-lite")));
  testWithVega("have names, curves and bars", async () => {
    const drawn = new Map([...(await drawPlots(RESULTS))].map(([{ name }, svg]) => [name, svg]));
    expect([...drawn.keys()]).toEqual(["cpu", "distribution-v4", "growth", "pressure-http"]);
    for (const svg of drawn.values()) {
      expect(svg).toStartWith("<svg");
      expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    }
    expect(drawn.get("distribution-v4")).toContain("inkling &amp; &lt;others&gt;");
    const count = (name: string, part: RegExp) => drawn.get(name)!.match(part)?.length ?? 0;
    const line = /aria-roledescription="line mark"/g;
    const counts = ["distribution-v4", "growth", "pressure-http"].map((name) => count(name, line));
    expect(counts).toEqual([1, 4, 1]);
    expect([
      count("cpu", /aria-roledescription="bar"/g),
      count("growth", /aria-roledescription="point"/g),
    ]).toEqual([2, 8]);
  });
});

describe("the report", () => {
  const target = (text: string) => markdown.split("\n").find((one) => one.startsWith(`| ${text}`));

  test.each([
    [`${V4}: inkling on Bun: time per lookup at most 150 ns`, "reached | 120 ns"],
    [`${V4}: inkling on Node: time per lookup at most 150 ns`, "not measured"],
    [`${V4}: inkling on Bun: time per lookup at most 1 times that of libmaxminddb`, "reached | 0.250 times"],
    [
      `${V4}: inkling: CPU per request at most 1 times that of nginx + geoip2, key`,
      "**not reached** | 1.13 times",
    ],
    [
      `${V4}, beside neighbours: inkling: CPU per request, 64 MB at most 1.25 times that of bare Bun.serve`,
      "reached | 1.20 times",
    ],
    ["growth, 10×: IPv4: time per lookup at most 1.5 times that of growth, 1×", "reached | 1.35 times"],
  ])("%s: %s", (text, want) => expect(target(text)).toContain(want));

  test("has medians, spreads, ratios, missing peers, plots, and parts that were not measured", () => {
    expect(markdown).toContain("| libmaxminddb (C), find only | 500 (360 to 560) | 4.00 |");
    expect(markdown).toContain("a <peer>: not installed. `apt-get install`");
    expect(markdown).toContain("## Lookups in process\n\n![Geolocate, random IPv4 addresses");
    expect(markdown).toContain("`npm run bench -- batch`");
    expect(markdown.split("- feeds: 2 from npm packages (seeds)\n")).toHaveLength(2);
  });
  test("every target belongs to a part, and has a text of its own", () => {
    expect(TARGETS.filter(({ part }) => !PARTS.some(({ name }) => name === part))).toEqual([]);
    expect(new Set(TARGETS.map(({ text }) => text)).size).toBe(TARGETS.length);
  });
});

describe("npm run bench", () => {
  const main = (...args: string[]) =>
    Bun.spawnSync([process.execPath, "--no-install", join(BENCH, "main.ts"), ...args], { stderr: "pipe" });

  test("--help names every part", () => {
    const { stdout, exitCode } = main("--help");
    expect(exitCode).toBe(0);
    for (const { name } of PARTS) expect(stdout.toString()).toContain(`\n  ${name} `);
  });
  test.each([
    ["enigne", "enigne: no such part"],
    ["--quik", "Unknown option '--quik'"],
    ["--pressure=1", "Option '--pressure' does not take an argument"],
    ["batch --pressure", "--pressure: batch is not measured beside neighbours"],
    [`--against=${BENCH}`, `${BENCH} is not a checkout of Inkling`],
  ])("refuses %s", (wrong, words) => {
    const { stderr, exitCode } = main(...wrong.split(" "));
    expect([exitCode, stderr.toString()]).toEqual([2, expect.stringContaining(`npm run bench: ${words}`)]);
  });
  test("refuses a part that cannot compare two checkouts", () => {
    const { stderr, exitCode } = main(`--against=${join(BENCH, "..")}`, "growth");
    expect([exitCode, stderr.toString()]).toEqual([2, expect.stringContaining("growth: no such part")]);
  });
  test("README.md has a line for each part", () => {
    const readme = readFileSync(join(BENCH, "README.md"), "utf8");
    expect([...readme.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name!)).toEqual(
      PARTS.map(({ name }) => name),
    );
  });
});
