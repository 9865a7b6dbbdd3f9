// published-packages.ts: the published packages as npm would install them, in a test's own folder.

import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { once } from "./once.ts";

const ROOT = resolve(import.meta.dir, "../..");
/** The folder in which the package is built. */
export const CLIENT = join(ROOT, "packages/client");

/** The published packages, and the project's packages that each of them contains. */
export const PUBLISHED = {
  client: ["client"],
  local: ["local", "client", "contract", "engine", "data"],
  cli: ["cli", "bulk", "compiler", "console", "contract", "data", "engine", "operations", "server", "store"],
} as const;
type Published = keyof typeof PUBLISHED;

/**
 * Returns a command's output.
 * @throws Error with the whole output if the command fails
 */
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

/**
 * Returns the path of the archive that npm creates from a package. npm builds the package first, which two processes
 * must not do immediately.
 */
export async function archiveOf(name: Published): Promise<string> {
  if (name === "local") await archiveOf("client"); // both packages build the client's files
  const inputs = PUBLISHED[name].flatMap((from) =>
    ["src", "data", "bin", "package.json", "tsconfig.json", "README.md", "MIDDLEWARE.md", "NOTICE"].map(
      (path) => join(ROOT, "packages", from, path),
    ),
  );
  const packed = await once(name, [...inputs, join(ROOT, "scripts/bundle.ts")], async (folder) => {
    await run(["npm", "pack", "-w", `@inkling/${name}`, "--pack-destination", folder], ROOT);
  });
  return join(packed, `inkling-${name}-0.1.0.tgz`);
}

/** Unpacks a package where npm would install it. */
async function install(name: Published, project: string): Promise<void> {
  const folder = join(project, "node_modules/@inkling", name);
  mkdirSync(folder, { recursive: true });
  await run(["tar", "-xzf", await archiveOf(name), "-C", folder, "--strip-components=1"], project);
}

/** Links other publishers' packages, as if npm had installed them. */
function link(names: readonly string[], project: string): void {
  for (const name of names) {
    const path = join(project, "node_modules", name);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", name), path);
  }
}

/**
 * Packs the client and installs it in `project`, beside the frameworks that it supports.
 * @returns the package's files, sorted
 */
export async function installClient(project: string): Promise<readonly string[]> {
  await install("client", project);
  link(["better-auth", "express", "express-4", "fastify", "hono", "@koa/bodyparser", "@types"], project);
  symlinkSync(join(CLIENT, "node_modules/koa"), join(project, "node_modules/koa"));
  writeFileSync(join(project, "package.json"), '{"type":"module"}');
  const files = await run(["tar", "-tzf", await archiveOf("client")], project);
  return files
    .trim()
    .split("\n")
    .map((path) => path.replace("package/", ""))
    .sort();
}

/** Packs @inkling/local and installs it in `project` beside the client. */
export async function installLocal(project: string): Promise<void> {
  await installClient(project);
  await install("local", project);
  const others = ["@marcbachmann/cel-js", "aws4fetch", "punycode", "smol-toml", "tldts", "tldts-core", "zod"];
  link(others, project);
}

/**
 * Packs @inkling/cli and installs it in `project`.
 * @returns the command's path
 */
export async function installCli(project: string): Promise<string> {
  await install("cli", project);
  const folder = join(project, "node_modules/@inkling/cli");
  const { dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  // Includes the `@oven` packages, because the launcher looks for them.
  link([...Object.keys(dependencies), "@oven"], project);
  return join(folder, "bin/inkling");
}

/** Returns the folder with the result of `npm run build:binary` for this machine. */
export function executableFolder(): Promise<string> {
  const inputs = ["packages", "scripts", "package-lock.json"].map((path) => join(ROOT, path));
  return once("binary", inputs, async (folder) => {
    await run([process.execPath, join(ROOT, "scripts/binary.ts"), "--out", folder], ROOT);
  });
}
