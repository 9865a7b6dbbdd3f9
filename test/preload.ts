// preload.ts: loaded before each test file: the same random values in every run, as CONTRIBUTING.md says, and no process or
// folder left.

import { afterAll } from "bun:test";
import { configureGlobal } from "fast-check";
import { endPrograms } from "./inkling.ts";
import { removeTemporaryFolders } from "./temporary-folder.ts";

configureGlobal({ seed: 20_261_122 });
// After the file's own, which stop its servers.
afterAll(async () => {
  await endPrograms();
  removeTemporaryFolders();
});
