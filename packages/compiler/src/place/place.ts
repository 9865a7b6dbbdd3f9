// place.ts: one place of any source of geolocation; unknown members are undefined.

/**
 * What is known of how a place came about: the least number of IPv4 addresses that share its coordinates, or that the
 * operator of the network states it.
 */
export type Density = (typeof DENSITIES)[number];
export const DENSITIES = ["0", "1", "1000", "10000", "100000", "1000000", "10000000", "operator"] as const;

export interface Subdivision {
  /** The part after the hyphen of ISO 3166-2. */
  readonly isoCode?: string | undefined;
  readonly name?: string | undefined;
}

export interface Place {
  readonly cityName?: string | undefined;
  readonly continentCode?: string | undefined;
  readonly continentName?: string | undefined;
  /** ISO 3166-1 alpha-2, or XK; ZZ is read as unknown. */
  readonly countryCode?: string | undefined;
  readonly countryName?: string | undefined;
  /** Whole kilometres, 67 % confidence. */
  readonly accuracyRadius?: number | undefined;
  /** Of how many addresses it is the place: what its radius is estimated by. */
  readonly density?: Density | undefined;
  /** Of the networks that have it, by their system: what its radius is estimated by. */
  readonly networkKind?: string | undefined;
  /** Degrees, WGS 84. */
  readonly latitude?: number | undefined;
  readonly longitude?: number | undefined;
  /** In many places at once: nothing follows from its country. */
  readonly isAnycast?: true | undefined;
  /** IANA name. */
  readonly timeZone?: string | undefined;
  readonly postalCode?: string | undefined;
  readonly registeredCountryCode?: string | undefined;
  readonly registeredCountryName?: string | undefined;
  /** From largest to smallest. */
  readonly subdivisions: readonly Subdivision[];
}
