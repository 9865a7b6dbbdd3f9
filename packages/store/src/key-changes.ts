// key-changes.ts: remembers which keys changed with each stamp, so that a server with 100,000 keys reads only these.
//
// Cost: one row for each change, of which the last 100,000 are kept.
//
// Each row has the stamp before it. Otherwise a change by a server of an older version, which writes no rows, would be
// missed, and so would a restored backup.

import { randomBase62 } from "@inkling/engine";
import type { SQL, TransactionSQL } from "bun";
import type { Database } from "./database.ts";
import type { KeyId } from "./keys/key.ts";

const KEPT = 100_000;
/** If more rows than this are new, reading all keys is cheaper. */
const MAX_CHANGES = 10_000;

interface KeyChange {
  readonly before: string;
  readonly stamp: string;
  readonly changed: readonly KeyId[];
}

/**
 * Runs a change to keys, or a revocation of admin tokens. It locks the stamp's row first, so that processes take turns.
 * If what should change does not exist or is revoked, `work` may return undefined. Then the stamp does not change,
 * because an empty database must not look used.
 */
export function changeKeys<T>(
  database: Database,
  work: (tx: TransactionSQL, changed: KeyId[]) => Promise<T>,
): Promise<T> {
  return database.write(async (tx) => {
    const rows: { stamp: string }[] = await tx`UPDATE inkling_key_stamp SET stamp = stamp RETURNING stamp`;
    const changed: KeyId[] = [];
    const result = await work(tx, changed);
    if (result === undefined) return result;
    const stamp = randomBase62(22, database.randomBytes);
    await tx`UPDATE inkling_key_stamp SET stamp = ${stamp}`;
    await noteKeyChange(tx, { before: rows[0]?.stamp ?? "", stamp, changed });
    await database.notify(tx, "keys");
    return result;
  }, true);
}

async function noteKeyChange(tx: TransactionSQL, { before, stamp, changed }: KeyChange): Promise<void> {
  const rows: { last: number | string | null }[] =
    await tx`SELECT MAX(number) AS last FROM inkling_key_changes`;
  const number = Number(rows[0]?.last ?? 0) + 1;
  await tx`INSERT INTO inkling_key_changes (number, before, stamp, key_ids)
    VALUES (${number}, ${before}, ${stamp}, ${changed.join(" ")})`;
  await tx`DELETE FROM inkling_key_changes WHERE number <= ${number - KEPT}`;
}

/** Returns the keys that changed after this stamp; undefined if that is unknown. */
export async function readKeyChanges(sql: SQL, stamp: string): Promise<KeyId[] | undefined> {
  const rows: { before: string; stamp: string; key_ids: string }[] = await sql`SELECT before, stamp, key_ids
    FROM inkling_key_changes
    WHERE number > (SELECT MAX(number) FROM inkling_key_changes WHERE stamp = ${stamp})
    ORDER BY number LIMIT ${MAX_CHANGES + 1}`;
  if (rows.length === 0 || rows.length > MAX_CHANGES) return undefined;
  const changed = new Set<KeyId>();
  let last = stamp;
  for (const row of rows) {
    if (row.before !== last) return undefined;
    last = row.stamp;
    for (const keyId of row.key_ids.split(" ")) if (keyId !== "") changed.add(keyId);
  }
  return [...changed];
}
