// countries.ts: checks country codes that people write, and suggests the code that they mean.

import { COUNTRY_ALIASES, COUNTRY_CODES } from "@inkling/contract";

const CODES: ReadonlySet<string> = new Set(COUNTRY_CODES);
const WANTED = "must be an ISO 3166-1 alpha-2 code such as DE";

/** @param code two upper-case letters, as in answers */
export const isCountryCode = (code: string): boolean => CODES.has(code);

/** Returns the code that a text means, such as GB for "UK", "gb" and "United Kingdom"; undefined if it means none. */
export function meantCountry(text: string): string | undefined {
  const upper = text.trim().toUpperCase();
  if (CODES.has(upper)) return upper;
  if (Object.hasOwn(COUNTRY_ALIASES, upper)) return COUNTRY_ALIASES[upper];
  if (upper.length < 4 || upper.length > 60) return undefined;
  names ??= new Intl.DisplayNames("en", { type: "region" }); // loading its data takes several milliseconds
  return COUNTRY_CODES.find((code) => names?.of(code)?.toUpperCase() === upper);
}
let names: Intl.DisplayNames | undefined;

/** Returns the message about a text that is not a country code. */
export function notCountry(text: string): string {
  const meant = meantCountry(text);
  return meant === undefined ? WANTED : `${WANTED}: did you mean "${meant}"?`;
}
