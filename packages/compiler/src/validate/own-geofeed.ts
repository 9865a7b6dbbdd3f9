// own-geofeed.ts: checks the lines of the operator's own geofeed. Lines with a mistake are skipped, so that the report
// names them. Publishers' geofeeds are not checked in this way, because no operator can correct them.
//
// in   the networks of a geofeed with their places and lines
// out  the places without these lines; the number of these lines, and the first of them

import { formatPrefix, type Prefix, specialUse } from "@inkling/engine";
import type { StatedPlace, StatedPlaces } from "../parse/index.ts";
import { isSpecialUse } from "../parse/network-list.ts";
import type { Skipped } from "../parse/tally.ts";
import { countryCode, findCountry } from "../place/countries.ts";
import { findSubdivisionName } from "../place/subdivisions.ts";

export interface CheckedPlaces {
  readonly stated: StatedPlaces;
  readonly wrong: number;
  readonly firstWrong: Skipped | undefined;
}

export function checkOwnGeofeed(stated: StatedPlaces, lineOf: (network: Prefix) => number): CheckedPlaces {
  const wrong = new Map<Prefix, Skipped>();
  for (const [i, network] of stated.networks.entries()) {
    const reason = mistakeIn(network, stated.places[stated.placeOf[i]!]!);
    if (reason !== undefined) wrong.set(network, { line: lineOf(network), reason });
  }
  const [firstWrong] = [...wrong.values()].sort((a, b) => a.line - b.line);
  return {
    stated: placesWhere(stated, (network) => !wrong.has(network)),
    wrong: wrong.size,
    firstWrong,
  };
}

/** Returns only the networks that pass the test, with their places. */
export function placesWhere(
  { networks, placeOf, places }: StatedPlaces,
  test: (network: Prefix) => boolean,
): StatedPlaces {
  const passes = networks.map(test);
  return {
    networks: networks.filter((_, i) => passes[i]),
    placeOf: placeOf.filter((_, i) => passes[i]),
    places,
  };
}

function mistakeIn(network: Prefix, { country, foreignRegion }: StatedPlace): string | undefined {
  if (isSpecialUse(network))
    return `${formatPrefix(network)} is ${specialUse(network.address)!.use}: never located`;
  if (country === undefined) return undefined;
  if (countryCode(country) === undefined) return `the country ${country} is not in ISO 3166-1`;
  if (foreignRegion === undefined || isTerritory(country, foreignRegion)) return undefined;
  return `the region ${foreignRegion} is not in the country ${country}`;
}

/** Returns whether the country is itself a region of another country, such as Puerto Rico (US-PR). */
function isTerritory(country: string, region: string): boolean {
  const [ofCountry = "", division = ""] = region.split("-");
  return division === country || findSubdivisionName(ofCountry, division) === findCountry(country)?.name;
}
