// encode-place.ts: encodes one place as the bytes of the geolocate answer.
//
// Unknown values are omitted, and the text is "" if all values are unknown. dividePlace returns the positions at
// which such a text is divided, so that places share their common parts. Source: docs/api.md. Cost: 1.4 µs per DB-IP
// City place.

import { findContinentName, knownCountry } from "./countries.ts";
import { knownCoordinates, type Place, shortDegrees } from "./place.ts";
import { cleanName } from "./place-names.ts";

export function encodePlace(place: Place): string {
  const json = JSON.stringify({
    city: { name: cleanName(place.cityName) },
    continent: continent(place.continentCode, place.continentName),
    country: country(place.countryCode, place.countryName),
    location: location(place),
    postal: { code: cleanName(place.postalCode) },
    registered_country: country(place.registeredCountryCode, place.registeredCountryName),
    subdivisions: place.subdivisions
      .map(({ isoCode, name }) => ({ iso_code: cleanName(isoCode), name: cleanName(name) }))
      .filter(({ iso_code, name }) => iso_code !== undefined || name !== undefined),
  });
  return json === NOTHING ? "" : json;
}

/**
 * Divides a place's text into individual parts and parts that it shares with places nearby: own | shared | own |
 * shared. Names cannot contain the search texts, because JSON escapes the quotes in names.
 * @param json from {@link encodePlace}
 * @returns the three cuts, ascending, or undefined for any other text
 */
export function dividePlace(
  json: string,
): readonly [city: number, numbers: number, rest: number] | undefined {
  const city = json.indexOf('},"continent":');
  const location = json.indexOf(LOCATION, city);
  const postal = json.indexOf(POSTAL, location);
  if (city < 0 || location < 0 || postal < 0) return undefined;
  const from = location + LOCATION.length;
  const numbers = json.startsWith(RADIUS, from) ? from + RADIUS.length : from;
  const timeZone = json.indexOf(TIME_ZONE, numbers);
  const code = postal + POSTAL.length;
  if (json[code] !== "}") return [city, numbers, json.indexOf("}", code)]; // few places share a postal code
  return [city, numbers, timeZone >= 0 ? timeZone : postal - 2];
}

const LOCATION = '"location":{';
const RADIUS = '"accuracy_radius":';
const TIME_ZONE = ',"time_zone":';
const POSTAL = '"postal":{';

const NOTHING =
  '{"city":{},"continent":{},"country":{},"location":{},"postal":{},"registered_country":{},"subdivisions":[]}';

function continent(code: string | undefined, name: string | undefined) {
  const isKnown = code !== undefined && findContinentName(code) !== undefined;
  return { code: isKnown ? code : undefined, name: cleanName(name) };
}

function country(code: string | undefined, name: string | undefined) {
  const known = knownCountry(code, name);
  return { iso_code: known.code, name: known.name };
}

function location(place: Place) {
  const coordinates = knownCoordinates(place);
  return {
    accuracy_radius: wholeKilometres(place.accuracyRadius),
    latitude: coordinates && shortDegrees(coordinates.latitude),
    longitude: coordinates && shortDegrees(coordinates.longitude),
    time_zone: cleanName(place.timeZone),
  };
}

/** Rounds a radius to whole kilometres, at least 1. Sources use a radius of 0 for "unknown". */
function wholeKilometres(radius: number | undefined): number | undefined {
  if (radius === undefined || !(radius > 0 && Number.isFinite(radius))) return undefined;
  return Math.max(1, Math.round(radius));
}
