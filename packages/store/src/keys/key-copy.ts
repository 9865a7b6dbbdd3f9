// key-copy.ts: the copy of the keys in the data folder, from which a server starts while its database is unreachable.
// It has no token and no revoked key.
//
// An earlier version wrote one JSON object with all tokens. A key that this version cannot read is reported and left out.
// So is a line that is damaged; its text is never reported, because it could be a token.

import { messageOf, SnapshotFile, type SnapshotFileOptions } from "@inkling/data";
import { type KeyId, type KeyRow, NAME_FROM_SETTINGS } from "./key.ts";
import { type KeyTable, type KeyUpdate, keyLine, recordOf, removalLine } from "./key-table.ts";

const FORMAT = "inkling-key-snapshot";
const ID = /^key_\w+$/;
const HEADER = `${JSON.stringify({ format: FORMAT, version: 2 })}\n`;

/** A copy of version 1, or the first line of version 2. */
interface Header {
  readonly format: unknown;
  readonly version: unknown;
  readonly stamp: unknown;
  readonly tokens: readonly { readonly hash: string; readonly validUntil?: number; readonly key: KeyRow }[];
}

/**
 * Creates the object that reads and writes the copy.
 * @param table returns the keys after the update that is saved
 */
export function keyCopy(
  options: Omit<SnapshotFileOptions<KeyUpdate | undefined>, "parse" | "print" | "changeOf">,
  table: () => KeyTable,
): SnapshotFile<KeyUpdate | undefined> {
  return new SnapshotFile<KeyUpdate | undefined>({
    ...options,
    parse: (text) => {
      const value = readKeyCopy(text, options.onFailure);
      return { version: value.stamp, value };
    },
    print: () => keyCopyText(table()),
    changeOf: ({ value }) =>
      value?.from === undefined
        ? undefined
        : { from: value.from, text: Buffer.concat([value.lines, stampLine(value.stamp)]) },
  });
}

export const keyCopyText = ({ stamp, lines }: Pick<KeyTable, "stamp" | "lines">): Uint8Array =>
  Buffer.concat([Buffer.from(HEADER), lines, stampLine(stamp)]);

const stampLine = (stamp: string) => Buffer.from(`${JSON.stringify(stamp)}\n`);

/**
 * @param report called with the reason for each key that is left out because this version cannot read it, and once with
 *     the number of damaged lines
 * @throws Error if the text is not a copy
 */
export function readKeyCopy(text: string, report: (reason: string) => void = () => {}): KeyUpdate {
  const [first = "", ...rest] = text.split("\n");
  rest.pop(); // what follows the last line feed is incomplete
  const header = (jsonOf(first) ?? {}) as Partial<Header>;
  const all = header.version === 1 ? linesOfEarlier(header) : header.version === 2 ? rest : undefined;
  if (header.format !== FORMAT || all === undefined) throw new Error("not a key snapshot");
  let stamp: unknown;
  const lines: string[] = [];
  let damaged = 0;
  for (const line of all) {
    const values = jsonOf(line);
    if (Array.isArray(values) && ID.test(String(values[0]))) lines.push(readable(values, report));
    else if (typeof values === "string") stamp = values;
    else {
      damaged++;
      const id = /^\["(key_\w+)"/.exec(line)?.[1];
      if (id !== undefined) lines.push(removalLine(id as KeyId)); // an earlier line about the key must not apply
    }
  }
  if (damaged > 0) report(`${damaged} ${damaged === 1 ? "line is" : "lines are"} damaged, and left out`);
  if (typeof stamp !== "string") throw new Error("the key snapshot has no stamp");
  return { stamp, lines: Buffer.from(lines.join("")) };
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Returns the line as `keyLine` prints it, because the table reads bytes at fixed places. */
function readable(values: readonly unknown[], report: (reason: string) => void): string {
  const id = String(values[0]);
  if (values.length === 1) return removalLine(id);
  try {
    const { tokens } = recordOf(values, (reason) => report(`${id}: ${reason}`));
    if (typeof tokens !== "object" || tokens === null || Array.isArray(tokens))
      throw new Error("its tokens are not an object");
    for (const [hash, until] of Object.entries(tokens)) {
      if (!/^[0-9a-f]{64}$/.test(hash)) throw new Error("a token's hash is not a SHA-256 hash");
      if (until !== null && !Number.isSafeInteger(until)) throw new Error("a token's expiry is not a time");
    }
    return `${JSON.stringify(values)}\n`;
  } catch (error) {
    report(`${id}: ${messageOf(error)}`);
    return removalLine(id); // an earlier line about the key must not apply
  }
}

/** Converts a copy in format version 1. @returns undefined if it is damaged */
function linesOfEarlier({ stamp, tokens }: Partial<Header>): readonly string[] | undefined {
  if (!Array.isArray(tokens)) return undefined;
  const keys = new Map<KeyId, { readonly key: KeyRow; readonly until: Record<string, number | null> }>();
  for (const token of tokens as Header["tokens"]) {
    if (typeof token?.hash !== "string" || typeof token.key?.id !== "string") return undefined;
    const { key, hash, validUntil = null } = token;
    const known = keys.get(key.id) ?? { key, until: {} };
    known.until[hash] = validUntil;
    keys.set(key.id, known);
  }
  return [
    ...Array.from(keys.values(), ({ key, until }) => keyLine(key, until).trimEnd()),
    JSON.stringify(stamp),
  ];
}

/** True if there are keys that the server could not create again from settings. */
export const holdsMadeKeys = (table: KeyTable | undefined): boolean =>
  table?.tokens.some(({ key }) => key.name !== NAME_FROM_SETTINGS) ?? false;
