// coordinates.ts: valid coordinates, and their rounding.
//
// in   WGS 84 degrees as a source's reader gives them

import type { Place } from "./place.ts";

export interface Coordinates {
  readonly latitude: number;
  readonly longitude: number;
}

/** Both coordinates, or undefined if one is missing, is out of bounds, or both are 0 (a source's "unknown"). */
export function knownCoordinates({ latitude, longitude }: Place): Coordinates | undefined {
  if (latitude === undefined || longitude === undefined) return undefined;
  if (!(Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180)) return undefined;
  return latitude === 0 && longitude === 0 ? undefined : { latitude, longitude };
}

/** Six decimals are 11 cm: more precision is not in the data. */
const DECIMALS = 1e6;

/** Rounded to these decimals. */
export function shortDegrees(degrees: number): number {
  return Math.round(degrees * DECIMALS) / DECIMALS + 0; // + 0: no -0
}
