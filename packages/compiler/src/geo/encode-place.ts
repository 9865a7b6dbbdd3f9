// encode-place.ts: one place as the answer of the geolocate look-up, byte for byte as it goes out.
//
// in   a place, usually completed (complete-place.ts)
// out  JSON text: the seven members of the contract, always all of them and in this order; unknown leaves left out;
//      "" when every leaf is unknown
// err  none thrown; values that say nothing ("", "-", 0/0, ZZ, NaN) are unknown leaves
// src  DESIGN.md section 4
// cost 1.4 µs a place of DB-IP City

import { knownCoordinates, shortDegrees } from "./coordinates.ts";
import { findContinentName, knownCountry } from "./countries.ts";
import type { Place, Subdivision } from "./place.ts";
import { cleanName } from "./place-names.ts";

/** Names and values of one object's members, in order; an undefined value leaves its member out. */
type Members = readonly (readonly [name: string, value: string | undefined])[];

export function encodePlace(place: Place): string {
  const json =
    `{"city":${only("name", place.cityName)}` +
    `,"continent":${continent(place.continentCode, place.continentName)}` +
    `,"country":${country(place.countryCode, place.countryName)}` +
    `,"location":${location(place)}` +
    `,"postal":${only("code", place.postalCode)}` +
    `,"registered_country":${country(place.registeredCountryCode, place.registeredCountryName)}` +
    `,"subdivisions":[${subdivisions(place.subdivisions)}]}`;
  return json === NOTHING ? "" : json;
}

const NOTHING =
  '{"city":{},"continent":{},"country":{},"location":{},"postal":{},"registered_country":{},"subdivisions":[]}';

function location(place: Place): string {
  const radius = wholeKilometres(place.accuracyRadius);
  const coordinates = knownCoordinates(place);
  const zone = timeZone(place.timeZone, undefined);
  const members =
    (radius === undefined ? "" : `,"accuracy_radius":${radius}`) +
    (coordinates === undefined
      ? ""
      : `,"latitude":${shortDegrees(coordinates.latitude)},"longitude":${shortDegrees(coordinates.longitude)}`) +
    (zone === "{}" ? "" : `,${zone.slice(1, -1)}`);
  return `{${members.slice(1)}}`;
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

const timeZone = remembered((name) => object([["time_zone", cleanName(name)]]));

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

/** An object of one text, for the two that half a million places seldom share. */
function only(member: string, text: string | undefined): string {
  const clean = cleanName(text);
  return clean === undefined ? "{}" : `{"${member}":${JSON.stringify(clean)}}`;
}

function object(members: Members): string {
  let json = "";
  for (const [name, value] of members) {
    if (value === undefined) continue;
    json += `${json === "" ? "{" : ","}"${name}":${JSON.stringify(value)}`;
  }
  return json === "" ? "{}" : `${json}}`;
}
