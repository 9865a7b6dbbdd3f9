// Tests the reader of RIPE Atlas' archive: a probe counts for the one class that its owner's tags name. Also tests what
// counts as right, wrong and silent.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { formatIp } from "@inkling/engine";
import { marked, radiusCells, readProbes, type Scored, scoreCells, summaryTable } from "./places.ts";

const probe = (address_v4: string | null, tags: readonly unknown[], more: object = {}) => ({
  ...{ id: 1, address_v4, address_v6: null, country_code: "DE", latitude: 52.5, longitude: 13.4, tags },
  ...{ status: 1, status_name: "Connected", ...more },
});

const PROBES = [
  probe("9.9.0.1", ["system-ipv4-works", "home", "dsl"]),
  probe("9.9.0.2", [{ name: "Datacentre", slug: "datacentre" }]),
  probe("9.9.0.3", ["home", "lte"]), // two classes
  probe("9.9.0.4", ["lte"]),
  probe("9.9.0.5", ["office"], { country_code: "FR", latitude: 48.9, longitude: 2.4 }),
  probe("9.9.0.6", ["home"], { status_name: "Abandoned" }),
  probe("9.9.0.7", ["home"], { latitude: null }),
  probe("192.168.0.1", ["home"]),
  probe(null, ["home"]),
  probe("9.9.0.8", ["academic"]), // no class
];

test("probes by class", () => {
  const samples = readProbes(JSON.stringify({ meta: {}, objects: PROBES }), "file");
  const found = samples.flatMap(({ class: of, rows }) =>
    rows.map(({ address, country, at }) => `${of} ${formatIp(address)} ${country} ${at?.latitude}`),
  );
  expect(found).toEqual([
    "fixed 9.9.0.1 DE 52.5",
    "mobile 9.9.0.4 DE 52.5",
    "hosting 9.9.0.2 DE 52.5",
    "corporate 9.9.0.5 FR 48.9",
  ]);
});

test("another file is refused", () => {
  expect(() => readProbes('{"results":[]}', "file")).toThrow("objects");
});

const answer = (isNamed: boolean, km: number, radius: number | undefined, isCountry = true): Scored => ({
  ...{ isNamed, km, radius, isCountry },
});
const ANSWERS = [
  answer(true, 50, 10),
  answer(true, 51, 100),
  answer(false, 20, 200), // near, but without a city
  answer(false, Number.POSITIVE_INFINITY, undefined, false),
];

test("right, wrong and silent answers", () => {
  const [networks, bar, right, wrong, silent, ofNamed, country, within] = scoreCells(ANSWERS);
  expect([networks, bar, wrong, silent, country]).toEqual([
    ...["4", "`█████▒▒▒▒▒··········`", "25.0%", "50.0%", "75.0%"],
  ]);
  expect([right, ofNamed, within].map((cell) => cell?.split(" ")[0])).toEqual(["25.0%", "50.0%", "66.7%"]);
});

test("cities that count by radius", () => {
  expect(radiusCells(ANSWERS)).toEqual([
    ...["25.0%; 100.0%", "25.0%; 100.0%", "25.0%; 100.0%", "50.0%; 50.0%", "50.0%; 50.0%", "50.0%; 50.0%"],
  ]);
  expect(radiusCells([answer(true, 0, 20)])[0]).toBe("0%");
});

const partOf = (name: string) =>
  readFileSync(join(import.meta.dir, "../../docs/accuracy.md"), "utf8")
    .split(`<!-- ${name}: npm run bench -- truth -->`)[1]!
    .split("<!-- end of what")[0]!
    .trim();
const SCORES = partOf("places")
  .split("\n")
  .map((line) => line.slice(2, -2).split(" | "));

test("the summary in docs/accuracy.md has the figures of the table below it", () => {
  const summary = summaryTable(SCORES).trim();
  expect(summary.split("\n").length).toBeGreaterThan(5);
  expect(partOf("places in short")).toBe(summary);
});

test("what misses a target is marked, in docs/accuracy.md as in a new table", () => {
  const own = (country: string, within: string) => [
    "hosting, fresh",
    "Inkling, seeds",
    "80.0%",
    country,
    within,
  ];
  expect(marked(own("92.9%", "75.1% (70 to 80)"))).toEqual(
    own("92.9% (missed)", "75.1% (70 to 80) (missed)"),
  );
  expect(marked(own("93.0%", ""))).toEqual(own("93.0%", ""));
  expect(marked(["fixed", "DB-IP", "1%", "1%", "1%"])).toEqual(["fixed", "DB-IP", "1%", "1%", "1%"]);
  expect(SCORES.map((row) => marked(row.map((cell) => cell.replace(" (missed)", ""))))).toEqual(SCORES);
});
