// key-reader.ts: a thread that looks up the same tokens in another thread's key table, as often as it can.

import { type KeyMemory, KeyTable } from "../../packages/store/src/keys/key-table.ts";
import { hashToken } from "../../packages/store/src/keys/token.ts";

export type ReaderOrder = { readonly memory: KeyMemory; readonly tokens: readonly string[] } | "end";

/** Sent after the first lookups, and at the end. */
export interface ReaderReport {
  readonly lookups: number;
  readonly missed: number;
}

declare const self: Worker;

let table = new KeyTable();
let hashes: readonly string[] = [];
const seen = { lookups: 0, missed: 0 };

function read(): void {
  for (let round = 0; round < 20; round++)
    for (const hash of hashes) {
      seen.lookups++;
      if (table.findByToken(hash) === undefined) seen.missed++;
    }
  setImmediate(read); // lets messages in
}

self.onmessage = ({ data }: MessageEvent<ReaderOrder>) => {
  if (data === "end") {
    self.postMessage(seen satisfies ReaderReport);
    return;
  }
  const isFirst = hashes.length === 0;
  table = KeyTable.from(data.memory);
  hashes = data.tokens.map(hashToken);
  if (!isFirst) return;
  read();
  self.postMessage(seen satisfies ReaderReport);
};
