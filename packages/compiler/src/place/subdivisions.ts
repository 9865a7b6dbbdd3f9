// subdivisions.ts: converts between names of states, provinces and regions and their ISO 3166-2 codes.
//
// Source: iso-3166 (npm: codes, ISO's names); data/subdivision-names.csv (English names from Unicode CLDR);
// data/subdivision-changes.csv (later changes by ISO); data/subdivision-aliases.csv (spellings in feeds);
// data/subdivision-cities.csv (former subdivisions; the city determines the current subdivision). Cost: the names of a
// country are indexed on first use, and results are cached.

import { iso31662 } from "iso-3166";
import { dataTable, once } from "../parse/csv.ts";
import { nameKeys } from "./place-names.ts";

interface Division {
  /** The whole code, such as GB-ENG. */
  readonly code: string;
  /** The country code, or the whole code of the parent division. */
  readonly parent: string;
  /** The English name if known, otherwise ISO's name. */
  name: string;
  /** All names of the subdivision, including `name` and ISO's name. */
  readonly names: string[];
}

type Keys = Map<string, Set<Division>>;

class CountryDivisions {
  readonly country: string;
  readonly byCode = new Map<string, Division>();
  /**
   * Spellings from the alias table, which override all other names. Undefined if a spelling is ambiguous or has no
   * code.
   */
  readonly aliases = new Map<string, Division | undefined>();
  /** Results by parent, and then by name. A combined key would need a new string for each place. */
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
    // Aliases apply only to the largest subdivisions. Inside a subdivision, the names found there take precedence.
    if (parent === this.country && this.aliases.has(keys.whole)) return this.aliases.get(keys.whole);
    const { whole, loose } = this.keys();
    const matches = [whole.get(keys.whole), ...keys.loose.map((key) => loose.get(key))];
    // A larger division may share its name with a division inside it (Madrid, Vilnius, Zlín). The requested level takes
    // precedence.
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
 * Returns the code of a subdivision by its name.
 * @param country ISO 3166-1 alpha-2
 * @param parent the code of the larger subdivision that contains it, if there is one
 * @returns the part of the ISO 3166-2 code after the hyphen
 */
export function findSubdivisionCode(country: string, name: string, parent?: string): string | undefined {
  const divisions = countries().get(country);
  const within = parent === undefined ? country : `${country}-${parent}`;
  return divisions?.find(name, within)?.code.slice(country.length + 1);
}

/**
 * Returns the code of the subdivision in which a city lies, for feeds that name a former subdivision.
 * @param name the name of the former subdivision
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

/** Returns the English name of a subdivision. `code` is the part after the hyphen. */
export function findSubdivisionName(country: string, code: string): string | undefined {
  return countries().get(country)?.byCode.get(`${country}-${code}`)?.name;
}

/**
 * Returns whether two codes stand for the same subdivision, or whether one of the two subdivisions lies directly in the
 * other. Both codes are the parts after the hyphen.
 */
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

/** Returns the rows of a table. Each row has as many fields as the header. */
const rows = (file: string) => dataTable(file) as (readonly [string, string, string])[];
