// preload.ts: loaded before each test file: the same random values in every run, and no process or folder left.

import { afterAll } from "bun:test";
import "./seed.mjs";
import { endPrograms } from "./inkling.ts";
import { removeTemporaryFolders } from "./temporary-folder.ts";

// After the file's own, which stop its servers.
afterAll(async () => {
  await endPrograms();
  removeTemporaryFolders();
});
