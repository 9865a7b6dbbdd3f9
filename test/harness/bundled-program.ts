// bundled-program.ts: bundles the command line as npm installs it, once for all test processes.

import { join, resolve } from "node:path";
import { once } from "./once.ts";
import { PUBLISHED, run } from "./published-packages.ts";

const ROOT = resolve(import.meta.dir, "../..");
const INPUTS = [
  ...PUBLISHED.cli.flatMap((name) =>
    ["src", "data", "package.json"].map((path) => `packages/${name}/${path}`),
  ),
  "scripts/bundle.ts",
  "package-lock.json",
].map((path) => join(ROOT, path));

const folder = await once("bundle", INPUTS, async (out) => {
  await run([process.execPath, join(ROOT, "scripts/bundle.ts"), out], ROOT);
});

export const MAIN = join(folder, "main.js");
