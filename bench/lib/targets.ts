// targets.ts: what issue-sized promises there are of speed (DESIGN, "Targets"), and whether the recorded figures keep them.
//
// A target is judged by medians, ratios by the median of the ratios within each round. One whose figures were not
// recorded is told as not measured, never as reached.

import type { Line, PartResult, Row } from "./record.ts";
import { figure, quantile, ratios } from "./stats.ts";

export interface Verdict {
  readonly isReached: boolean;
  readonly figure: string;
}

export interface Target {
  readonly id: string;
  readonly text: string;
  /** The part of the suite that measures it. */
  readonly part: string;
  /** undefined: not measured. */
  readonly judge: (results: Results) => Verdict | undefined;
}

/** Recorded figures, found by their names. */
export class Results {
  private readonly lines: readonly Line[];

  constructor(results: readonly PartResult[]) {
    this.lines = results.flatMap((result) => result.lines);
  }

  row(what: string, who: string, measure: string): Row | undefined {
    return this.lines
      .filter((line) => line.type === "row")
      .find((row) => row.what === what && row.who === who && row.measure === measure);
  }

  check(what: string): Verdict | undefined {
    const found = this.lines.filter((line) => line.type === "check").find((line) => line.what === what);
    return found && { isReached: found.isKept, figure: found.figure };
  }

  median(what: string, who: string, measure: string): number | undefined {
    const row = this.row(what, who, measure);
    return row && quantile(row.values, 0.5);
  }

  /** Median of the ratios of one figure to another, round by round. */
  ratio(of: readonly [string, string, string], to: readonly [string, string, string]): number | undefined {
    const [a, b] = [this.row(...of), this.row(...to)];
    return a && b && quantile(ratios(a.values, b.values), 0.5);
  }
}

const V4 = "geolocate, random IPv4";
const V6 = "geolocate, IPv6 in random networks";
const TIME = "time per look-up";
const CPU = "CPU per request";
const RATE = "requests on one core";
const NGINX = "nginx + geoip2";
const NGINX_ALIKE = `${NGINX}, key, all that ours sends`;
/** "The same order" as 150 ns: not more than half an order of magnitude, the square root of ten, above it. */
const SAME_ORDER_NS = 474;

/** A figure that must not be above a bound. */
function atMost(
  id: string,
  part: string,
  text: string,
  bound: number,
  unit: string,
  find: (results: Results) => number | undefined,
): Target {
  return {
    id,
    part,
    text,
    judge: (results) => {
      const found = find(results);
      return found === undefined
        ? undefined
        : { isReached: found <= bound, figure: `${figure(found)} ${unit}`.trim() };
    },
  };
}

function atLeast(
  id: string,
  part: string,
  text: string,
  bound: number,
  unit: string,
  find: (results: Results) => number | undefined,
): Target {
  return {
    id,
    part,
    text,
    judge: (results) => {
      const found = find(results);
      return found === undefined
        ? undefined
        : { isReached: found >= bound, figure: `${figure(found)} ${unit}`.trim() };
    },
  };
}

/** The greatest of those figures that there are. */
function most(figures: readonly (number | undefined)[]): number | undefined {
  const found = figures.filter((one) => one !== undefined);
  return found.length === 0 ? undefined : Math.max(...found);
}

/** A rule that a part checks itself. */
const kept = (id: string, part: string, text: string): Target => ({
  id,
  part,
  text,
  judge: (results) => results.check(text),
});

function lookUp(id: string, what: string, who: string, bound: number): Target {
  const text = `${what}: ${who} takes at most ${bound} ns`;
  return atMost(id, "engine", text, bound, "ns", (results) => results.median(what, who, TIME));
}

/** Rules that parts of the suite check, by the words that they say them with. */
export const CHECKS = {
  swapFailed: "swap storm: no failed request",
  swapMixed: "swap storm: no answer mixes releases",
  swapMemory: "swap storm: memory is flat after the first swaps",
  kill: "kill -9 of a worker under load loses at most the requests that were under way on it",
  killReplaced: "a worker that died is replaced",
  limits: "limits are exact for the machine, across workers",
  quotas: "quotas are exact for the machine, across workers",
  usage: "usage and metrics of the workers add up",
  batchMemory:
    "memory is flat in an NDJSON stream: its second half takes at most 200 MB more than its first, and all of it 640 MB more than an idle server",
} as const;

