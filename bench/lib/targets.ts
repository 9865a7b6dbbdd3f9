// targets.ts: lists the targets of the benchmark, and the rules that parts check.
//
// Targets are judged by the median, and ratios by the median of the ratios within each round. A target without figures
// counts as not measured. README.md, "Limits", explains targets that are not reached.

import { PRESSED, underPressure } from "./pressure.ts";
import { type PartResult, rowOf } from "./record.ts";
import { figure, median, ratios } from "./stats.ts";

export interface Target {
  readonly part: string;
  readonly text: string;
  /** Returns undefined if the target was not measured. */
  readonly judge: (results: readonly PartResult[]) => { isReached: boolean; figure: string } | undefined;
}

/** A rule that must hold at any speed. */
export const BATCH_MEMORY =
  "memory is flat in an NDJSON stream: its second half takes at most 200 MB more than its first, and all of it 640 MB " +
  "more than an idle server";

/** Rules that must hold after hours of load. */
export const SOAK = {
  failures: "endurance: every request has the answer that it must have",
  counts: "endurance: the server counts the requests that the clients count",
  memory: "endurance: memory is flat",
  descriptors: "endurance: the number of open descriptors is flat",
  threads: "endurance: the number of threads is flat",
} as const;

const V4 = "geolocate, random IPv4";
const V6 = "geolocate, IPv6 in random networks";
const [TIME, CPU] = ["time per lookup", "CPU per request"];
const USED = "Bun.serve, its interface used as by a lookup";
const ALIKE = "nginx + geoip2, key, same fields and headers";
const SLOWEST = "99.9% of answers at half of capacity, within";
const FIELDS = "libmaxminddb (C), with fields";
const FLOOR = "the reads of memory alone (C)";
const FULL = "full build, from seeds|inkling|";
const LISTS = "reputation and email alone, from seeds|inkling|";
const CHANGE = "from a change to the last of 8 hosts";
const SERVED = "until the last host serves it";
const PUBLISHED = "a release whose geo segment is unchanged, to 8 hosts";

const VISITOR = "one visitor: address and email address";
const VISITOR_CPU = "CPU per visitor";

const RUNTIMES = ["inkling on Bun", "inkling on Node"];

type Side = "at most" | "at least";
/** A figure is "question|contestant|measure". With two figures, the bound applies to their ratio. */
type TargetRow = readonly [
  part: string,
  side: Side,
  bound: number,
  unit: string,
  figure: string,
  to?: string,
];

/** The same order of magnitude as 150 ns: at most the square root of ten times as much. */
const SAME_ORDER_NS = 474;
const lookups = (what: string, bound: number): TargetRow[] =>
  RUNTIMES.map((who) => ["engine", "at most", bound, "ns", `${what}|${who}|${TIME}`]);

/** Returns targets for the ratio of an in-process lookup's time to libmaxminddb's, one at a time or in blocks. */
const toPeer = (bound: number, way = ""): TargetRow[] =>
  RUNTIMES.map((who) => ratio("engine", "at most", bound, TIME, `${who}${way}`, FIELDS));

/** Returns a target for the ratio of one contestant's figure to another's, for the same question. */
const ratio = (
  part: string,
  side: Side,
  bound: number,
  measure: string,
  who: string,
  to: string,
  what = V4,
): TargetRow => [part, side, bound, "times", `${what}|${who}|${measure}`, `${what}|${to}|${measure}`];

/** Returns targets for the ratio of an in-process lookup's CPU time to libmaxminddb's, beside neighbours. */
const pressedLookups = (what: string): TargetRow[] =>
  RUNTIMES.map((who) =>
    ratio("engine", "at most", 0.5, `CPU per lookup, ${PRESSED}`, who, FIELDS, underPressure(what)),
  );

/**
 * Returns targets for the ratio of an HTTP lookup's CPU time to another server's, on a quiet machine and beside
 * neighbours.
 */
const cpuRatio = (bound: number, pressed: number, to: string): TargetRow[] => [
  ratio("http", "at most", bound, CPU, "inkling", to),
  ratio("http", "at most", pressed, `${CPU}, ${PRESSED}`, "inkling", to, underPressure(V4)),
];

