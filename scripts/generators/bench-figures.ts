// bench-figures.ts: generates the measured figures in README.md, docs/ and packages/*/README.md.
//
// A row's name is "question|contestant|measure".

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type PartResult, type Row, rowOf } from "../../bench/lib/record.ts";
import { figure, median, ratios, sum } from "../../bench/lib/stats.ts";
import { type GeneratedSection, markdownTable } from "./generated.ts";

const FOLDER = join(import.meta.dirname, "../../bench/results");

const IPV4 = "geolocate, random IPv4";
const NGINX = "nginx + geoip2, key, same fields and headers";
const CPU = "CPU per request";
const SLOWEST = "99.9% of answers at half of capacity, within";
const BATCH_RATE = "lookups per second of server CPU";
const ENRICH = "enrich, a column of random IPv4";
const STARTED = "exec to first answer";
const SIZES = "sizes of segments";
const KINDS = ["geo", "reputation", "email", "network"];

/** Recorded results, and functions that format their figures. */
interface Recorded {
  readonly results: readonly PartResult[];
  readonly row: (name: string) => Row;
  /** Formats the median of a row with its unit. */
  readonly middle: (name: string) => string;
  /** Formats the ratio of one row to another. */
  readonly ratio: (name: string, to: string) => string;
}

function read(): Recorded {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith(".json"));
  const results = files
    .sort()
    .map((name): PartResult => JSON.parse(readFileSync(join(FOLDER, name), "utf8")));
  for (const { part, failed } of results)
    if (failed !== undefined)
      throw new Error(
        `bench/results/${part}.json is incomplete (${failed}): run \`npm run bench -- ${part}\``,
      );
  const row = (name: string) => {
    const found = rowOf(results, name);
    if (found === undefined)
      throw new Error(`bench/results lacks "${name}": run the part of \`npm run bench\` that measures it`);
    return found;
  };
  return {
    results,
    row,
    middle: (name) => `${figure(median(row(name).values))} ${row(name).unit}`,
    ratio: (name, to) => figure(median(ratios(row(name).values, row(to).values))),
  };
}

const partOf = ({ results }: Recorded, name: string) => results.find(({ part }) => part === name)!;

/** Returns the machine of a part, such as "2 cores (AMD EPYC)". */
const machineOf = (recorded: Recorded, name: string) => partOf(recorded, name).machine.split(", ")[0]!;

/** Returns the commit that was measured, and each other commit with the parts that were measured at it. */
function commits(recorded: Recorded, first: string, others: readonly string[]): string {
  const commitOf = (name: string) => partOf(recorded, name).commit;
  const later = new Set(others.map(commitOf).filter((commit) => commit !== commitOf(first)));
  const rest = [...later].map((commit) => {
    const parts = others.filter((name) => commitOf(name) === commit).map((name) => `\`${name}\``);
    return `\`${commit}\` for ${parts.join(" and ")}`;
  });
  return `\`${commitOf(first)}\`${rest.length > 0 ? ` (${rest.join(", ")})` : ""}`;
}

function speed(recorded: Recorded): string {
  const { middle, ratio } = recorded;
  const inProcess = `${IPV4}|inkling on Bun|time per lookup`;
  const library = `${IPV4}|libmaxminddb (C), with fields|time per lookup`;
  const overHttp = (measure: string) => middle(`${IPV4}|inkling|${measure}`);
  const toNginx = (measure: string) =>
    `${ratio(`${IPV4}|inkling|${measure}`, `${IPV4}|${NGINX}|${measure}`)} times that of nginx`;
  const table = markdownTable(
    ["", "", "compared with"],
    [
      [
        "time of a geolocation in process, on Bun",
        middle(inProcess),
        `${ratio(inProcess, library)} times that of libmaxminddb`,
      ],
      ["CPU time of a geolocation over HTTP", overHttp(CPU), toNginx(CPU)],
      ["99.9% of answers, at half of capacity, within", overHttp(SLOWEST), toNginx(SLOWEST)],
    ],
  );
  const measured = commits(recorded, "engine", ["http"]);
  return [
    table,
    "",
    "![Server CPU time for one lookup over HTTP, beside nginx](bench/plots/cpu.svg)",
    "",
    `These are medians at commit ${measured}, on ${machineOf(recorded, "engine")}, which are shared.`,
    "libmaxminddb reads all fields. nginx checks a key and returns the same fields.",
    "[RESULTS.md](bench/RESULTS.md) has all figures, and [Measurements](bench/README.md) explains the method.",
  ].join("\n");
}

