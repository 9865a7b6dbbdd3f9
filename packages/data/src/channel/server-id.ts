// server-id.ts: the id of this server among the hosts of its group. It is kept for as long as the data folder exists.

import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "../atomic-file.ts";
import { DATA_FOLDER, makeFolder } from "../layout.ts";

export function serverId(dataDir: string): string {
  const path = join(dataDir, DATA_FOLDER.serverId);
  const found = existsSync(path) ? readFileSync(path, "utf8").trim() : "";
  if (/^[0-9a-f-]{36}$/.test(found)) return found;
  const made = randomUUID();
  makeFolder(dataDir);
  replaceFile(path, [`${made}\n`]);
  return made;
}
