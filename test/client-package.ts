// client-package.ts: @inkling/client and @inkling/local as npm would install them, in a folder of a test's own.

import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { once } from "./once.ts";

const ROOT = resolve(import.meta.dir, "..");
/** Where the package is made. */
export const CLIENT = join(ROOT, "packages/client");
const INPUTS = ["src", "package.json", "tsconfig.json", "README.md"].map((path) => join(CLIENT, path));

/** What a command printed. @throws Error with all of it when the command fails */
export async function run(command: readonly string[], cwd: string): Promise<string> {
  const child = Bun.spawn([...command], { cwd, stdout: "pipe", stderr: "pipe" });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`${command.slice(0, 3).join(" ")} ended with ${code}:\n${out}${err}`);
  return out;
}

/** npm builds the package before it packs it: two processes that do so at once would read half-written files. */
async function pack(folder: string): Promise<void> {
  const out = await run(["npm", "pack", "--json", "--pack-destination", folder], CLIENT);
  writeFileSync(join(folder, "pack.json"), out.slice(out.indexOf("[")));
}

/**
 * Packs the client and puts it into `project`, beside the frameworks that it supports.
 * @returns the package's files, sorted
 */
export async function installClient(project: string): Promise<readonly string[]> {
  const packed = await once("client", INPUTS, pack);
  const [{ filename, files }] = JSON.parse(readFileSync(join(packed, "pack.json"), "utf8")) as [
    { filename: string; files: readonly { path: string }[] },
  ];
  await run(["tar", "-xzf", join(packed, filename)], project);
  const modules = join(project, "node_modules");
  mkdirSync(join(modules, "@inkling"), { recursive: true });
  cpSync(join(project, "package"), join(modules, "@inkling/client"), { recursive: true });
  for (const name of ["express", "fastify", "hono", "@types"])
    symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  writeFileSync(join(project, "package.json"), '{"type":"module"}');
  return files.map(({ path }) => path).sort();
}

/** @inkling/local, and those of our packages that it needs. */
const LOCAL_PACKAGES = ["engine", "release-store", "local"];
const LOCAL_INPUTS = LOCAL_PACKAGES.flatMap((name) =>
  ["src", "package.json", "tsconfig.json"].map((path) => join(ROOT, "packages", name, path)),
);
const LOCAL_DEPENDENCIES = ["aws4fetch", "punycode", "tldts", "tldts-core", "zod"];

/** Packs @inkling/local, which builds all that it needs, and puts it into `project` beside the client. */
export async function installLocal(project: string): Promise<void> {
  await installClient(project); // before: its files are built by both
  const packed = await once("local", [...INPUTS, ...LOCAL_INPUTS], async (folder) => {
    const to = ["--pack-destination", folder];
    await run(["npm", "pack", "-w", "@inkling/local", ...to], ROOT);
    await run(
      ["npm", "pack", "-w", "@inkling/engine", "-w", "@inkling/release-store", "--ignore-scripts", ...to],
      ROOT,
    );
  });
  const modules = join(project, "node_modules");
  for (const name of LOCAL_PACKAGES) {
    const folder = join(modules, "@inkling", name);
    mkdirSync(folder, { recursive: true });
    const archive = join(packed, `inkling-${name}-0.1.0.tgz`);
    await run(["tar", "-xzf", archive, "-C", folder, "--strip-components=1"], project);
  }
  for (const name of LOCAL_DEPENDENCIES) symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
}
