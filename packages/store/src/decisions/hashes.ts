// hashes.ts: hashes a visitor's mailbox, network, address and account. Later decisions recognize the visitor by these
// hashes, and an operator can search for them, although the database contains nothing that identifies the visitor.
//
// A hash is 96 bits of an HMAC-SHA-256. Its key is outside the database, because whoever has the key and the hashes can
// try all IPv4 addresses. Cost: about 0.5 µs for each hash.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ServerSettings } from "@inkling/contract";
import { DATA_FOLDER } from "@inkling/data";
import type { Trace } from "@inkling/engine/assess";

const HASH_BYTES = 12;

/** @param trace what the value is, so that equal values of two kinds have different hashes */
export const traceHash = (key: string, trace: Trace, value: string): string =>
  new Bun.CryptoHasher("sha256", key)
    .update(`${trace} ${value}`)
    .digest()
    .toString("base64url", 0, HASH_BYTES);

/**
 * Reads the keys of hashes from the setting or, without it, from the file in the data folder.
 * @returns the current key first, then the key before it during a rotation; nothing if this host has no key yet
 * @throws Error of the system if the file cannot be read
 */
export function readHashKeys({
  dataDir,
  memoryKey,
}: Pick<ServerSettings, "dataDir" | "memoryKey">): readonly string[] {
  if (memoryKey !== undefined) return memoryKey.split("|");
  const path = join(dataDir, DATA_FOLDER.memoryKey);
  return existsSync(path) ? readFileSync(path, "utf8").split(/\s+/).filter(Boolean) : [];
}
