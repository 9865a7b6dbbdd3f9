// own-geofeed.ts: checks the lines of the operator's own geofeed. Lines with a mistake are skipped, so that the report
// shows the first. Publishers' geofeeds are not checked in this way, because no operator can correct them.
//
// Source: ISO 3166-2 for the regions that are also countries. The npm package iso-3166 does not mark them.

import { formatPrefix, type Prefix, specialUse } from "@inkling/engine";
import type { StatedPlace, StatedPlaces } from "../parse/index.ts";
import { isSpecialUse } from "../parse/network-list.ts";
import type { Skipped } from "../parse/tally.ts";
import { countryCode } from "../place/countries.ts";

interface CheckedPlaces {
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

/**
 * Countries that are also a region of another country, each with the ISO 3166-2 codes of that region. France's regions
 * have two codes each, one in letters and one in digits.
 */
const TERRITORIES: ReadonlySet<string> = new Set(
  `
  AS=US-AS AW=NL-AW AX=FI-01 BL=FR-BL BL=FR-977 BQ=NL-BQ1 BQ=NL-BQ2 BQ=NL-BQ3 CW=NL-CW GF=FR-GF
  GF=FR-973 GP=FR-GP GP=FR-971 GU=US-GU HK=CN-HK MF=FR-MF MF=FR-978 MO=CN-MO MP=US-MP MQ=FR-MQ
  MQ=FR-972 NC=FR-NC NC=FR-988 PF=FR-PF PF=FR-987 PM=FR-PM PM=FR-975 PR=US-PR RE=FR-RE RE=FR-974
  SJ=NO-21 SJ=NO-22 SX=NL-SX TF=FR-TF TF=FR-984 TW=CN-TW UM=US-UM VI=US-VI WF=FR-WF WF=FR-986 YT=FR-YT
  YT=FR-976
  `
    .trim()
    .split(/\s+/),
);

/** Returns whether the country is itself this region of another country, such as Puerto Rico (US-PR). */
const isTerritory = (country: string, region: string): boolean => TERRITORIES.has(`${country}=${region}`);
