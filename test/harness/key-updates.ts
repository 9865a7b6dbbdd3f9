// key-updates.ts: converts between tokens and updates of a keyring.

import { type KeyId, type KeyRow, rowFromKey } from "../../packages/store/src/keys/key.ts";
import {
  KeyTable,
  type KeyUpdate,
  keyLine,
  removalLine,
  type TokenRecord,
} from "../../packages/store/src/keys/key-table.ts";

/** @param update all keys */
export const tokensOf = (update: KeyUpdate) => new KeyTable(update).tokens;

/** @param from the stamp of the keys that this changes; if undefined, `tokens` are the tokens of all keys */
export function keyUpdate(
  stamp: string,
  tokens: readonly TokenRecord[],
  from?: string,
  removed: readonly KeyId[] = [],
): KeyUpdate {
  const rows = new Map<KeyId, [KeyRow, Record<string, number | null>]>();
  for (const { hash, key, validUntil = null } of tokens) {
    const [, until] = rows.get(key.id) ?? [];
    rows.set(key.id, [rowFromKey(key), { ...until, [hash]: validUntil }]);
  }
  const lines = Array.from(rows.values(), ([row, until]) => keyLine(row, until));
  return { stamp, from, lines: Buffer.from([...removed.map(removalLine), ...lines].join("")) };
}
