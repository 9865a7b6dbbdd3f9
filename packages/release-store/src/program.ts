// program.ts: where the program's own files, processes and seeds are: in a clone, in the bundle that npm installs
// (@inkling/cli), in a binary.
//
// A bundle has all code in one folder, and `files/` beside it (scripts/bundle.ts); a binary contains that folder, and has
// `seeds/` beside it.

import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** Defined in a bundle only. */
declare const IS_BUNDLE: true | undefined;

export const FORM =
  typeof IS_BUNDLE === "undefined" ? "clone" : Bun.isStandaloneExecutable ? "binary" : "package";

/** As the launcher of the command line starts Bun; a binary is compiled with their like. */
const BUN_FLAGS: readonly string[] = ["--no-install", "--no-env-file", "--config=/dev/null"];

/** What runs beside the command, by its module in `packages/`; scripts/bundle.ts makes an entry point of each. */
export const PROCESSES = {
  compiler: "compiler/src/pipeline/main.ts",
  worker: "server/src/cluster/worker-main.ts",
  verify: "server/src/releases/verify-process.ts",
  diff: "server/src/releases/diff-process.ts",
  lookup: "server/src/admin/lookup-process.ts",
} as const;
export const THREADS = { enrich: "bulk/src/enrich/worker.ts" } as const;

/** The argument that makes a binary run one of its processes; not for users. */
export const PROCESS_FLAG = "--inkling-process=";

const PACKAGES = resolve(import.meta.dir, "../..");

/** The command that starts one of our processes. */
export function processCommand(name: keyof typeof PROCESSES): string[] {
  if (FORM === "binary") return [process.execPath, PROCESS_FLAG + name];
  return moduleCommand(
    FORM === "package" ? join(import.meta.dir, `${name}.js`) : join(PACKAGES, PROCESSES[name]),
  );
}

/** The command that runs a module. */
export function moduleCommand(path: string): string[] {
  return [process.execPath, ...BUN_FLAGS, path];
}

/** The module of a thread, for `new Worker`. */
export function threadModule(name: keyof typeof THREADS): string {
  return FORM === "clone" ? join(PACKAGES, THREADS[name]) : join(import.meta.dir, `${name}.js`);
}

/** The path of a file that comes with the program. @param path of its source in `packages/` */
export function programFile(path: string): string {
  return join(FORM === "clone" ? PACKAGES : join(import.meta.dir, "files"), path);
}

/** Are there seeds? Only a binary may be without. */
export const HAS_SEEDS = FORM !== "binary" || existsSync(join(dirname(process.execPath), "seeds"));

/** The folder of an npm package that has seeds. @throws Error when it is not there */
export function seedFolder(name: string): string {
  if (FORM === "binary") return join(dirname(process.execPath), "seeds", name);
  return dirname(
    Bun.resolveSync(`${name}/package.json`, FORM === "clone" ? join(PACKAGES, "compiler") : import.meta.dir),
  );
}
