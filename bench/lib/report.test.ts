import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { PARTS } from "../parts/index.ts";
import { BENCH } from "./peers.ts";
import { PLOTS } from "./plots.ts";
import type { Line, PartResult } from "./record.ts";
import { Run } from "./record.ts";
import { comparison, renderReport } from "./report.ts";
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
    row(V4, "libmaxminddb (C), with fields", "time per lookup", "ns", [1_000, 1_000, 1_000]),
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
    row(V4, "nginx + geoip2, key, same fields and headers", "CPU per request", "µs", [8]),
    row(`${V4}, beside neighbours`, "inkling", "CPU per request, 64 MB", "µs", [24, 30, 30]),
    row(
      `${V4}, beside neighbours`,
      "nginx + geoip2, key, same fields and headers",
      "CPU per request, 64 MB",
      "µs",
      [20, 20, 25],
    ),
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

describe("alternating rounds", () => {
  const run = () => new Run("/", { isQuick: true, hasPressure: false, hours: 1 }); // warms up with one measurement
  const contestants = (order: string[]) =>
    ["a", "b"].map((who, i) => ({
      what: "w",
      who,
      measure: async () => ({ "time, ns": order.push(who) + 100 * i }),
    }));

  test("warming up is not recorded, every other round goes backwards", async () => {
    const [one, order]: [Run, string[]] = [run(), []];
    await one.alternate(contestants(order), 3);
    expect(order.join("")).toBe("ababbaab");
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

describe("the report", () => {
  const target = (text: string) => markdown.split("\n").find((one) => one.startsWith(`| ${text}`));

  test.each([
    [
      `${V4}: inkling on Bun: time per lookup at most 0.4 times that of libmaxminddb (C), with fields`,
      "reached | 0.120 times",
    ],
    [
      `${V4}: inkling on Node: time per lookup at most 0.4 times that of libmaxminddb (C), with fields`,
      "not measured",
    ],
    [`${V4}: inkling on Bun: time per lookup at most 1 times that of libmaxminddb`, "reached | 0.250 times"],
    [
      `${V4}: inkling: CPU per request at most 1.15 times that of nginx + geoip2, key`,
      "reached | 1.13 times",
    ],
    [
      `${V4}, beside neighbours: inkling: CPU per request, 64 MB at most 1.2 times that of nginx + geoip2, key`,
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
});

describe("npm run bench", () => {
  const main = (...args: string[]) =>
    Bun.spawnSync([process.execPath, "--no-install", join(BENCH, "main.ts"), ...args], { stderr: "pipe" });

  test("refuses a part that is not measured beside neighbours", () => {
    const { stderr, exitCode } = main("batch", "--pressure");
    const words = "npm run bench: --pressure: batch is not measured beside neighbours";
    expect([exitCode, stderr.toString()]).toEqual([2, expect.stringContaining(words)]);
  });
  test("--help and README.md have a line for each part, and each plot and target belongs to one", () => {
    const names = PARTS.map(({ name }) => name);
    const help = main("--help").stdout.toString();
    expect([...help.matchAll(/^ {2}(\w+) {2,}[A-Z]/gm)].map(([, name]) => name!)).toEqual(names);
    const readme = readFileSync(join(BENCH, "README.md"), "utf8");
    expect([...readme.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name!)).toEqual(names);
    const parts = [...PLOTS.map(({ usermeta }) => usermeta.part), ...TARGETS.map(({ part }) => part)];
    expect(parts.filter((part) => !names.includes(part))).toEqual([]);
    expect(new Set(TARGETS.map(({ text }) => text)).size).toBe(TARGETS.length);
  });
});
