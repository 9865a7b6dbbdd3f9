// subdivision-names.ts: writes packages/compiler/data/subdivision-names.csv from Unicode CLDR.
//
// run  bun scripts/subdivision-names.ts <path of CLDR's common/subdivisions/en.xml>
// in   CLDR's English subdivision names (release 41 is in Debian's unicode-cldr-core), the npm package iso-3166
// out  the table: code and English name, sorted by code, for current codes whose English name differs from ISO's
// err  Error if the file has no names
// src  the table's head has the Unicode licence

import { readFileSync, writeFileSync } from "node:fs";
import { iso31662 } from "iso-3166";
import { csvLine } from "../packages/compiler/src/parse/csv.ts";
import { dataTable } from "../packages/compiler/src/place/data-table.ts";

const OUT = new URL("../packages/compiler/data/subdivision-names.csv", import.meta.url);

const HEAD = `# English names of ISO 3166-2 subdivisions, where they differ from ISO's own.
# Made by scripts/subdivision-names.ts; do not edit (spellings of feeds go into subdivision-aliases.csv).
#
# Facts carried over from Unicode CLDR 41, common/subdivisions/en.xml.
# SPDX-License-Identifier: Unicode-DFS-2016
# Copyright © 1991-2022 Unicode, Inc. All rights reserved.
# Distributed under the Terms of Use in https://www.unicode.org/copyright.html; the notice in full is in
# subdivision-names.LICENSE beside this file.
code,name
`;

/**
 * Countries where ISO gave codes a new meaning after CLDR 41. CLDR's names would be at the wrong divisions: IR-07 is
 * Fars, but CLDR has Tehran; MA-04 is Rabat-Salé-Kénitra, but CLDR has Oriental.
 */
const CODES_REUSED = new Set(["IR", "MA"]);
/** Names in CLDR 41 that are wrong, or that fit another division better. */
const REFUSED = new Set([
  "AR-C", // "Buenos Aires": the name of the province around the city
  "PE-LMA", // "Lima": the name of the department around the city
  "UG-331", // "Zombo": UG-331 is Omoro
]);

const path = process.argv[2];
if (path === undefined) throw new Error("name the path of CLDR's common/subdivisions/en.xml");

const english = new Map<string, string>();
const row = /<subdivision type="([a-z]{2})([a-z0-9]+)"[^>]*>([^<]*)</g;
for (const [, country, rest, name] of readFileSync(path, "utf8").matchAll(row)) {
  english.set(`${country}-${rest}`.toUpperCase(), tidy(name!));
}
if (english.size === 0) throw new Error(`${path} holds no subdivision names`);

const withdrawn = new Set(
  dataTable("subdivision-changes.csv").flatMap(([change, code]) => (change === "withdrawn" ? [code!] : [])),
);
const lines: string[] = [];
for (const { code, name } of [...iso31662].sort((a, b) => (a.code < b.code ? -1 : 1))) {
  const other = english.get(code);
  if (withdrawn.has(code)) continue;
  if (CODES_REUSED.has(code.slice(0, 2)) || REFUSED.has(code)) continue;
  // "Province 1" was a placeholder until the province got the name that ISO has.
  if (other === undefined || other === name || /^Province \d$/.test(other)) continue;
  lines.push(csvLine([code, other]));
}
writeFileSync(OUT, `${HEAD}${lines.join("\n")}\n`);

/**
 * Replaces "&" by "and", and removes the raised digit with which CLDR marks names that several divisions share, and a
 * country that CLDR left in.
 */
function tidy(name: string): string {
  return name
    .replaceAll("&amp;", "and")
    .replace(/[²³]/g, "")
    .replace(/, Somalia$/, "")
    .trim();
}
