// countries.ts: lists English names and continents of countries by ISO 3166-1 alpha-2 code.
//
// Source: @inkling/contract has the codes that ISO has assigned. countries-list (npm) has common English names ("South
// Korea", "Türkiye") and GeoNames' continents. The tables below correct names that lack letters or parts, and
// continents that differ from where the country's people and capital are.

import { COUNTRY_CODES } from "@inkling/contract";
import { continents, countries } from "countries-list";
import { isoCountry } from "../parse/text.ts";
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

const CODES: ReadonlySet<string> = new Set(COUNTRY_CODES);

const byCode = new Map<string, Country>(
  Object.entries(countries)
    .filter(([code]) => CODES.has(code))
    .map(([code, { name, continent }]) => [
      code,
      { code, name: NAMES[code] ?? name, continentCode: CONTINENTS[code] ?? continent },
    ]),
);

/** @param code ISO 3166-1 alpha-2, or XK */
export function findCountry(code: string): Country | undefined {
  return byCode.get(code);
}

/**
 * Returns the code in upper case, and GB for UK. Returns undefined for a code that ISO 3166-1 has not assigned: "", ZZ,
 * XX, EU, AP, A1, …
 */
export function countryCode(code: string | undefined): string | undefined {
  if (code === undefined || byCode.has(code)) return code;
  const upper = isoCountry(code.trim().toUpperCase());
  return byCode.has(upper) ? upper : undefined;
}

/** Names of countries in lists of VPN servers that differ from the table's names. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  "Bosnia and Herzegovina": "BA",
  "Czech Republic": "CZ",
  "Hong Kong, SAR China": "HK",
  "Korea (South)": "KR",
  Macau: "MO",
  "Russian Federation": "RU",
  "Taiwan, Republic of China": "TW",
  Turkey: "TR",
  UAE: "AE",
  USA: "US",
};
const byName = new Map([
  ...Array.from(byCode.values(), ({ code, name }) => [name, code] as const),
  ...Object.entries(OTHER_NAMES),
]);

/** Returns the code of a country by its English name or by its code, as {@link countryCode} does. */
export const countryCodeOf = (text: string | undefined): string | undefined =>
  byName.get(text ?? "") ?? countryCode(text);

/**
 * Returns the code and name of a country, from a source and the table above.
 * Ignores a name if its code is not a country code ("ZZ", "Unknown").
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

/** Returns the English name of a continent by its code: AF, AN, AS, EU, NA, OC, SA. */
export function findContinentName(code: string): string | undefined {
  return Object.hasOwn(continents, code) ? continents[code as keyof typeof continents] : undefined;
}
