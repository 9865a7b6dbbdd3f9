// bench-figures.ts: generates the measured figures in README.md, docs/ and packages/*/README.md.
//
// in   bench/results/*.json, from which bench/RESULTS.md is written, too
// out  sections with medians, and with medians of the ratios within each round, formatted as in bench/RESULTS.md
// err  an Error that names the row, if a row is not recorded
//
// `npm run bench` also writes these sections. A row's name is "question|contestant|measure".

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type PartResult, valuesOf } from "../../bench/lib/record.ts";
import { figure, median, ratios, sum } from "../../bench/lib/stats.ts";
import { type GeneratedSection, markdownTable } from "./generated.ts";

const FOLDER = join(import.meta.dirname, "../../bench/results");

const IPV4 = "geolocate, random IPv4";
const NGINX = "nginx + geoip2, key, same members and headers";
const CPU = "CPU per request";
const SLOWEST = "99.9 % of answers at half of capacity, within";
const BATCH_RATE = "lookups per second of server CPU";
const ENRICH = "enrich, a column of random IPv4";
const FULL_BUILD = "full build, from seeds|inkling";
const STARTED = "exec to first answer";
const SIZES = "sizes of segments";
const KINDS = ["geo", "reputation", "email", "network"];

/** Recorded results, and functions that format their figures. */
interface Recorded {
  readonly results: readonly PartResult[];
  readonly values: (name: string) => readonly number[];
  readonly middle: (name: string) => string;
  /** Formats the ratio of one row to another. */
  readonly ratio: (name: string, to: string) => string;
}

function read(): Recorded {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith(".json"));
  const results: PartResult[] = files.map((name) => JSON.parse(readFileSync(join(FOLDER, name), "utf8")));
  const values = (name: string) => {
    const found = valuesOf(results, name);
    if (found === undefined)
      throw new Error(`bench/results lacks "${name}": run the part of \`npm run bench\` that measures it`);
    return found;
  };
  return {
    results,
    values,
    middle: (name) => figure(median(values(name))),
    ratio: (name, to) => figure(median(ratios(values(name), values(to)))),
  };
}

const unique = (texts: readonly string[]) => [...new Set(texts)].join(" and ");

/** Returns the machine of some parts, such as "2 cores (AMD EPYC)". */
function machineOf({ results }: Recorded, ...parts: readonly string[]): string {
  const found = results.filter(({ part }) => parts.includes(part));
  return unique(found.map(({ machine }) => machine.split(", ")[0]!));
}

function commitsOf({ results }: Recorded, ...parts: readonly string[]): string {
  const found = results.filter(({ part }) => parts.includes(part));
  return unique(found.map(({ commit }) => `\`${commit}\``));
}

function speed(recorded: Recorded): string {
  const { middle, ratio } = recorded;
  const inProcess = `${IPV4}|inkling on Bun|time per lookup`;
  const library = `${IPV4}|libmaxminddb (C), with fields|time per lookup`;
  const overHttp = (measure: string) => middle(`${IPV4}|inkling|${measure}`);
  const toNginx = (measure: string) =>
    `${ratio(`${IPV4}|inkling|${measure}`, `${IPV4}|${NGINX}|${measure}`)} times nginx`;
  const parts = ["engine", "http", "batch", "enrich", "start", "build"];
  const table = markdownTable(
    ["", "Inkling", "compared"],
    [
      [
        "geolocation in process",
        `${middle(inProcess)} ns`,
        `${ratio(inProcess, library)} times libmaxminddb with fields`,
      ],
      ["geolocation over HTTP, server CPU", `${overHttp(CPU)} µs`, toNginx(CPU)],
      ["99.9 % of answers at half of capacity", `${overHttp(SLOWEST)} ms`, toNginx(SLOWEST)],
      ["batch lookups per second of server CPU", middle(`batch, geolocate NDJSON|inkling|${BATCH_RATE}`), ""],
      ["rows per second with `enrich`", middle(`${ENRICH}|inkling|rows a second`), ""],
      [
        "start of the executable to the first answer",
        `${middle(`start with a release|inkling serve, the executable|${STARTED}`)} ms`,
        "",
      ],
      ["full build from seeds", `${middle(`${FULL_BUILD}|from start to end of the command`)} s`, ""],
      ["its peak memory", `${middle(`${FULL_BUILD}|peak memory`)} GB`, ""],
    ],
  );
  const about = `These are medians on ${machineOf(recorded, ...parts)}, measured at ${commitsOf(recorded, ...parts)}.`;
  const links =
    "[RESULTS.md](bench/RESULTS.md) has all figures, and [Measurements](bench/README.md) explains the method.";
  return `${table}\n\n${about} nginx uses its GeoIP2 module, checks a key, and returns the same members and headers. ${links}`;
}

