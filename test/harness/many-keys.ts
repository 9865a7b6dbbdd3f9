// many-keys.ts: fills a database with keys whose tokens nobody has.

import { SQL } from "bun";
import { hashToken } from "../../packages/store/src/keys/token.ts";

const ROWS_AT_ONCE = 1_000;

/** @param url a database with the tables of this version */
export async function fillKeys(url: string, count: number): Promise<void> {
  await using sql = new SQL(url, { max: 1 });
  for (let from = 1; from <= count; from += ROWS_AT_ONCE) {
    const keys = Array.from({ length: Math.min(ROWS_AT_ONCE, count - from + 1) }, (_, i) => ({
      id: `key_${String(from + i).padStart(16, "0")}`,
      name: `customer ${from + i}`,
      mode: "live",
      hint: "ink_live_abcd…",
      scopes: "geolocate reputation",
      networks: "",
      quota: 100_000,
      created_at: 1_780_000_000_000,
    }));
    const tokens = keys.map(({ id, created_at }) => ({
      hash: hashToken(`token of ${id}`),
      key_id: id,
      created_at,
    }));
    await sql.begin(async (tx) => {
      await tx`INSERT INTO inkling_keys ${tx(keys)}`;
      await tx`INSERT INTO inkling_tokens ${tx(tokens)}`;
    });
  }
  await sql`UPDATE inkling_key_stamp SET stamp = 'filled'`;
}
