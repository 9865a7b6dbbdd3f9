// Fuzzes MMDB files. The result is an MmdbError or an answer.

import { openCountries, openPlaces } from "../../../packages/compiler/src/geo/place-source.ts";
import { Mmdb, MmdbError } from "../../../packages/compiler/src/mmdb/mmdb.ts";
import {
  COUNTRY_V4,
  DBIP_NESTED,
  FLAT_V4,
  FLAT_V6,
  MAXMIND_NESTED,
} from "../../../packages/compiler/test/mmdb-fixtures.ts";
import type { Target } from "../target.ts";

/** Returns the part that refused, or undefined if everything could be read. */
function refusal(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    if (!(error instanceof MmdbError)) throw error;
    return /^(metadata|separator|search tree|data section)/.exec(error.message)?.[0] ?? "another part";
  }
}

function readAll(bytes: Uint8Array): void {
  const db = Mmdb.open(bytes);
  const offsets = new Set<number>();
  for (const family of [4, 6] as const) db.walk(family, (_a, _b, _c, _d, _bits, at) => offsets.add(at));
  for (const at of offsets) db.decode(at);
}

/** Returns the outcome of one input: the part that refused, or "answered". */
export function check(input: Uint8Array): string {
  const refused = refusal(() => readAll(input));
  // Sources refuse by the same rules. Readable damage must not make them throw anything else.
  refusal(() => openPlaces([input]));
  refusal(() => openCountries([input]));
  return refused ?? "answered";
}

export default function mmdb(): Target {
  return { corpus: [FLAT_V4, FLAT_V6, DBIP_NESTED, MAXMIND_NESTED, COUNTRY_V4], check };
}
