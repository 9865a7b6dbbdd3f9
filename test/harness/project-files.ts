// project-files.ts: every text file of the project, for tests of rules that apply to all of them.

import { existsSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

export const ROOT = resolve(import.meta.dir, "../..");

export interface ProjectFile {
  /** The path from the project's folder, with "/". */
  readonly path: string;
  readonly text: string;
}

/** Larger files are data, not text that a person writes. */
const MAX_TEXT_BYTES = 1_000_000;

/**
 * Returns the files that git tracks or would track. Without git (in a tarball), everything except built or installed
 * files.
 */
export function projectPaths(): string[] {
  // The folder may belong to a different user than the one who runs the tests.
  const git = [
    "git",
    "-c",
    "safe.directory=*",
    "ls-files",
    "-z",
    "--cached",
    "--others",
    "--exclude-standard",
  ];
  const listed = Bun.spawnSync(git, { cwd: ROOT, stderr: "ignore" });
  const built = /(^|\/)(node_modules|dist|dist-test|coverage)\/|^(data|\.git)\//;
  const paths = listed.success
    ? listed.stdout.toString().split("\0").filter(Boolean)
    : [...new Bun.Glob("**/*").scanSync({ cwd: ROOT, dot: true })].filter((path) => !built.test(path));
  return paths.filter((path) => existsSync(join(ROOT, path)));
}

export function projectFiles(): ProjectFile[] {
  return projectPaths()
    .filter((path) => statSync(join(ROOT, path)).size <= MAX_TEXT_BYTES)
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }))
    .filter(({ text }) => !text.includes("\0"));
}

/** Returns a made-up file, for example one that breaks a rule. */
export const made = (path: string, text: string): ProjectFile => ({ path, text });

/** Returns the package of a path: "packages/server/src/run/server.ts" -> "server"; "" outside of packages. */
export const packageOf = (path: string): string => /^packages\/([^/]+)\//.exec(path)?.[1] ?? "";

/** Returns code without its comments; strings remain. */
export const withoutComments = (text: string): string =>
  text.replace(/^\s*(\/\/|\*|\/\*).*$/gm, "").replace(/ \/\/ .*$/gm, "");

/** Returns everything that a file imports, including types. */
export function importsOf({ text }: ProjectFile): string[] {
  const pattern =
    /^\s*(?:import|export)\b[^"';]*?\bfrom\s*"([^"]+)"|^\s*import\s*"([^"]+)"|\bimport\(\s*"([^"]+)"/gm;
  return [...withoutComments(text).matchAll(pattern)].map(([, a, b, c]) => (a ?? b ?? c)!);
}