const ROWS: readonly TargetRow[] = [
  ...toPeer(0.4),
  ...toPeer(0.2, ", in blocks of 64"),
  ...lookups("reputation, random IPv4", SAME_ORDER_NS),
  ...lookups("email, every other one listed", 250),
  ratio("engine", "at most", 1, TIME, "inkling on Bun", "libmaxminddb (C), find only"),
  ratio("engine", "at most", 1.5, TIME, "inkling on Bun", FLOOR),
  ratio("engine", "at most", 1.5, TIME, "inkling on Bun", FLOOR, V6),
  ...pressedLookups(V4),
  ...pressedLookups(V6),
  ...cpuRatio(1.15, 1.2, ALIKE),
  // Inkling's own part is then at most 0.20 of a bare server's CPU time, because using the interface takes 1.17 times
  // that time.
  ratio("http", "at most", 1.17, CPU, "inkling", USED),
  ["http", "at most", 5, "ms", `${V4}|inkling|${SLOWEST}`],
  ratio("http", "at most", 1, SLOWEST, "inkling", ALIKE),
  ["batch", "at least", 1.3e6, "/s", "batch, geolocate NDJSON|inkling|lookups per second of server CPU"],
  ["start", "at most", 400, "ms", "start with a release|inkling serve, on Bun directly|exec to first answer"],
  ["start", "at most", 250, "ms", "start with a release|inkling serve, the executable|exec to first answer"],
  ["build", "at most", 20, "s", `${FULL}from start to end of the command`],
  ["build", "at most", 1, "GB", `${FULL}peak memory`],
  ["build", "at most", 3, "s", `${LISTS}from start to end of the command`],
  ["build", "at most", 160, "MB", "sizes of segments|geo|file"],
  ["build", "at most", 2, "times", "sizes of segments|geo|file to sources"],
  ["build", "at most", 2, "times", "sizes of segments|reputation|file to sources"],
  ["build", "at most", 2, "times", "sizes of segments|email|file to sources"],
  ["build", "at most", 2, "times", "sizes of segments|email, from seeds|file to sources"],
  ["enrich", "at least", 1e6, "/s", "enrich, a column of random IPv4|inkling|rows a second"],
  ratio("assess", "at most", 1.5, VISITOR_CPU, "one decision", "three lookups", VISITOR),
  ratio("assess", "at most", 1.8, VISITOR_CPU, "one decision, stored", "three lookups", VISITOR),
  [
    "assess",
    "at most",
    1_000,
    "µs",
    "evaluation of a ruleset, in process|the slowest ruleset that is accepted|CPU",
  ],
  ["group", "at most", 500, "ms", `${CHANGE}|by notices|99% within`],
  ["group", "at most", 1_500, "ms", `${CHANGE}|by checks: notices are dropped|99% within`],
  ["group", "at most", 15, "s", `${PUBLISHED}|publish|${SERVED}`],
  ["group", "at most", 5, "s", `${PUBLISHED}|rollback|${SERVED}`],
  ["growth", "at most", 1.5, "times", `growth, 10×|IPv4|${TIME}`, `growth, 1×|IPv4|${TIME}`],
  ["growth", "at most", 1.5, "times", `growth, 10×|IPv6|${TIME}`, `growth, 1×|IPv6|${TIME}`],
];

function bounded([part, side, bound, unit, of, to]: TargetRow): Target {
  const other = to?.split("|");
  const reference = other?.[1] === of.split("|")[1] ? other?.[0] : other?.[1];
  const suffix = reference === undefined ? "" : ` that of ${reference}`;
  const text = `${of.replaceAll("|", ": ")} ${side} ${bound.toLocaleString("en-US")} ${unit}${suffix}`;
  const judge = (results: readonly PartResult[]) => {
    const values = rowOf(results, of)?.values;
    const others = to === undefined ? undefined : rowOf(results, to)?.values;
    if (values === undefined || (to !== undefined && others === undefined)) return undefined;
    const found = median(others === undefined ? values : ratios(values, others));
    const isReached = side === "at most" ? found <= bound : found >= bound;
    return { isReached, figure: `${figure(found)} ${unit}` };
  };
  return { part, text, judge };
}

function checked(part: string, text: string): Target {
  const judge = (results: readonly PartResult[]) => {
    const lines = results.flatMap((result) => result.lines).filter((line) => line.type === "check");
    const found = lines.find(({ what }) => what === text);
    return found && { isReached: found.isKept, figure: found.figure };
  };
  return { part, text, judge };
}

export const TARGETS: readonly Target[] = [
  ...ROWS.map(bounded),
  checked("batch", BATCH_MEMORY),
  ...Object.values(SOAK).map((text) => checked("soak", text)),
];
