import { expect, test } from "bun:test";
import { loadSettings } from "../config/settings.ts";
import { reloadableOptions } from "./run-server.ts";

const rows: [mode: "up" | "serve", watched: boolean, set: string | undefined, level: string][] = [
  ["serve", false, undefined, "access"],
  ["serve", true, undefined, "access"],
  ["up", false, undefined, "access"],
  ["up", true, undefined, "error"],
  ["up", true, "info", "info"],
  ["up", true, "access", "access"],
  ["serve", false, "error", "error"],
];
test.each(rows)("what %s logs, at a terminal %p, set %p: %s", (mode, watched, set, level) => {
  const env: Record<string, string> = set === undefined ? {} : { INKLING_LOG_LEVEL: set };
  const { settings } = loadSettings({ flags: {}, env, cwd: import.meta.dir });
  expect(reloadableOptions(settings, mode, watched).logLevel).toBe(level as "info");
});
