// preload.ts: loaded before each test file. It gives every run the same random values, and leaves no process
// or folder behind.

import { afterAll } from "bun:test";
import "./seed.mjs";
import { endPrograms } from "./inkling.ts";
import { removeTemporaryFolders } from "./temporary-folder.ts";

// `npx bun test` sets it, and hints would then name npx.
delete process.env.npm_command;

// Runs after the file's own hooks, which stop its servers.
afterAll(async () => {
  await endPrograms();
  removeTemporaryFolders();
});
