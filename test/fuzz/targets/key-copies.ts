// Fuzzes the data folder's copy of the keys (keys.json), in both of its formats. A copy is refused as a whole, or each of
// its remaining keys can be looked up, and the copy is read again as it was written. No report contains a token's hash.

import { sha256Hex } from "@inkling/data";
import { type KeyRow, rowFromKey } from "../../../packages/store/src/keys/key.ts";
import { keyCopyText, readKeyCopy } from "../../../packages/store/src/keys/key-copy.ts";
import { parseNewKey } from "../../../packages/store/src/keys/key-input.ts";
import {
  KeyTable,
  type KeyUpdate,
  keyLine,
  removalLine,
} from "../../../packages/store/src/keys/key-table.ts";
import type { Target } from "../target.ts";

const NOW = Date.parse("2026-06-01T12:00:00Z");
const HASHES = ["a", "b", "c"].map((text) => sha256Hex(text));
const INPUTS = [
  { name: "shop" },
  { name: "東京", scopes: ["email"], networks: ["192.0.2.0/24", "2001:db8::/32"], rate: 5, burst: 9 },
  { name: "sandbox", mode: "test", quota: 1_000, expires_at: "2027-01-01T00:00:00Z" },
];
const rows: readonly KeyRow[] = INPUTS.map((input, i) =>
  rowFromKey({
    ...parseNewKey(input, NOW),
    id: `key_${"0".repeat(15)}${i}`,
    hint: "ink_live_3fK9…",
    createdAt: NOW,
    revokedAt: undefined,
  }),
);

function earlierText(): string {
  const tokens = rows.map((key, i) => ({ hash: HASHES[i]!, ...(i === 1 && { validUntil: NOW }), key }));
  const header = { format: "inkling-key-snapshot", version: 1, stamp: "1", tokens };
  return `${JSON.stringify(header)}\n`;
}

export default function keyCopies(): Target {
  const lines = rows.map((row, i) => keyLine(row, { [HASHES[i]!]: i === 1 ? NOW : null }));
  const copy = (all: readonly string[]) => keyCopyText({ stamp: "7", lines: Buffer.from(all.join("")) });
  return {
    corpus: [copy(lines), copy([...lines, removalLine(rows[0]!.id), lines[1]!]), Buffer.from(earlierText())],
    tokens: [
      "\n",
      '"7"\n',
      "[]\n",
      "{}",
      '["key_0000000000000000"]\n',
      '"__proto__":null',
      '"live"',
      "null",
      "1e999",
      "\\ud800",
      '"version":1',
      "0.0.0.0/0",
    ],
    check: (input) => {
      const reports: string[] = [];
      const read = readOrReason(Buffer.from(input).toString("utf8"), (reason) => void reports.push(reason));
      const told = reports.find((reason) => HASHES.some((hash) => reason.includes(hash)));
      if (told !== undefined) throw new Error(`a report has a token's hash: ${told}`);
      if (typeof read === "string") return read;
      const table = new KeyTable(read);
      const ids = [...table.ids()];
      for (const id of ids) if (table.findById(id)?.key.id !== id) throw new Error(`${id} is not found`);
      const text = Buffer.from(read.lines).toString();
      for (const { hash, key } of table.tokens) {
        const indexed = `"${hash.slice(0, 16)}`; // the last line with these 64 bits applies
        const isUnique = text.indexOf(indexed) === text.lastIndexOf(indexed);
        if (isUnique && table.findByToken(hash)?.key.id !== key.id)
          throw new Error(`a token of ${key.id} is not found`);
      }
      const again = readKeyCopy(Buffer.from(keyCopyText(table)).toString());
      if (again.stamp !== read.stamp || !new KeyTable(again).hasOnly(table.lines))
        throw new Error("the copy is not read as written");
      if (ids.length !== table.size) throw new Error("a key is counted but not there");
      return reports.length > 0 ? "copy in part" : "copy";
    },
  };
}

function readOrReason(...[text, report]: Parameters<typeof readKeyCopy>): KeyUpdate | string {
  try {
    return readKeyCopy(text, report);
  } catch (error) {
    const { message } = error as Error;
    if (message === "not a key snapshot" || message === "the key snapshot has no stamp") return message;
    throw error;
  }
}
