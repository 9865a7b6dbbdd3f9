// complete-place.ts: fills in missing members that the other members imply.
//
// in   a place as a source describes it
// out  the same place, with the continent, country names, subdivision codes and names, time zone and accuracy radius
//      that follow from it
// err  a member that cannot be derived remains absent. Members that the source states never change, except for former
//      subdivisions
// cost 0.6 µs per DB-IP City place, including the time zone

import { estimateRadius, levelOf } from "./accuracy.ts";
import { type Coordinates, knownCoordinates } from "./coordinates.ts";
import { findContinentName, findCountry, knownCountry } from "./countries.ts";
import type { Place, Subdivision } from "./place.ts";
import { cleanName } from "./place-names.ts";
import { findCodeOfCity, findSubdivisionCode, findSubdivisionName } from "./subdivisions.ts";
import { findTimeZone } from "./time-zone.ts";

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

/** Returns the country's continent, or undefined if the source names a continent without its code. */
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
 * Returns the coordinates, unless the source names no part of the country. In that case, they only represent the whole
 * country.
 */
function localCoordinates(place: Place): Coordinates | undefined {
  const level = levelOf(place);
  return level === "city" || level === "region" ? knownCoordinates(place) : undefined;
}
