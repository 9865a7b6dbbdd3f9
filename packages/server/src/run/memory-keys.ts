// memory-keys.ts: reads the keys for hashing what identifies visitors (store, decisions/hashes.ts) when a server starts.
//
// Without the setting, a host creates a key in its data folder. During a rotation, the setting and the file have two
// keys, the new one first.

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ServerSettings } from "@inkling/contract";
import { createFile, DATA_FOLDER, messageOf } from "@inkling/data";
import { readHashKeys } from "@inkling/store/decisions/hashes";
import { StartError } from "../http/start-error.ts";

const MAX_KEYS = 2;
const MIN_LENGTH = 32;
const KEY_BYTES = 32;

/**
 * @returns no key if the server stores no decisions
 * @throws StartError
 */
export function readMemoryKeys(
  settings: Pick<ServerSettings, "decisions" | "dataDir" | "memoryKey">,
): readonly string[] {
  if (!settings.decisions) return [];
  const path = join(settings.dataDir, DATA_FOLDER.memoryKey);
  const keys = keysOf(path, settings);
  if (settings.memoryKey !== undefined) return keys;
  if (keys.length > 0 && keys.length <= MAX_KEYS && keys.every(({ length }) => length >= MIN_LENGTH))
    return keys;
  throw new StartError(
    "MEMORY_KEY",
    `${path} must have one key of ${MIN_LENGTH} or more characters, or during a rotation two, each on its own line`,
    "correct the file, or delete it: the server then creates a new key and no longer recognizes earlier visitors",
  );
}

function keysOf(path: string, settings: Pick<ServerSettings, "dataDir" | "memoryKey">): readonly string[] {
  try {
    // Two servers that start at the same time on a new data folder must use the same key.
    if (settings.memoryKey === undefined && !existsSync(path))
      createFile(path, `${randomBytes(KEY_BYTES).toString("hex")}\n`, 0o600);
    return readHashKeys(settings);
  } catch (error) {
    throw new StartError(
      "MEMORY_KEY",
      `cannot read or create ${path}: ${messageOf(error)}`,
      "let the server write to the data folder, or set INKLING_MEMORY_KEY",
      error,
    );
  }
}
