// binary.ts: `npm run build:binary` builds one executable with the command line and all that it starts, and `seeds/`
// beside it.
//
// The executable does not contain the seeds. They take 180 MB, only the first build maps them, and installations that
// get their data from publishers or a channel do not need them.

import {
  cpSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { FEEDS } from "@inkling/compiler/feeds";
import { PROCESS_FLAG, PROCESSES, seedFolder, THREADS } from "@inkling/data/program";
import manifest from "../packages/cli/package.json" with { type: "json" };
import { bundle, DIST, SEPARATOR } from "./bundle.ts";

const ROOT = resolve(import.meta.dir, "..");
/** Targets, with the npm package that contains Bun for each. */
const TARGETS: Readonly<Record<string, string>> = {
  "linux-x64": "@oven/bun-linux-x64",
  "linux-arm64": "@oven/bun-linux-aarch64",
  "linux-x64-musl": "@oven/bun-linux-x64-musl",
  "linux-arm64-musl": "@oven/bun-linux-aarch64-musl",
  "darwin-x64": "@oven/bun-darwin-x64",
  "darwin-arm64": "@oven/bun-darwin-aarch64",
};
const OWN = `${process.platform}-${process.arch}`;

/** The executable's entry point. It runs the command line, unless it was started as one of its processes. */
const ENTRY = `
const [name] = Bun.argv.slice(2);
${Object.keys(PROCESSES)
  .map((name) => `if (name === "${PROCESS_FLAG}${name}") void import("./${name}.js");\nelse `)
  .join("")}void import("./main.js");
`;

export async function buildBinary(target: string, folder: string): Promise<void> {
  const executablePath = target === OWN ? process.execPath : bunFor(target);
  const code = join(DIST, "../dist-binary"); // below packages/cli, so that packages outside the bundle resolve
  let packages: string;
  try {
    await bundle(code);
    writeFileSync(join(code, "inkling.js"), ENTRY);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    await Bun.build({
      entrypoints: ["inkling", ...Object.keys(THREADS)].map((name) => join(code, `${name}.js`)),
      target: "bun",
      format: "esm",
      splitting: true,
      minify: true,
      bytecode: true,
      compile: {
        target: `bun-${target}` as Bun.Build.CompileTarget,
        executablePath,
        outfile: join(folder, "inkling"),
        assets: [join(code, "files")],
        autoloadDotenv: false,
        autoloadBunfig: false,
      },
    });
    packages = readFileSync(join(code, "LICENSES.txt"), "utf8");
  } finally {
    rmSync(code, { recursive: true, force: true });
  }
  for (const name of ["LICENSE", "NOTICE"]) cpSync(join(ROOT, name), join(folder, name));
  writeFileSync(join(folder, "LICENSES.txt"), [...runtimeLicences(), packages].join(SEPARATOR));
  for (const { seed } of FEEDS)
    for (const file of seed === undefined ? [] : [...seed.files, "package.json"]) {
      const path = join(folder, "seeds", seed!.package, file);
      mkdirSync(dirname(path), { recursive: true });
      linkOrCopy(join(seedFolder(seed!.package), file), path);
    }
}

/** Returns the licences of Bun, whose npm package has no licence text, and of the libraries inside it. */
function runtimeLicences(): string[] {
  const read = (name: string) => readFileSync(join(ROOT, "scripts/runtime-licence", name), "utf8");
  const notice = read("notice.txt").replaceAll("{version}", manifest.dependencies.bun);
  return [notice, read("LGPL-2.txt"), read("LGPL-2.1.txt")];
}

/**
 * Links a file, or copies it to another file system. Links are safe, because npm replaces these files as a whole and
 * never writes to them.
 */
function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    cpSync(from, to); // another file system
  }
}

/** Downloads Bun for another machine from npm. @throws Error if there is no such target, or npm fails */
function bunFor(target: string): string {
  const name = TARGETS[target];
  if (name === undefined) throw new Error(`there is no target ${target}: ${Object.keys(TARGETS).join(", ")}`);
  const folder = mkdtempSync(join(tmpdir(), "inkling-bun-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const options = ["--force", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", folder];
  const npm = Bun.spawnSync(["npm", "install", ...options, `${name}@${manifest.dependencies.bun}`], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (!npm.success) throw new Error(`npm cannot install ${name}`);
  return join(folder, "node_modules", name, "bin/bun");
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({ options: { out: { type: "string" } }, allowPositionals: true });
  const [target = OWN] = positionals;
  const folder = values.out ?? join(ROOT, "binaries", target);
  await buildBinary(target, folder);
  const size = Math.round(statSync(join(folder, "inkling")).size / 1e6);
  process.stdout.write(`${join(folder, "inkling")}: ${size} MB\n`);
}
