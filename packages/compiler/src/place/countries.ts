// countries.ts: English names and continents of countries by ISO 3166-1 alpha-2 code.
//
// src  countries-list (npm): common English names ("South Korea", "Türkiye"), continents as GeoNames has them;
//      corrected below where its name drops letters or parts, or its continent is not the one that the
//      country's people and capital are on
// err  undefined if the code is not a country's

import { continents, countries } from "countries-list";
import { cleanName } from "./place-names.ts";

export interface Country {
  readonly code: string;
  readonly name: string;
  readonly continentCode: string;
}

const NAMES: Readonly<Record<string, string>> = {
  AX: "Åland",
  BL: "Saint Barthélemy",
  BQ: "Bonaire, Sint Eustatius, and Saba",
  CW: "Curaçao",
  RE: "Réunion",
  ST: "São Tomé and Príncipe",
};

const CONTINENTS: Readonly<Record<string, string>> = {
  CX: "OC", // as in MaxMind's data, like Norfolk Island
  RU: "EU", // as in UN M49 and in MaxMind's data
};

// ISO 3166-1 leaves these to users; XK, for Kosovo, is the code that feeds agree on.
const USER_ASSIGNED = /^(?:AA|Q[M-Z]|X[A-JL-Z]|ZZ)$/;
/** Written instead of a country when only a continent or nothing is known. */
const NO_COUNTRY = new Set(["AP", "EU", "UN"]);

const byCode = new Map<string, Country>(
  Object.entries(countries).map(([code, { name, continent }]) => [
    code,
    { code, name: NAMES[code] ?? name, continentCode: CONTINENTS[code] ?? continent },
  ]),
);

/** @param code ISO 3166-1 alpha-2, or XK */
export function findCountry(code: string): Country | undefined {
  return byCode.get(code);
}

/** The code in upper case, or undefined if it stands for no country: "", ZZ, XX, EU, AP, A1, … */
export function countryCode(code: string | undefined): string | undefined {
  if (code !== undefined && byCode.has(code)) return code;
  const upper = code?.trim().toUpperCase();
  if (upper === undefined || !/^[A-Z]{2}$/.test(upper)) return undefined;
  return USER_ASSIGNED.test(upper) || NO_COUNTRY.has(upper) ? undefined : upper;
}

/**
 * The code and name of a country, from a source and the table above.
 * A name beside a code that is no country's ("ZZ", "Unknown") is ignored.
 */
export function knownCountry(
  code: string | undefined,
  name: string | undefined,
): { readonly code: string | undefined; readonly name: string | undefined } {
  const known = countryCode(code);
  if (known === undefined && code !== undefined && code.trim() !== "") return NOWHERE;
  return { code: known, name: cleanName(name) ?? (known && byCode.get(known)?.name) };
}
const NOWHERE = { code: undefined, name: undefined };

/** The English name of a continent by its code: AF, AN, AS, EU, NA, OC, SA. */
export function findContinentName(code: string): string | undefined {
  return Object.hasOwn(continents, code) ? continents[code as keyof typeof continents] : undefined;
}
