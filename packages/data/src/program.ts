// program.ts: finds the program's own files, its seeds and the modules of its processes. The program runs from a clone,
// from the bundle that npm installs (@inkling/cli), or as a binary.
//
// A bundle has all code in one folder, with `files/` inside it (scripts/bundle.ts). A binary contains that folder, and
// `seeds/` is next to the binary.

import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** Defined only in a bundle. */
declare const IS_BUNDLE: true | undefined;

export const FORM =
  typeof IS_BUNDLE === "undefined" ? "clone" : Bun.isStandaloneExecutable ? "binary" : "package";

/** The flags that the command-line launcher passes to Bun. A binary is compiled with equivalent flags. */
const BUN_FLAGS: readonly string[] = ["--no-install", "--no-env-file", "--config=/dev/null"];

/**
 * Processes that the command starts, with their modules in `packages/`. scripts/bundle.ts creates an entry point for
 * each.
 */
export const PROCESSES = {
  compiler: "compiler/src/pipeline/main.ts",
} as const;
export const THREADS = {
  worker: "server/src/run/worker.ts",
  enrich: "bulk/src/enrich/worker.ts",
  verify: "server/src/releases/verify-thread.ts",
} as const;

/** Files of npm packages that come with the program. */
export const PACKAGE_FILES = [
  "swagger-ui-dist/swagger-ui.css",
  "swagger-ui-dist/swagger-ui-bundle.js",
] as const;

/** The argument that makes a binary run one of the program's processes. It is not for users. */
export const PROCESS_FLAG = "--inkling-process=";

const PACKAGES = resolve(import.meta.dir, "../..");

/** Returns the command that starts one of the program's processes. */
export function processCommand(name: keyof typeof PROCESSES): string[] {
  if (FORM === "binary") return [process.execPath, PROCESS_FLAG + name];
  return moduleCommand(
    FORM === "package" ? join(import.meta.dir, `${name}.js`) : join(PACKAGES, PROCESSES[name]),
  );
}

/** Returns the command that runs a module. */
export function moduleCommand(path: string): string[] {
  return [process.execPath, ...BUN_FLAGS, path];
}

/** Returns the module that a thread runs, for `new Worker`. */
export function threadModule(name: keyof typeof THREADS): string {
  return FORM === "clone" ? join(PACKAGES, THREADS[name]) : join(import.meta.dir, `${name}.js`);
}

/** Returns the path of a file that comes with the program. @param path the path of the file's source in `packages/` */
export function programFile(path: string): string {
  return join(FORM === "clone" ? PACKAGES : join(import.meta.dir, "files"), path);
}

/** Returns the path of a file of an npm package. */
export function packageFile(path: (typeof PACKAGE_FILES)[number]): string {
  return FORM === "clone" ? Bun.resolveSync(path, join(PACKAGES, "server")) : programFile(path);
}

/** Are there seeds? Only a binary can be without them. */
export const HAS_SEEDS = FORM !== "binary" || existsSync(join(dirname(process.execPath), "seeds"));

/**
 * Finds the folder of an npm package that contains seeds.
 * @throws Error if a bundle or clone does not contain the package
 */
export function seedFolder(name: string): string {
  if (FORM === "binary") return join(dirname(process.execPath), "seeds", name);
  return dirname(
    Bun.resolveSync(`${name}/package.json`, FORM === "clone" ? join(PACKAGES, "compiler") : import.meta.dir),
  );
}
