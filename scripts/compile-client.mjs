// compile-client.mjs: compiles @inkling/client for `npm pack`, in seconds from a fresh clone.
//
// It needs only TypeScript, which npm fetches if the developers' tools are not installed. Those are 430 packages, and
// the client uses none of them. Types are checked by `npm run typecheck`, because that needs the frameworks.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { binary, ROOT } from "./install.mjs";

const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const installed = binary("tsc");
const [command, ...args] = existsSync(installed)
  ? [installed]
  : ["npm", "exec", "--yes", `--package=typescript@${devDependencies.typescript}`, "--", "tsc"];
const cwd = join(ROOT, "packages/client");
rmSync(join(cwd, "dist"), { recursive: true, force: true });
const shell = process.platform === "win32";
// npm reads standard output as the archive's name, so the compiler writes to standard error.
const { status } = spawnSync(command, [...args, "-p", ".", "--noCheck"], {
  cwd,
  stdio: ["ignore", 2, 2],
  shell,
});
process.exitCode = status ?? 1;
