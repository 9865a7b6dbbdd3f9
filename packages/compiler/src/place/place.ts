// place.ts: one place, from any geolocation source. Unknown fields are undefined. Coordinates are WGS 84 degrees.

/**
 * Indicates how reliable a place is: the minimum number of IPv4 addresses that share its coordinates, or "operator" if
 * the network's operator states the place.
 */
export type Density = (typeof DENSITIES)[number];
export const DENSITIES = ["0", "1", "1000", "10000", "100000", "1000000", "10000000", "operator"] as const;

export interface Subdivision {
  /** The part of the ISO 3166-2 code after the hyphen. */
  readonly isoCode?: string | undefined;
  readonly name?: string | undefined;
}

export interface Place {
  readonly cityName?: string | undefined;
  readonly continentCode?: string | undefined;
  readonly continentName?: string | undefined;
  /** ISO 3166-1 alpha-2, or XK. ZZ counts as unknown. */
  readonly countryCode?: string | undefined;
  readonly countryName?: string | undefined;
  /** Radius in whole kilometres, at 67% confidence. */
  readonly accuracyRadius?: number | undefined;
  /** How many addresses are at this place. The radius estimate depends on it. */
  readonly density?: Density | undefined;
  /**
   * The kind of the networks at this place, derived from their autonomous systems. The radius estimate depends on it.
   */
  readonly networkKind?: string | undefined;
  /** Degrees, WGS 84. */
  readonly latitude?: number | undefined;
  readonly longitude?: number | undefined;
  /** The network is in many places at the same time, so nothing can be derived from its country. */
  readonly isAnycast?: true | undefined;
  /** IANA name. */
  readonly timeZone?: string | undefined;
  readonly postalCode?: string | undefined;
  readonly registeredCountryCode?: string | undefined;
  readonly registeredCountryName?: string | undefined;
  /** Subdivisions, from largest to smallest. */
  readonly subdivisions: readonly Subdivision[];
}

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

const EARTH_RADIUS_KM = 6371.0088;
const RADIANS = Math.PI / 180;

/**
 * Returns kilometres along the great circle, on a sphere with the Earth's mean radius (IUGG). The error is at most 0.5%
 * of the distance on the ellipsoid.
 */
export function distanceKm(a: Coordinates, b: Coordinates): number {
  const northward = Math.sin(((b.latitude - a.latitude) * RADIANS) / 2) ** 2;
  const eastward = Math.sin(((b.longitude - a.longitude) * RADIANS) / 2) ** 2;
  const h = northward + Math.cos(a.latitude * RADIANS) * Math.cos(b.latitude * RADIANS) * eastward;
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.sqrt(Math.min(1, h)));
}
