// place.ts: one place, from any geolocation source. Unknown members are undefined.

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
  /** Radius in whole kilometres, at 67 % confidence. */
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
  /** The network is in many places at once, so nothing can be derived from its country. */
  readonly isAnycast?: true | undefined;
  /** IANA name. */
  readonly timeZone?: string | undefined;
  readonly postalCode?: string | undefined;
  readonly registeredCountryCode?: string | undefined;
  readonly registeredCountryName?: string | undefined;
  /** Subdivisions, from largest to smallest. */
  readonly subdivisions: readonly Subdivision[];
}
