// server-options.ts: the settings and options of a server under test.

import { loadSettings } from "../../packages/cli/src/config/settings.ts";
import type { Settings } from "../../packages/contract/src/index.ts";
import type { ServerOptions } from "../../packages/server/src/run/server.ts";

/** Returns the settings of a server without configuration, except for those that the test is about. */
export const testSettings = (over: Partial<Settings> = {}): Settings => ({
  ...loadSettings({ flags: {}, env: {}, cwd: import.meta.dir }).settings,
  ...over,
});

/**
 * Returns options with free ports, one thread, no limits, the database in the data folder, and a log of errors only.
 */
export function testServerOptions(dataDir: string): ServerOptions {
  return {
    ...loadSettings({ flags: { dataDir }, env: {}, cwd: import.meta.dir }).settings,
    port: 0,
    adminPort: 0,
    workers: 1,
    rate: 0,
    burst: 1,
    logLevel: "error",
    version: "0.0.0",
  };
}
