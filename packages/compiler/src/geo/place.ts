// place.ts: one place as a source of geolocation describes it, whatever its shape: what is unknown is absent.

export interface Subdivision {
  /** The part after the hyphen of ISO 3166-2. */
  readonly isoCode?: string;
  readonly name?: string;
}

export interface Place {
  readonly cityName?: string;
  readonly continentCode?: string;
  readonly continentName?: string;
  /** ISO 3166-1 alpha-2, or XK; ZZ is read as unknown. */
  readonly countryCode?: string;
  readonly countryName?: string;
  /** Whole kilometres, 67 % confidence. */
  readonly accuracyRadius?: number;
  /** Degrees, WGS 84. */
  readonly latitude?: number;
  readonly longitude?: number;
  /** IANA name. */
  readonly timeZone?: string;
  readonly postalCode?: string;
  readonly registeredCountryCode?: string;
  readonly registeredCountryName?: string;
  /** From largest to smallest. */
  readonly subdivisions: readonly Subdivision[];
}
