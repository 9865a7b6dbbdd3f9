// confusables.ts: writes packages/engine/src/email/confusable-letters.ts from Unicode's confusables.
//
// run  bun scripts/confusables.ts <path of the data.json of the npm package unhomoglyph>
// in   Unicode's confusables.txt in that package's form: character -> what it looks like
// out  the table: for each ASCII letter and digit, the letters of domain names that look like it
// err  Error if the file has no such letters
// src  Unicode TS 39, version 13.0.0; the table's head has the Unicode licence

import { readFileSync, writeFileSync } from "node:fs";
import { decodeALabel } from "../packages/engine/src/email/domain.ts";

const OUT = new URL("../packages/engine/src/email/confusable-letters.ts", import.meta.url);

const HEAD = `// confusable-letters.ts: letters of domain names that look like an ASCII letter or digit.
//
// Made by scripts/confusables.ts; do not edit.
// src  Unicode 13.0.0, security/confusables.txt: the characters that UTS #46 keeps in a name
// SPDX-License-Identifier: Unicode-DFS-2016
// Copyright © 1991-2022 Unicode, Inc. All rights reserved. NOTICE names the licence in full.
`;

const path = process.argv[2];
if (path === undefined) throw new Error("name the path of unhomoglyph's data.json");

const lookAlikes: Record<string, string> = {};
for (const [character, looks] of Object.entries<string>(JSON.parse(readFileSync(path, "utf8")))) {
  const ascii = looks.toLowerCase();
  if (!/^[a-z0-9]$/.test(ascii) || !/^[^\p{ASCII}]$/u.test(character) || !isKept(character)) continue;
  lookAlikes[ascii] = (lookAlikes[ascii] ?? "") + character;
}
if (Object.keys(lookAlikes).length === 0) throw new Error(`${path} has no letters that look like ASCII`);

/** Can a domain name have this letter or digit, in lower case and after mapping? */
function isKept(character: string): boolean {
  if (!/^[\p{L}\p{Nd}]$/u.test(character)) return false;
  try {
    const [label = ""] = new URL(`http://a${character}a.example/`).hostname.split(".");
    return decodeALabel(label) === `a${character}a`;
  } catch {
    return false;
  }
}

const escaped = (text: string) =>
  Array.from(text, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`).join("");
const rows = Object.entries(lookAlikes)
  .toSorted(([a], [b]) => (a < b ? -1 : 1))
  .map(([ascii, characters]) => `  ${/\d/.test(ascii) ? `"${ascii}"` : ascii}: "${escaped(characters)}",\n`);
writeFileSync(
  OUT,
  `${HEAD}\nexport const LOOK_ALIKES: Readonly<Record<string, string>> = {\n${rows.join("")}};\n`,
);