export const TARGETS: readonly Target[] = [
  lookUp("v4-bun", V4, "inkling on Bun", 150),
  lookUp("v4-node", V4, "inkling on Node", 150),
  lookUp("v6-bun", V6, "inkling on Bun", 250),
  lookUp("v6-node", V6, "inkling on Node", 250),
  lookUp("reputation-bun", "reputation, random IPv4", "inkling on Bun", SAME_ORDER_NS),
  lookUp("reputation-node", "reputation, random IPv4", "inkling on Node", SAME_ORDER_NS),
  lookUp("email-bun", "e-mail, every other one listed", "inkling on Bun", SAME_ORDER_NS),
  lookUp("email-node", "e-mail, every other one listed", "inkling on Node", SAME_ORDER_NS),
  atLeast(
    "c-find",
    "engine",
    `${V4}: faster than libmaxminddb (C), find only`,
    1,
    "times as fast",
    (results) => results.ratio([V4, "libmaxminddb (C), find only", TIME], [V4, "inkling on Bun", TIME]),
  ),
  ...["geo", "reputation", "email"].map((kind) =>
    atMost(
      `size-${kind}`,
      "build",
      `the ${kind} segment is at most twice its sources`,
      2,
      "times",
      (results) =>
        most(
          [kind, `${kind}, from seeds`].map((who) =>
            results.median("sizes of segments", who, "file to sources"),
          ),
        ),
    ),
  ),
  atMost(
    "cpu",
    "http",
    "single look-up over HTTP: CPU at most that of nginx with geoip2 that checks a key and sends as much",
    1,
    "times",
    (results) => results.ratio([V4, "inkling", CPU], [V4, NGINX_ALIKE, CPU]),
  ),
  atMost(
    "cpu-bare",
    "http",
    "the same to nginx with geoip2 that sends five fields and two headers",
    1,
    "times",
    (results) => results.ratio([V4, "inkling", CPU], [V4, NGINX, CPU]),
  ),
  atMost(
    "cpu-log",
    "http",
    "the same with the access log on, to nginx with five fields, key, rate limit and access log",
    1,
    "times",
    (results) =>
      results.ratio([V4, "inkling, access log", CPU], [V4, `${NGINX}, key, rate limit, access log`, CPU]),
  ),
  atLeast(
    "rate",
    "http",
    "single look-up over HTTP: at least 85 % of a bare Bun.serve",
    85,
    "%",
    (results) => {
      const ratio = results.ratio([V4, "inkling", RATE], [V4, "bare Bun.serve", RATE]);
      return ratio && ratio * 100;
    },
  ),
  atMost("tail", "http", "at half of capacity, 99.9 % of answers within 5 ms", 5, "ms", (results) =>
    results.median(V4, "inkling", "99.9 % of answers at half of capacity within"),
  ),
  atLeast(
    "batch",
    "batch",
    "NDJSON batches: at least 1,000,000 geolocations a second on one core",
    1e6,
    "/s",
    (results) =>
      results.median("batch, geolocate NDJSON", "inkling", "look-ups for each second of server CPU"),
  ),
  atLeast(
    "enrich",
    "enrich",
    "enrich: at least 1,000,000 rows of one column a second",
    1e6,
    "/s",
    (results) => results.median("enrich, a column of random IPv4", "inkling", "rows a second"),
  ),
  kept("batch-memory", "batch", CHECKS.batchMemory),
  atMost(
    "worker-memory",
    "workers",
    "each further worker, the greatest, takes at most 60 MB of private memory at rest",
    60,
    "MB",
    (results) =>
      most(results.row("workers", "inkling", "private memory of each further worker, at rest")?.values ?? []),
  ),
  kept("limits", "workers", CHECKS.limits),
  kept("quotas", "workers", CHECKS.quotas),
  kept("usage", "workers", CHECKS.usage),
  kept("kill", "kill", CHECKS.kill),
  kept("kill-replaced", "kill", CHECKS.killReplaced),
  ...[
    { id: "start", who: "inkling serve, by Bun at once", workers: "as many workers as by default" },
    { id: "start-one", who: "inkling serve, by Bun at once, one worker", workers: "one worker" },
  ].map(({ id, who, workers }) =>
    atMost(
      id,
      "start",
      `first answer at most 150 ms after exec, with a release present and ${workers}`,
      150,
      "ms",
      (results) => results.median("start with a release", who, "exec to first answer"),
    ),
  ),
  kept("swap-failed", "swap", CHECKS.swapFailed),
  kept("swap-mixed", "swap", CHECKS.swapMixed),
  kept("swap-memory", "swap", CHECKS.swapMemory),
  atMost("build-time", "build", "full build from seeds at most 20 s", 20, "s", (results) =>
    results.median("full build, from seeds", "inkling", "from start to end of the process"),
  ),
  atMost("build-memory", "build", "full build from seeds at most 1 GB of memory", 1, "GB", (results) =>
    results.median("full build, from seeds", "inkling", "peak memory"),
  ),
  atMost("build-lists", "build", "reputation and e-mail alone, from seeds, at most 2 s", 2, "s", (results) =>
    results.median("reputation and e-mail alone, from seeds", "inkling", "from start to end of the process"),
  ),
  ...(["IPv4", "IPv6"] as const).map((family) =>
    atMost(
      `growth-${family}`,
      "growth",
      `ten times the ranges: at most 1.5 times the look-up time, ${family}`,
      1.5,
      "times",
      (results) => {
        const [ten, one] = [10, 1].map((factor) => results.median(`growth, ${factor}×`, family, TIME));
        return ten && one && ten / one;
      },
    ),
  ),
];
