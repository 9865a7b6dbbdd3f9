// subdivisions.ts: names of states, provinces and regions <-> their ISO 3166-2 codes.
//
// in   a country code and a name in any common spelling, or a code
// out  the part of the code after the hyphen, or the English name
// err  undefined if a name is unknown, or fits more than one code
// src  iso-3166 (npm: codes, ISO's names), data/subdivision-names.csv (English names of Unicode CLDR),
//      data/subdivision-changes.csv (ISO's changes since), data/subdivision-aliases.csv (spellings of feeds),
//      data/subdivision-cities.csv (former subdivisions, told apart by the city)
// cost the names of a country are indexed on first use, and results are cached

import { iso31662 } from "iso-3166";
import { dataTable, once } from "./data-table.ts";
import { nameKeys } from "./place-names.ts";

interface Division {
  /** Whole code, GB-ENG. */
  readonly code: string;
  /** The country, or the whole code of the division that it lies in. */
  readonly parent: string;
  /** English where it is known, else ISO's. */
  name: string;
  /** Every name it goes by, those above included. */
  readonly names: string[];
}

type Keys = Map<string, Set<Division>>;

class CountryDivisions {
  readonly country: string;
  readonly byCode = new Map<string, Division>();
  /** Spellings of the alias table, which decide. No division: ambiguous, or without a code. */
  readonly aliases = new Map<string, Division | undefined>();
  /** By parent, then by name: one key of both would be a new text for each place. */
  private readonly found = new Map<string, Map<string, Division | undefined>>();
  private readonly keys = once(() => this.index());

  constructor(country: string) {
    this.country = country;
  }

  private index(): { readonly whole: Keys; readonly loose: Keys } {
    const [whole, loose]: [Keys, Keys] = [new Map(), new Map()];
    for (const division of this.byCode.values()) {
      for (const name of division.names) {
        const keys = nameKeys(name);
        addTo(whole, keys.whole, division);
        for (const key of keys.loose) addTo(loose, key, division);
      }
    }
    return { whole, loose };
  }

  find(name: string, parent: string): Division | undefined {
    const within = this.found.get(parent) ?? new Map<string, Division | undefined>();
    this.found.set(parent, within);
    const known = within.get(name);
    if (known !== undefined || within.has(name)) return known;
    const answer = this.search(name, parent);
    within.set(name, answer);
    return answer;
  }

  private search(name: string, parent: string): Division | undefined {
    const keys = nameKeys(name);
    // Aliases are about the largest subdivisions; inside one, the names found there come first.
    if (parent === this.country && this.aliases.has(keys.whole)) return this.aliases.get(keys.whole);
    const { whole, loose } = this.keys();
    const matches = [whole.get(keys.whole), ...keys.loose.map((key) => loose.get(key))];
    // A larger division may share its name with one inside it (Madrid, Vilnius, Zlín): the requested level comes first.
    for (const direct of [true, false]) {
      for (const match of matches) {
        const fitting = [...(match ?? [])].filter((division) => (division.parent === parent) === direct);
        if (fitting.length === 1) return fitting[0];
        if (fitting.length > 1) return undefined;
      }
    }
    return undefined;
  }
}

function addTo(keys: Keys, key: string, division: Division): void {
  keys.set(key, (keys.get(key) ?? new Set()).add(division));
}

/**
 * The code of a subdivision by its name.
 * @param country ISO 3166-1 alpha-2
 * @param parent the code of the larger subdivision that it lies in, when there is one
 * @returns the part of the ISO 3166-2 code after the hyphen
 */
export function findSubdivisionCode(country: string, name: string, parent?: string): string | undefined {
  const divisions = countries().get(country);
  const within = parent === undefined ? country : `${country}-${parent}`;
  return divisions?.find(name, within)?.code.slice(country.length + 1);
}

/**
 * The code of the subdivision that a city lies in, if a feed names a former one.
 * @param name of the former subdivision
 * @returns the part of the ISO 3166-2 code after the hyphen
 */
export function findCodeOfCity(country: string, name: string, city: string | undefined): string | undefined {
  const ofCountry = cities().get(country);
  return ofCountry?.get(`${name}\t${city}`) ?? ofCountry?.get(`${name}\t`);
}

const cities = once((): ReadonlyMap<string, ReadonlyMap<string, string>> => {
  const result = new Map<string, Map<string, string>>();
  for (const [code, name, city] of rows("subdivision-cities.csv")) {
    const country = code.slice(0, 2);
    const ofCountry = result.get(country) ?? new Map();
    result.set(country, ofCountry.set(`${name}\t${city}`, code.slice(country.length + 1)));
  }
  return result;
});

/** The English name of a subdivision; `code` is the part after the hyphen. */
export function findSubdivisionName(country: string, code: string): string | undefined {
  return countries().get(country)?.byCode.get(`${country}-${code}`)?.name;
}

/** Is it the same subdivision, or does one lie directly in the other? Both are parts of codes after the hyphen. */
export function areRelated(country: string, a: string, b: string): boolean {
  if (a === b) return true;
  const { byCode } = countries().get(country) ?? {};
  const [codeA, codeB] = [`${country}-${a}`, `${country}-${b}`];
  return byCode?.get(codeA)?.parent === codeB || byCode?.get(codeB)?.parent === codeA;
}

const countries = once((): ReadonlyMap<string, CountryDivisions> => {
  const result = new Map<string, CountryDivisions>();
  const of = (code: string) => {
    const country = code.slice(0, 2);
    const divisions = result.get(country) ?? new CountryDivisions(country);
    result.set(country, divisions);
    return divisions;
  };
  for (const { code, name, parent } of iso31662)
    of(code).byCode.set(code, { code, parent, name, names: [name] });
  for (const [change, code, name] of rows("subdivision-changes.csv")) {
    if (change === "withdrawn") of(code).byCode.delete(code);
    else of(code).byCode.set(code, { code, parent: code.slice(0, 2), name, names: [name] });
  }
  for (const [code, name] of rows("subdivision-names.csv")) {
    const division = of(code).byCode.get(code);
    if (division === undefined) continue;
    division.name = name;
    division.names.push(name);
  }
  for (const [code, name] of rows("subdivision-aliases.csv")) {
    const division = of(code).byCode.get(code);
    division?.names.push(name);
    of(code).aliases.set(nameKeys(name).whole, division);
  }
  return result;
});

/** Rows have as many fields as the table's header. */
const rows = (file: string) => dataTable(file) as (readonly [string, string, string])[];
