// layers.ts: what is known of a range beside the database, as one number, because a covering has one for each range.
//
// A value has 32 bits: 19 for the row that an operator states, 3 for the kind of network, 10 for the country that the
// network is registered in; 0 in each is none. Kind and country together are the ground that operators' rows lie on.

const COUNTRY_BITS = 10;
const KIND_BITS = 3;
const GROUND_BITS = COUNTRY_BITS + KIND_BITS;

/** How many numbers of each there are, 0 included. ISO 3166-1 has 249 countries. */
export const COUNTRIES = 2 ** COUNTRY_BITS;
export const KINDS = 2 ** KIND_BITS;
export const GROUNDS = 2 ** GROUND_BITS;
export const ROWS = 2 ** (32 - GROUND_BITS);

export const groundOf = (kind: number, country: number): number => (kind << COUNTRY_BITS) | country;
export const layersOf = (row: number, ground: number): number => row * GROUNDS + ground;

export const rowIn = (layers: number): number => layers >>> GROUND_BITS;
export const kindIn = (layers: number): number => (layers >>> COUNTRY_BITS) & (KINDS - 1);
export const countryIn = (layers: number): number => layers & (COUNTRIES - 1);
