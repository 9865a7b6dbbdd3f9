// key-updates.ts: converts between tokens and updates of a keyring.

import { type Key, type KeyId, type KeyRow, rowFromKey } from "../../packages/store/src/keys/key.ts";
import {
  KeyTable,
  type KeyUpdate,
  keyLine,
  removalLine,
  type TokenRecord,
} from "../../packages/store/src/keys/key-table.ts";
import { hashToken } from "../../packages/store/src/keys/token.ts";

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

/** Returns an update with keys that have these ids. See {@link keyUpdate}. */
export function updateOf(
  stamp: string,
  ids: readonly KeyId[],
  from?: string,
  removed?: readonly KeyId[],
): KeyUpdate {
  const tokens = ids.map((id): TokenRecord => {
    const key: Key = {
      id,
      name: id,
      mode: "live",
      hint: "",
      scopes: [],
      networks: [],
      createdAt: 0,
      revokedAt: undefined,
    };
    return { hash: hashToken(id), key, validUntil: undefined };
  });
  return keyUpdate(stamp, tokens, from, removed);
}
