// complete-place.ts: fills in missing fields that the other fields imply.
//
// Fields that the source states never change, except for former subdivisions. Source: tz-lookup (npm) and
// data/time-zones.csv for time zones. tz-lookup is coarse near borders: it puts 0.43% of DB-IP's ranges into another
// country's zone. So a place in a country with a single zone always gets that zone. In other countries, the result must
// be one of the country's zones. Cost: 0.6 µs per DB-IP City place, including the time zone.

import tzLookup from "@photostructure/tz-lookup";
import { dataTable, once } from "../parse/csv.ts";
import { estimateRadius, levelOf } from "./accuracy.ts";
import { findContinentName, findCountry, knownCountry } from "./countries.ts";
import { type Coordinates, knownCoordinates, type Place, type Subdivision } from "./place.ts";
import { cleanName } from "./place-names.ts";
import { findCodeOfCity, findSubdivisionCode, findSubdivisionName } from "./subdivisions.ts";

const zonesByCountry = once(
  () => new Map(dataTable("time-zones.csv").map(([code, zones]) => [code!, zones!.split(" ")])),
);

/** Returns an IANA name. @param coordinates undefined if they are unknown, or only represent the whole country */
function findTimeZone(country: string | undefined, coordinates: Coordinates | undefined): string | undefined {
  const zones = country === undefined ? undefined : zonesByCountry().get(country);
  if (zones?.length === 1) return zones[0];
  if (coordinates === undefined) return undefined;
  const zone = tzLookup(coordinates.latitude, coordinates.longitude);
  if (zones !== undefined) return zones.includes(zone) ? zone : undefined;
  return zone.startsWith("Etc/") ? undefined : zone; // at sea, tz-lookup returns an offset instead of a region
}

export function completePlace(place: Place): Place {
  const country = knownCountry(place.countryCode, place.countryName);
  const registered = knownCountry(place.registeredCountryCode, place.registeredCountryName);
  const continentCode = place.continentCode ?? impliedContinent(place, country.code);
  return {
    ...place,
    continentCode,
    continentName: place.continentName ?? (continentCode && findContinentName(continentCode)),
    countryName: place.countryName ?? country.name,
    accuracyRadius: place.accuracyRadius ?? estimateRadius(place),
    timeZone:
      place.timeZone ?? (place.isAnycast ? undefined : findTimeZone(country.code, localCoordinates(place))),
    registeredCountryName: place.registeredCountryName ?? registered.name,
    subdivisions: completeSubdivisions(place, country.code),
  };
}

/** Returns the country's continent, or undefined if the source states a continent without its code. */
function impliedContinent(place: Place, country: string | undefined): string | undefined {
  if (place.continentName !== undefined || country === undefined) return undefined;
  return findCountry(country)?.continentCode;
}

/** Returns the subdivisions, with the codes and names that can be derived. */
export function completeSubdivisions(
  { subdivisions, cityName }: Place,
  country: string | undefined,
): readonly Subdivision[] {
  if (country === undefined || subdivisions.length === 0) return subdivisions;
  const former = subdivisions[0]!.isoCode === undefined ? subdivisions[0]!.name : undefined;
  const code = former && findCodeOfCity(country, former, cityName);
  if (code) return [{ isoCode: code, name: findSubdivisionName(country, code) }];
  let parent: string | undefined;
  return subdivisions.map((subdivision) => {
    const complete = completeSubdivision(subdivision, country, parent);
    parent = complete.isoCode;
    return complete;
  });
}

function completeSubdivision(
  subdivision: Subdivision,
  country: string,
  parent: string | undefined,
): Subdivision {
  const { isoCode, name } = subdivision;
  if (isoCode === undefined) {
    const clean = cleanName(name);
    const code = clean && findSubdivisionCode(country, clean, parent);
    return code ? { ...subdivision, isoCode: code } : subdivision;
  }
  if (name === undefined) {
    const english = findSubdivisionName(country, isoCode);
    return english ? { ...subdivision, name: english } : subdivision;
  }
  return subdivision;
}

/**
 * Returns the coordinates, unless the source states no part of the country. In that case, they only represent the whole
 * country.
 */
function localCoordinates(place: Place): Coordinates | undefined {
  const level = levelOf(place);
  return level === "city" || level === "region" ? knownCoordinates(place) : undefined;
}
