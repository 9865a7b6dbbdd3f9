// snapshot.ts: all active keys as plain values, for messages to workers and for the data folder.
//
// err  readKeySnapshot throws if the text is not a key snapshot
// note A snapshot contains hashes of tokens, but no tokens and no revoked keys.

import { messageOf, SnapshotFile, type SnapshotFileOptions } from "@inkling/release-store";
import { type KeyId, type KeyRow, keyFromRow, NAME_FROM_SETTINGS, rowFromKey } from "./key.ts";
import type { KeySnapshot, TokenRecord } from "./keyring.ts";

const FORMAT = "inkling-key-snapshot";
const VERSION = 1;

/** All active keys, each in the form of its database row. */
export interface PlainKeys {
  readonly stamp: string;
  readonly tokens: readonly (Omit<TokenRecord, "key"> & { readonly key: KeyRow })[];
}

/** A line that was appended to a snapshot: the tokens of the changed keys at `stamp`, if they had `from` before. */
interface ChangeLine extends PlainKeys {
  readonly from: string;
  readonly changed: readonly KeyId[];
}

export function plainKeys({ stamp, tokens }: KeySnapshot): PlainKeys {
  return { stamp, tokens: tokens.map(({ key, ...token }) => ({ ...token, key: rowFromKey(key) })) };
}

/** @param report called with the reason for each key that is left out because this version cannot read it */
export function keysFromPlain(
  { stamp, tokens }: PlainKeys,
  report: (reason: string) => void = () => {},
): KeySnapshot {
  const read = tokens.flatMap(({ key, ...token }) => {
    try {
      return { ...token, key: keyFromRow(key, (reason) => report(`${key.id}: ${reason}`)) };
    } catch (error) {
      report(`${key.id}: ${messageOf(error)}`);
      return [];
    }
  });
  return { stamp, tokens: read };
}

export function keySnapshotText(snapshot: KeySnapshot): string {
  return `${JSON.stringify({ format: FORMAT, version: VERSION, ...plainKeys(snapshot) })}\n`;
}

/** True if the snapshot contains keys that the server could not create again from settings. */
export function holdsMadeKeys(snapshot: KeySnapshot | undefined): boolean {
  return snapshot?.tokens.some(({ key }) => key.name !== NAME_FROM_SETTINGS) ?? false;
}

/** Returns the line to append to a copy of the snapshot before this one; undefined if the difference is unknown. */
export function changeLine({ stamp, delta }: KeySnapshot) {
  if (delta === undefined) return undefined;
  const { from, keyIds, tokens } = delta;
  const line: ChangeLine = { from, changed: [...keyIds], ...plainKeys({ stamp, tokens }) };
  return { from, text: `${JSON.stringify(line)}\n` };
}

/** Creates the object that reads and writes the copy of the keys in the data folder. */
export function keyCopy(
  options: Omit<SnapshotFileOptions<KeySnapshot | undefined>, "parse" | "print">,
): SnapshotFile<KeySnapshot | undefined> {
  return new SnapshotFile<KeySnapshot | undefined>({
    ...options,
    parse: (text) => {
      const value = readKeySnapshot(text, options.onFailure);
      return { version: value.stamp, value };
    },
    print: ({ version, value }) => keySnapshotText(value ?? { stamp: version, tokens: [] }),
    changeOf: ({ value }) => value && changeLine(value),
  });
}

/**
 * @param report called with the reason for each key that is left out because this version cannot read it
 * @throws Error if the text is not a snapshot
 */
export function readKeySnapshot(text: string, report?: (reason: string) => void): KeySnapshot {
  const [first = "", ...lines] = text.split("\n");
  const { format, version, stamp, tokens }: PlainKeys & { format: unknown; version: unknown } =
    JSON.parse(first);
  if (format !== FORMAT || version !== VERSION || typeof stamp !== "string") {
    throw new Error(`not a version ${VERSION} key snapshot`);
  }
  lines.pop(); // what follows the last line feed is incomplete
  const plain = lines.map((line): ChangeLine => JSON.parse(line)).reduce(withChange, { stamp, tokens });
  for (const { hash, validUntil = null } of plain.tokens) {
    if (!/^[0-9a-f]{64}$/.test(hash)) throw new Error("a token's hash is not a SHA-256 hash");
    if (validUntil !== null && !Number.isSafeInteger(validUntil))
      throw new Error("a token's expiry is not a time");
  }
  return keysFromPlain(plain, report);
}

/** Applies an appended line. A line that was appended to other content changes nothing. */
function withChange(before: PlainKeys, { from, changed, stamp, tokens }: ChangeLine): PlainKeys {
  if (from !== before.stamp) return before;
  const isChanged = new Set(changed);
  return { stamp, tokens: [...before.tokens.filter(({ key }) => !isChanged.has(key.id)), ...tokens] };
}
