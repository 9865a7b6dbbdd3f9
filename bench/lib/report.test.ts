import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { PARTS } from "./parts.ts";
import { BENCH } from "./peers.ts";
import { PLOTS } from "./plots.ts";
import type { Line, PartResult } from "./record.ts";
import { line, partResult } from "./record.ts";
import { renderReport } from "./report.ts";
import { figure, quantile, ratios, spread, told } from "./stats.ts";
import { bars, linearTicks, logTicks, panels } from "./svg.ts";
import { CHECKS, TARGETS } from "./targets.ts";

const row = (what: string, who: string, measure: string, unit: string, values: number[]): Line => ({
  type: "row",
  what,
  who,
  measure,
  unit,
  values,
});

const result = (part: string, lines: Line[]): PartResult =>
  partResult.parse({
    part,
    commit: "0000000",
    at: "2026-11-21T00:00:00.000Z",
    seconds: 12.3,
    isQuick: false,
    command: `npm run bench -- ${part}`,
    machine: "2 cores",
    data: "feeds: 2 from npm packages (seeds)",
    lines: lines.map((one) => line.parse(JSON.parse(JSON.stringify(one)))),
  });

const V4 = "geolocate, random IPv4";
const RESULTS = [
  result("engine", [
    row(V4, "inkling on Bun", "time per look-up", "ns", [100, 140, 120]),
    row(V4, "libmaxminddb (C), find only", "time per look-up", "ns", [500, 560, 360]),
    { type: "missing", who: "npm <maxmind>", why: "not installed", install: "npm install --prefix bench" },
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
    row(V4, "nginx + geoip2, key, all that ours sends", "CPU per request", "µs", [8]),
  ]),
  result(
    "growth",
    [1, 10].map((n) => row(`growth, ${n}×`, "IPv4", "time per look-up", "ns", [100 + 4 * n])),
  ),
  result("build", [
    row("sizes of segments", "email", "file to sources", "times", [3]),
    row("sizes of segments", "email, from seeds", "file to sources", "times", [1.5]),
    row("sizes of segments", "geo", "file to sources", "times", [1.9]),
  ]),
  result("swap", [
    { type: "check", what: CHECKS.swapFailed, isKept: true, figure: "0 failed" },
    {
      type: "series",
      plot: "swap-latency",
      who: "99 %",
      points: [
        [0, 1],
        [1, 20],
      ],
    },
    {
      type: "series",
      plot: "swap-memory",
      who: "private",
      points: [
        [0, 100],
        [1, 100],
      ],
    },
  ]),
];

const report = renderReport({
  parts: PARTS,
  results: RESULTS,
  targets: TARGETS,
  plots: PLOTS,
  limits: { cpu: "Bun itself." },
});

describe("statistics", () => {
  test.each([
    [[3, 1, 2], 0.5, 2],
    [[1, 2, 3, 4], 0.5, 2.5],
    [[5], 0.99, 5],
    [[0, 10], 0.25, 2.5],
  ])("the %p quantile of %p", (values, share, want) => expect(quantile(values, share)).toBe(want));
  test("of nothing throws", () => expect(() => quantile([], 0.5)).toThrow("no values"));
  test("spread", () => expect(spread([3, 1, 2])).toEqual({ median: 2, least: 1, most: 3, rounds: 3 }));
  test("ratios go round by round", () => expect(ratios([2, 9, 4], [1, 3])).toEqual([2, 3]));
  test("figures", () =>
    expect([0, 0.1234, 1.234, 12.34, 1234.5].map(figure)).toEqual(["0", "0.123", "1.23", "12.3", "1,235"]));
  test("one round has no spread", () =>
    expect([told([7]), told([1, 2, 3])]).toEqual(["7.00", "2.00 (1.00 to 3.00)"]));
});

