// layers.ts: packs everything that is known about a range, except its place in the database, into one number. A
// covering holds one such number per range.
//
// A value has 32 bits: 18 for the row of an operator's statement, 4 for the kind of network, and 10 for the country in
// which the network is registered. A part of 0 means none. Kind and country together are called the ground, because
// operators' rows lie above them.

import { NETWORK_KINDS } from "@inkling/contract";

const COUNTRY_BITS = 10;
const KIND_BITS = 4;
const GROUND_BITS = COUNTRY_BITS + KIND_BITS;

/** The number of values that each part can have, including 0. ISO 3166-1 has 249 countries. */
export const COUNTRIES = 2 ** COUNTRY_BITS;
export const KINDS = 2 ** KIND_BITS;
export const GROUNDS = 2 ** GROUND_BITS;
export const ROWS = 2 ** (32 - GROUND_BITS);

export const groundOf = (kind: number, country: number): number => (kind << COUNTRY_BITS) | country;
export const layersOf = (row: number, ground: number): number => row * GROUNDS + ground;

export const rowIn = (layers: number): number => layers >>> GROUND_BITS;
export const kindIn = (layers: number): number => (layers >>> COUNTRY_BITS) & (KINDS - 1);
export const countryIn = (layers: number): number => layers & (COUNTRIES - 1);

/** The kinds of network, first those of large systems and then those of small ones. A value counts them from 1. */
export const KINDS_BY_SIZE = [...NETWORK_KINDS, ...NETWORK_KINDS] as const;
export const isOfSmallSystem = (kind: number): boolean => kind > NETWORK_KINDS.length;
