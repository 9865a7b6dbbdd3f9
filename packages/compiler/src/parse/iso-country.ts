// iso-country.ts: replaces the one country code that some feeds write differently from ISO 3166-1. Both the parser of
// geofeeds and the table of countries (place/countries.ts) apply this rule.

/** Returns GB for UK. @param code two upper-case letters */
export const isoCountry = (code: string): string => (code === "UK" ? "GB" : code);
