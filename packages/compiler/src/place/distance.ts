// distance.ts: computes the distance between two places.
//
// in   WGS 84 degrees
// out  kilometres along the great circle, on a sphere with the Earth's mean radius. The error is at most 0.5 % of the
//      distance on the ellipsoid
// src  haversine formula; IUGG mean radius

import type { Coordinates } from "./coordinates.ts";

const EARTH_RADIUS_KM = 6371.0088;
const RADIANS = Math.PI / 180;

export function distanceKm(a: Coordinates, b: Coordinates): number {
  const northward = Math.sin(((b.latitude - a.latitude) * RADIANS) / 2) ** 2;
  const eastward = Math.sin(((b.longitude - a.longitude) * RADIANS) / 2) ** 2;
  const h = northward + Math.cos(a.latitude * RADIANS) * Math.cos(b.latitude * RADIANS) * eastward;
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.sqrt(Math.min(1, h)));
}
