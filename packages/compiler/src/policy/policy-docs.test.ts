// docs/policy.md says what the tables of this folder say.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { FLAG_BITS } from "./flags.ts";
import { GUARD_FILES, GUARD_KINDS, parseGuards } from "./guards.ts";
import { EVIDENCE, NEEDED } from "./reputation.ts";
import { NAME_WEIGHT, THROW_AWAY_WORDS, WEIGHTS } from "./witnesses.ts";

const DOCS = readFileSync(join(import.meta.dir, "../../../../docs/policy.md"), "utf8");
/** Cells of the table row that starts with this cell. */
function row(first: string): string[] {
  const line = DOCS.split("\n").find((text) => text.startsWith(`| ${first} |`));
  if (line === undefined) throw new Error(`docs/policy.md has no row ${first}`);
  return line.split("|").map((cell) => cell.trim());
}

test.each(Object.entries(WEIGHTS))("weight of %s", (feed, weight) => {
  expect(row(`\`${feed}\``)[3]).toBe(String(weight));
});

test("weight of the name, and its words", () => {
  expect(row("the name itself")[3]).toBe(String(NAME_WEIGHT));
  for (const word of THROW_AWAY_WORDS) expect(DOCS).toContain(`\`${word}\``);
});

test.each(Object.entries(GUARD_KINDS))("guards of the kind %s", (kind, { takes }) => {
  const told = row(`\`${kind}\``)[2]!;
  const flags = Object.entries(FLAG_BITS).filter(
    ([flag]) => told === "all flags" || told.includes(`\`${flag}\``),
  );
  expect(flags.reduce((sum, [, bit]) => sum | bit, 0)).toBe(takes);
});

test("how many guards there are", () => {
  const guards = GUARD_FILES.flatMap((file) =>
    parseGuards(readFileSync(join(import.meta.dir, "../../data/guards", file), "utf8")),
  );
  expect(DOCS).toContain(`${guards.length} of them`);
});

test("evidence: what lists have, and what addresses need", () => {
  for (const [feed, evidence] of Object.entries(EVIDENCE))
    expect(row(String(evidence))[3]).toContain(`\`${feed}\``);
  expect(row("ordinary")[2]).toBe(String(NEEDED.ordinary));
  expect(row("Tor exit")[2]).toBe(String(NEEDED.torExit));
});
