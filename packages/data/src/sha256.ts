// sha256.ts: computes SHA-256 in lower-case hex.

import { createHash } from "node:crypto";
import { closeSync, openSync, readSync } from "node:fs";

const BLOCK_BYTES = 1 << 20;

export function sha256Hex(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Hashes a file to its end, in pieces. @throws errors of node:fs */
export function hashFile(path: string): { readonly sha256: string; readonly bytes: number } {
  const file = openSync(path, "r");
  try {
    const hash = createHash("sha256");
    const block = new Uint8Array(BLOCK_BYTES);
    let bytes = 0;
    for (let read = readSync(file, block); read > 0; read = readSync(file, block)) {
      hash.update(block.subarray(0, read));
      bytes += read;
    }
    return { sha256: hash.digest("hex"), bytes };
  } finally {
    closeSync(file);
  }
}
