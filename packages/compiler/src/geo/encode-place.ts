// encode-place.ts: one place as the answer of the geolocate look-up, byte for byte as it goes out.
//
// in   a place, usually completed (complete-place.ts)
// out  JSON text: the seven members of the contract, always all of them and in this order; unknown leaves left out;
//      "" when every leaf is unknown
// err  none thrown; values that say nothing ("", "-", 0/0, ZZ, NaN) are unknown leaves
// src  DESIGN.md section 4
// cost about 1 µs a place

import type { Place, Subdivision } from "../place.ts";
import { knownCoordinates, shortDegrees } from "./coordinates.ts";
import { findContinentName, knownCountry } from "./countries.ts";
import { cleanName } from "./place-names.ts";

/** Names and values of one object's members, in order; an undefined value leaves its member out. */
type Members = readonly (readonly [name: string, value: string | number | undefined])[];

export function encodePlace(place: Place): string {
  const json =
    `{"city":${object([["name", cleanName(place.cityName)]])}` +
    `,"continent":${continent(place.continentCode, place.continentName)}` +
    `,"country":${country(place.countryCode, place.countryName)}` +
    `,"location":${location(place)}` +
    `,"postal":${object([["code", cleanName(place.postalCode)]])}` +
    `,"registered_country":${country(place.registeredCountryCode, place.registeredCountryName)}` +
    `,"subdivisions":[${subdivisions(place.subdivisions)}]}`;
  return json === NOTHING ? "" : json;
}

const NOTHING =
  '{"city":{},"continent":{},"country":{},"location":{},"postal":{},"registered_country":{},"subdivisions":[]}';

function location(place: Place): string {
  const coordinates = knownCoordinates(place);
  return object([
    ["accuracy_radius", wholeKilometres(place.accuracyRadius)],
    ["latitude", coordinates && shortDegrees(coordinates.latitude)],
    ["longitude", coordinates && shortDegrees(coordinates.longitude)],
    ["time_zone", cleanName(place.timeZone)],
  ]);
}

// A few thousand pairs of code and name make up half a million places: each is written once.

const continent = remembered((code, name) => {
  const known = code !== undefined && findContinentName(code) !== undefined;
  return object([
    ["code", known ? code : undefined],
    ["name", cleanName(name)],
  ]);
});

const country = remembered((code, name) => {
  const known = knownCountry(code, name);
  return object([
    ["iso_code", known.code],
    ["name", known.name],
  ]);
});

const subdivision = remembered((code, name) =>
  object([
    ["iso_code", cleanName(code)],
    ["name", cleanName(name)],
  ]),
);

function subdivisions(list: readonly Subdivision[]): string {
  return list
    .map(({ isoCode, name }) => subdivision(isoCode, name))
    .filter((json) => json !== "{}")
    .join(",");
}

type Pair = (code: string | undefined, name: string | undefined) => string;

function remembered(write: Pair): Pair {
  const written = new Map<string, string>();
  return (code, name) => {
    const key = `${code ?? ""}\t${name ?? ""}`; // "" and absent are alike unknown
    let json = written.get(key);
    if (json === undefined) {
      json = write(code, name);
      written.set(key, json);
    }
    return json;
  };
}

/** A radius is at least 1 km: 0 is a source's "unknown". */
function wholeKilometres(radius: number | undefined): number | undefined {
  return radius !== undefined && radius > 0 && Number.isFinite(radius)
    ? Math.max(1, Math.round(radius))
    : undefined;
}

function object(members: Members): string {
  let json = "";
  for (const [name, value] of members) {
    if (value === undefined) continue;
    json += `${json === "" ? "{" : ","}"${name}":${JSON.stringify(value)}`;
  }
  return json === "" ? "{}" : `${json}}`;
}