function localSpeed({ values, middle }: Recorded): string {
  const time = (runtime: string, way: string) =>
    `${middle(`in an application, random IPv4|@inkling/local on ${runtime}, ${way}|time per lookup`)} ns`;
  const row = (what: string, way: string) => [what, time("Node", way), time("Bun", way)];
  const table = markdownTable(
    ["", "Node", "Bun"],
    [
      row("`geolocateBytes`", "bytes"),
      row("`lookupMany`, 64 at once", "lookupMany, 64 at once"),
      row("`geolocate`, awaited: an object", "object"),
    ],
  );
  const size = figure(sum(KINDS.map((kind) => median(values(`${SIZES}|${kind}|file`)))));
  return `${table}\n\nThe segments of a release with all default feeds take up ${size} MB.`;
}

function enrichSpeed(recorded: Recorded): string {
  const { middle } = recorded;
  const row = (what: string, who: string) => [
    what,
    middle(`${ENRICH}|${who}|rows a second`),
    `${middle(`${ENRICH}|${who}|memory, mapped files included`)} GB`,
  ];
  const head = [
    `on ${machineOf(recorded, "enrich")}`,
    "rows per second",
    "peak memory, mapped files included",
  ];
  const table = markdownTable(head, [
    row("default members", "inkling"),
    row("`--add country_iso_code,city_name`", "inkling, country and city"),
  ]);
  return `${table}\n\nThese are medians. [RESULTS.md](../bench/RESULTS.md) also has the minimums and maximums.`;
}

function evidenceCost({ middle, ratio, values }: Recorded): string {
  const single = ratio(`${IPV4}|inkling, with evidence|${CPU}`, `${IPV4}|inkling|${CPU}`);
  const stream = (what: string) => `batch, geolocate NDJSON${what}|inkling|${BATCH_RATE}`;
  const batch = ratio(stream(""), stream(", with evidence"));
  const size = (kind: string, measure: string) => `${SIZES}|${kind}|${measure}`;
  const kinds = KINDS.filter((kind) => median(values(size(kind, "its evidence"))) > 0);
  const rows = kinds.map((kind) => [
    kind,
    `${middle(size(kind, "its evidence"))} MB`,
    `${middle(size(kind, "file"))} MB`,
  ]);
  return [
    `With evidence, a single geolocation over HTTP takes ${single} times the server's CPU time.`,
    `In an NDJSON stream, it takes ${batch} times the CPU time.`,
    "In a release with all default feeds, evidence takes up this much space:",
    "",
    markdownTable(["segment", "evidence", "whole segment"], rows),
  ].join("\n");
}

function startTimes(recorded: Recorded): string {
  const { middle } = recorded;
  const later = (who: string) => `${middle(`start with a release|${who}|${STARTED}`)} ms`;
  const first = (who: string) => `${middle(`first start, in an empty data folder|${who}|${STARTED}`)} s`;
  const table = markdownTable(
    [`on ${machineOf(recorded, "start")}`, "to the first answer"],
    [
      ["executable, with a release", later("inkling serve, the executable")],
      ["`inkling serve` in a clone, with a release", later("inkling serve")],
      ["`npm start` in a clone, with a release", later("npm start")],
      ["`npm start` in a clone, with an empty data folder", first("npm start")],
      ["of this, the data build", first("of this, the build")],
    ],
  );
  return `${table}\n\nPackages were installed before, and nothing was downloaded.`;
}

function groupTimes(recorded: Recorded): string {
  const { middle } = recorded;
  const change = (way: string) => `${middle(`from a change to the last of 8 hosts|${way}|99 % within`)} ms`;
  const release = (action: string) =>
    `${middle(`a release whose geo segment is unchanged, to 8 hosts|${action}|until the last host serves it`)} s`;
  const table = markdownTable(
    ["", "until the last of 8 servers applies it"],
    [
      ["99 % of changes: a revoked key, an override, a ruleset", change("by notices")],
      ["the same, if the database's notifications are lost", change("by checks: notices are dropped")],
      ["a published release with an unchanged geo segment", release("publish")],
      ["a rollback to such a release", release("rollback")],
    ],
  );
  const about = `All servers and the database shared one machine with ${machineOf(recorded, "group")}.`;
  return `${table}\n\n${about} [RESULTS.md](../bench/RESULTS.md) has all figures.`;
}

const SECTIONS: readonly (readonly [
  path: string,
  section: string,
  content: (recorded: Recorded) => string,
])[] = [
  ["README.md", "speed", speed],
  ["packages/local/README.md", "local speed", localSpeed],
  ["docs/enrich.md", "enrich speed", enrichSpeed],
  ["docs/evidence.md", "evidence cost", evidenceCost],
  ["docs/install.md", "start times", startTimes],
  ["docs/cluster.md", "group times", groupTimes],
];

export function benchFigures(): GeneratedSection[] {
  const recorded = read();
  return SECTIONS.map(([path, section, content]) => ({ path, section, content: content(recorded) }));
}
