// geoip2.ts: converts a location to the shape of MaxMind's GeoIP2, for MaxMind's readers and SDKs.
//
// Source: https://dev.maxmind.com/geoip/docs/web-services/responses. There is no geoname_id, because no feed has it for
// all places.
//
// `is_in_european_union` is derived from the country. Readers treat a missing value as "no".

interface Named {
  readonly code?: string;
  readonly iso_code?: string;
  readonly name?: string;
}

export interface GeolocateAnswer {
  readonly city: Named;
  readonly continent: Named;
  readonly country: Named;
  readonly location: Readonly<Record<string, number | string>>;
  readonly postal: { readonly code?: string };
  readonly registered_country: Named;
  readonly subdivisions: readonly Named[];
  readonly ip?: string;
  readonly prefix?: string;
  readonly network?: {
    readonly prefix: string;
    readonly asn?: number;
    readonly organization?: string;
  } | null;
}

type Geoip2Named = {
  readonly code?: string;
  readonly iso_code?: string;
  readonly is_in_european_union?: true;
  readonly names?: { readonly en: string };
};

type Geoip2Country = {
  readonly continent?: Geoip2Named;
  readonly country?: Geoip2Named;
  readonly registered_country?: Geoip2Named;
};

type Geoip2City = Geoip2Country & {
  readonly city?: Geoip2Named;
  readonly location?: Readonly<Record<string, number | string>>;
  readonly postal?: { readonly code?: string };
  readonly subdivisions?: readonly Geoip2Named[];
};

type Geoip2Traits = {
  readonly autonomous_system_number?: number;
  readonly autonomous_system_organization?: string;
  readonly ip_address?: string;
  readonly network?: string;
};

/** The member states, and their regions that have a separate ISO 3166-1 code (Article 355 (1) TFEU; Åland). */
const EUROPEAN_UNION: ReadonlySet<string> = new Set([
  ...["AT", "BE", "BG", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GR", "HR", "HU", "IE", "IT", "LT"],
  ...["LU", "LV", "MT", "NL", "PL", "PT", "RO", "SE", "SI", "SK"],
  ...["AX", "GF", "GP", "MF", "MQ", "RE", "YT"],
]);

export function geoip2Country(answer: GeolocateAnswer): Geoip2Country {
  return {
    ...member("continent", named(answer.continent)),
    ...member("country", country(answer.country)),
    ...member("registered_country", country(answer.registered_country)),
  };
}

export function geoip2City(answer: GeolocateAnswer): Geoip2City {
  const { subdivisions } = answer;
  return {
    ...member("city", named(answer.city)),
    ...geoip2Country(answer),
    ...member("location", answer.location),
    ...member("postal", answer.postal),
    ...(subdivisions.length > 0 && { subdivisions: subdivisions.map(named) }),
  };
}

/**
 * Builds the traits. If the answer has two networks, `network` is the smaller one, so that all traits are true of every
 * address in it.
 */
export function geoip2Traits({ ip, prefix, network }: GeolocateAnswer, withSystem: boolean): Geoip2Traits {
  const system = withSystem ? network : undefined;
  const bits = (text: string | undefined) => Number(text?.slice(text.indexOf("/") + 1) ?? -1);
  const smaller = bits(system?.prefix) > bits(prefix) ? system?.prefix : prefix;
  return {
    ...(system?.asn !== undefined && { autonomous_system_number: system.asn }),
    ...(system?.organization !== undefined && { autonomous_system_organization: system.organization }),
    ...(ip !== undefined && { ip_address: ip }),
    ...(smaller && { network: smaller }),
  };
}

const member = <K extends string, V extends object>(name: K, value: V) =>
  (Object.keys(value).length === 0 ? {} : { [name]: value }) as { [P in K]?: V };

const named = ({ name, ...codes }: Named): Geoip2Named =>
  name === undefined ? codes : { ...codes, names: { en: name } };

function country(of: Named): Geoip2Named {
  const { iso_code, ...rest } = named(of);
  const isMember = iso_code !== undefined && EUROPEAN_UNION.has(iso_code);
  return {
    ...(isMember && { is_in_european_union: true as const }),
    ...(iso_code !== undefined && { iso_code }),
    ...rest,
  };
}
