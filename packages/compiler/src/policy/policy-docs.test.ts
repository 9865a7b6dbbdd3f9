// Tests that docs/policy.md agrees with the tables of this folder.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { flagOfLabel } from "@inkling/contract";
import type { Label } from "../catalog/claims.ts";
import { AGE, FEEDS } from "../catalog/feeds.ts";
import { GUARD_FEEDS } from "../catalog/guard-feeds.ts";
import { DISPOSABLE_WORDS, MAIL_HOST_WEIGHT, NAME_WEIGHT, WEIGHTS } from "./domain-weights.ts";
import { FLAG_BITS, GUARD_KINDS, LABELS, QUORUM } from "./labels.ts";

const DOCS = readFileSync(join(import.meta.dir, "../../../../docs/policy.md"), "utf8");
/** Returns the cells of the table row that starts with this cell. */
function row(first: string): string[] {
  const line = DOCS.split("\n").find((text) => text.startsWith(`| ${first} |`));
  if (line === undefined) throw new Error(`docs/policy.md has no row ${first}`);
  return line.split("|").map((cell) => cell.trim());
}

/** The table of mail domains' weights. */
const WEIGHT_ROWS = DOCS.split("| evidence | for or against | weight | reason |\n")[1]!.split("\n\n")[0]!;

test.each(Object.entries(WEIGHTS))("weight of %s", (feed, weight) => {
  expect(WEIGHT_ROWS).toMatch(new RegExp(`^\\| \`${feed}\` \\| (for|against) \\| ${weight} \\|`, "m"));
});

test("weight of the name, and its words", () => {
  expect(row("the name itself")[3]).toBe(String(NAME_WEIGHT));
  expect(row("`mail-hosts`")[3]).toBe(String(MAIL_HOST_WEIGHT));
  for (const word of DISPOSABLE_WORDS) expect(DOCS).toContain(`\`${word}\``);
});

test.each(Object.entries(GUARD_KINDS))(
  "guards of the kind %s",
  (kind, { takes = 0, outweighs = 0, doubts = 0 }) => {
    const taken = row(`\`${kind}\``)[2]!;
    const flags = Object.entries(FLAG_BITS).filter(
      ([flag]) => taken === "all flags" || taken.includes(`\`${flag}\``),
    );
    expect(flags.reduce((sum, [, bit]) => sum | bit, 0)).toBe(takes | outweighs);
    expect(taken.includes("a traffic report or an entry for a wider network")).toBe(outweighs !== 0);
    expect(taken.includes("`is_proxy` is also removed if only one list contains the address")).toBe(
      doubts === FLAG_BITS.is_proxy,
    );
  },
);

test("how many networks the files of guards have", () => {
  const rows = GUARD_FEEDS.flatMap(({ own }) =>
    own === undefined ? [] : readFileSync(join(import.meta.dir, "../..", own), "utf8").split("\n"),
  ).filter((line) => line !== "" && !line.startsWith("#") && !line.startsWith("network,"));
  expect(DOCS).toContain(`${rows.length} networks`);
});

const flagsIn = (text: string) =>
  Object.entries(FLAG_BITS).reduce((sum, [flag, bit]) => (text.includes(`\`${flag}\``) ? sum | bit : sum), 0);

test.each(Object.keys(FLAG_BITS))("the flag %s has its rule in docs/policy.md", (flag) => {
  expect(row(`\`${flag}\``)[2]).not.toBe("");
});

test.each(Object.entries(LABELS))("the label %s", (label, { takes = 0, traffic = false }) => {
  const flag = flagOfLabel(label as Label);
  const [, , sets, never, about] = row(`\`${label}\``);
  expect(sets).toBe(flag === undefined ? "" : `\`${flag}\``);
  expect(flagsIn(never!)).toBe(takes);
  expect(about === "traffic from the address").toBe(traffic);
});

test("the quorum is in docs/policy.md", () => expect(DOCS).toContain(`weigh ${QUORUM} together`));

const describeHours = (hours: number) =>
  hours === Number.POSITIVE_INFINITY ? "never" : hours % 24 === 0 ? `${hours / 24} days` : `${hours} hours`;

test("the subject of each feed follows from its label", () => {
  for (const { id, sets, label } of FEEDS)
    if (label !== undefined && Object.hasOwn(LABELS, label))
      expect([id, sets]).toEqual([id, flagOfLabel(label as Label) ?? label]);
    else if (label !== undefined) expect([id, sets]).toEqual([id, "guard"]);
});

test.each(Object.entries(AGE))("age limits of %s", (kind, { staleHours, dropHours }) => {
  const [, , stale, dropped] = row(kind.replace(/[A-Z]/g, (capital) => ` ${capital.toLowerCase()}`));
  expect([stale, dropped]).toEqual([describeHours(staleHours), describeHours(dropHours)]);
});