function localSpeed({ row, middle }: Recorded): string {
  const time = (runtime: string, way: string) =>
    middle(`in an application, random IPv4|@inkling/local on ${runtime}, ${way}|time per lookup`);
  const line = (what: string, way: string) => [what, time("Node", way), time("Bun", way)];
  const table = markdownTable(
    ["", "Node", "Bun"],
    [
      line("`geolocateBytes`", "bytes"),
      line("`lookupMany`, 64 in one call", "lookupMany, 64 at once"),
      line("`geolocate`, awaited: an object", "object"),
    ],
  );
  const sizes = KINDS.map((kind) => row(`${SIZES}|${kind}|file`));
  const size = figure(sum(sizes.map(({ values }) => median(values))));
  return `${table}\n\nThe segments of a release with all default feeds take up ${size} ${sizes[0]!.unit}.`;
}

function enrichSpeed(recorded: Recorded): string {
  const { middle } = recorded;
  const line = (what: string, who: string) => [
    what,
    middle(`${ENRICH}|${who}|rows a second`),
    middle(`${ENRICH}|${who}|memory, mapped files included`),
  ];
  const head = [
    `on ${machineOf(recorded, "enrich")}`,
    "rows per second",
    "peak memory, mapped files included",
  ];
  const table = markdownTable(head, [
    line("default fields", "inkling"),
    line("`--add country_iso_code,city_name`", "inkling, country and city"),
  ]);
  return `${table}\n\nThese are medians. [RESULTS.md](../bench/RESULTS.md) also has the minimums and maximums.`;
}

function evidenceCost({ row, middle, ratio }: Recorded): string {
  const single = ratio(`${IPV4}|inkling, with evidence|${CPU}`, `${IPV4}|inkling|${CPU}`);
  const stream = (what: string) => `batch, geolocate NDJSON${what}|inkling|${BATCH_RATE}`;
  const batch = ratio(stream(""), stream(", with evidence"));
  const size = (kind: string, measure: string) => `${SIZES}|${kind}|${measure}`;
  const kinds = KINDS.filter((kind) => median(row(size(kind, "its evidence")).values) > 0);
  const rows = kinds.map((kind) => [kind, middle(size(kind, "its evidence")), middle(size(kind, "file"))]);
  return [
    `A single geolocation over HTTP with evidence takes ${single} times the server's CPU time of one without.`,
    `In an NDJSON stream, a geolocation with evidence takes ${batch} times the CPU time of one without.`,
    "In a release with all default feeds, evidence takes up this much space:",
    "",
    markdownTable(["segment", "evidence", "whole segment"], rows),
  ].join("\n");
}

function startTimes(recorded: Recorded): string {
  const { middle } = recorded;
  const later = (who: string) => middle(`start with a release|${who}|${STARTED}`);
  const first = (who: string) => middle(`first start, in an empty data folder|${who}|${STARTED}`);
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
  const change = (way: string) => middle(`from a change to the last of 8 hosts|${way}|99% within`);
  const release = (action: string) =>
    middle(`a release whose geo segment is unchanged, to 8 hosts|${action}|until the last host serves it`);
  const table = markdownTable(
    ["", "until the last of 8 servers applies it"],
    [
      ["99% of changes: a revoked key, an override, a ruleset", change("by notices")],
      ["99% of changes, if PostgreSQL's notifications are lost", change("by checks: notices are dropped")],
      ["a published release with an unchanged geo segment", release("publish")],
      ["a rollback to such a release", release("rollback")],
    ],
  );
  const about = `All servers and PostgreSQL shared one machine with ${machineOf(recorded, "group")}.`;
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
  ["docs/several-hosts.md", "group times", groupTimes],
];

export function benchFigures(): GeneratedSection[] {
  const recorded = read();
  return SECTIONS.map(([path, section, content]) => ({ path, section, content: content(recorded) }));
}