describe("plots", () => {
  /** Well-formed, by a strict reader: HTMLRewriter and the like forgive too much. */
  function wellFormed(svg: string): string[] {
    const open: string[] = [];
    const wrong: string[] = [];
    const text = svg.replace(/<style>[\s\S]*?<\/style>/, "");
    for (const [tag, slash, name, rest] of text.matchAll(
      /<(\/?)([a-z]+)((?:\s+[\w:-]+="[^"<]*")*)\s*\/?>/g,
    )) {
      if (slash === "/" && open.pop() !== name) wrong.push(tag);
      if (slash === "" && !tag.endsWith("/>")) open.push(name!);
      if (/NaN|Infinity|undefined/.test(rest!)) wrong.push(tag);
    }
    const bare = text.replace(/<(\/?)([a-z]+)((?:\s+[\w:-]+="[^"<]*")*)\s*\/?>/g, "");
    if (/[<>]|&(?!(?:amp|lt|gt|quot);)/.test(bare)) wrong.push(bare.trim().slice(0, 80));
    return [...wrong, ...open];
  }

  test("the reader itself sees what is not well-formed", () => {
    for (const bad of ["<svg><g></svg>", "<svg>a < b</svg>", "<svg>&</svg>", '<svg x="NaN"></svg>']) {
      expect(wellFormed(bad)).not.toEqual([]);
    }
  });
  test.each([...report.plots])("%s is well-formed", (_, svg) => expect(wellFormed(svg)).toEqual([]));
  test("there is one for each part with figures", () =>
    expect([...report.plots.keys()]).toEqual(["distribution-v4", "cpu", "growth", "swaps"]));
  test("a flat or single value has an axis, too", () => {
    const axis = { label: "x" };
    const curves = [
      {
        name: "a",
        points: [
          [1, 5],
          [1, 5],
        ] as const,
      },
    ];
    expect(wellFormed(panels("t", [{ title: "t", x: axis, y: { ...axis, isLog: true }, curves }]))).toEqual(
      [],
    );
    expect(wellFormed(bars("t", axis, [{ name: "a", isOurs: true, value: 1, least: 1, most: 1 }]))).toEqual(
      [],
    );
  });
  test("ticks are round", () => {
    expect(linearTicks(0, 97)).toEqual([0, 20, 40, 60, 80]);
    expect(logTicks(30, 600)).toEqual([50, 100, 200, 500]);
  });
});

describe("the report", () => {
  const { markdown } = report;
  const target = (text: string) => markdown.split("\n").find((one) => one.startsWith(`| ${text}`));

  test.each([
    [`${V4}: inkling on Bun takes at most 150 ns`, "reached | 120 ns"],
    [`${V4}: inkling on Node takes at most 150 ns`, "not measured"],
    [`${V4}: faster than libmaxminddb (C)`, "reached | 4.00 times"],
    ["single look-up over HTTP: CPU", "**not reached** | 1.13 times"],
    ["ten times the ranges: at most 1.5 times the look-up time, IPv4", "reached | 1.35 times"],
    ["the geo segment is at most twice its sources", "reached | 1.90 times"],
    ["the reputation segment is at most twice its sources", "not measured"],
    ["the email segment is at most twice its sources", "**not reached** | 3.00 times"],
    [CHECKS.swapFailed, "reached | 0 failed"],
    [CHECKS.swapMixed, "not measured"],
  ])("says of %s: %s", (text, want) => expect(target(text)).toContain(want));

  test("says why a target is not reached", () => expect(markdown).toContain("**: Bun itself."));
  test("names who is missing, and how to bring it", () =>
    expect(markdown).toContain("npm <maxmind>: not installed. `npm install --prefix bench`"));
  test("says where the data came from, once", () =>
    expect(markdown.split("- feeds: 2 from npm packages (seeds)\n")).toHaveLength(2));
  test("has medians, spreads and ratios", () => {
    expect(markdown).toContain("| libmaxminddb (C), find only | 500 (360 to 560) | 4.00 |");
  });
  test("says which parts were not measured", () => expect(markdown).toContain("`npm run bench -- batch`"));
  test("every target belongs to a part, and has an id of its own", () => {
    expect(TARGETS.filter(({ part }) => !PARTS.some(({ name }) => name === part))).toEqual([]);
    expect(new Set(TARGETS.map(({ id }) => id)).size).toBe(TARGETS.length);
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
  test.each(["enigne", "--quik"])("refuses %s", (wrong) => {
    const { stderr, exitCode } = main(wrong);
    expect([exitCode, stderr.toString().split(":").slice(0, 2).join(":")]).toEqual([
      2,
      `npm run bench: ${wrong}`,
    ]);
  });
  test.each(PARTS.map(({ name, script }) => [name, script]))(
    "%s has its script and a line in README.md",
    (_, script) => {
      expect(existsSync(join(BENCH, script))).toBe(true);
      expect(readFileSync(join(BENCH, "README.md"), "utf8")).toContain(`| \`${script}\` |`);
    },
  );
});
