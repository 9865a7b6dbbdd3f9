// coordinates.ts: validates and rounds coordinates.
//
// in   WGS 84 degrees, as read from a source

import type { Place } from "./place.ts";

export interface Coordinates {
  readonly latitude: number;
  readonly longitude: number;
}

/**
 * Returns both coordinates. Undefined if one is missing or out of range, or if both are 0, which sources use for
 * "unknown".
 */
export function knownCoordinates({ latitude, longitude }: Place): Coordinates | undefined {
  if (latitude === undefined || longitude === undefined) return undefined;
  if (!(Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180)) return undefined;
  return latitude === 0 && longitude === 0 ? undefined : { latitude, longitude };
}

/** Six decimals are 11 cm. The data is not more precise than that. */
const DECIMALS = 1e6;

/** Rounds to six decimals. */
export function shortDegrees(degrees: number): number {
  return Math.round(degrees * DECIMALS) / DECIMALS + 0; // + 0 turns -0 into 0
}
