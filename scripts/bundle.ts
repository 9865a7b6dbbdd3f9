// bundle.ts: bundles the command line and all that it starts into JavaScript files for Bun. npm installs these as
// @inkling/cli, and binary.ts compiles them into an executable.

import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { codeDigest } from "@inkling/compiler/inputs";
import { bundleConsole } from "@inkling/console/bundle";
import { PACKAGE_FILES, PROCESSES, packageFile, THREADS } from "@inkling/data/program";
import { formSchemas } from "@inkling/operations/form-schemas";
import manifest from "../packages/cli/package.json" with { type: "json" };

const PACKAGES = resolve(import.meta.dir, "../packages");
export const DIST = join(PACKAGES, "cli/dist");
/** Folders that the code reads with `programFile`. */
const FILES = ["compiler/data"];
/** Separates two licences. */
export const SEPARATOR = `\n${"-".repeat(80)}\n\n`;
export const ENTRIES = { main: "cli/src/main.ts", ...PROCESSES, ...THREADS };

/** @param out a folder, which is created again; the bundle resolves npm packages from there */
export async function bundle(out: string = DIST): Promise<void> {
  process.chdir(PACKAGES); // names of files in a bundle depend on the working folder
  rmSync(out, { recursive: true, force: true });
  let inputs: string[];
  const entries = mkdtempSync(join(tmpdir(), "inkling-entries-"));
  try {
    for (const [name, path] of Object.entries(ENTRIES))
      writeFileSync(join(entries, `${name}.ts`), `import ${JSON.stringify(join(PACKAGES, path))};\n`);
    const { metafile } = await Bun.build({
      entrypoints: Object.keys(ENTRIES).map((name) => join(entries, `${name}.ts`)),
      outdir: out,
      naming: { entry: "[name].js", chunk: "chunk-[hash].js" },
      target: "bun",
      splitting: true,
      minify: { whitespace: true, syntax: true }, // keeps names for stack traces
      external: Object.keys(manifest.dependencies),
      define: { IS_BUNDLE: "true", CODE_DIGEST: JSON.stringify(codeDigest()) },
      metafile: true,
    });
    inputs = Object.keys(metafile!.inputs);
  } finally {
    rmSync(entries, { recursive: true });
  }
  for (const path of FILES) cpSync(join(PACKAGES, path), join(out, "files", path), { recursive: true });
  for (const path of PACKAGE_FILES) cpSync(packageFile(path), join(out, "files", path), { recursive: true });
  mkdirSync(join(out, "files/console"));
  const pages = await bundleConsole(formSchemas());
  for (const [name, bytes] of pages.files) writeFileSync(join(out, "files/console", name), bytes);
  writeFileSync(
    join(out, "LICENSES.txt"),
    licences([...inputs, ...pages.inputs, ...PACKAGE_FILES.map(packageFile)]),
  );
}

/**
 * Returns the name, version, licence and notices of every npm package with a file in the bundle.
 * @throws Error if a package has no licence
 */
function licences(inputs: readonly string[]): string {
  const folders = new Set(
    inputs.flatMap((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []),
  );
  return [...folders]
    .sort()
    .map((path) => {
      const folder = resolve(path);
      const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      const entries = readdirSync(folder);
      const texts = [
        entries.find((entry) => /^(licen[cs]e|copying)/i.test(entry)),
        entries.find((entry) => /^notice/i.test(entry)),
        // the licences of what a package has bundled into a file
        ...inputs
          .filter((input) => resolve(input, "..") === folder)
          .map((input) => entries.find((entry) => entry === `${basename(input)}.LICENSE.txt`)),
      ].filter((entry) => entry !== undefined);
      if (typeof license !== "string") throw new Error(`${name} has no licence`);
      const text = texts.map((entry) => `\n${readFileSync(join(folder, entry), "utf8").trim()}\n`);
      return `${name} ${version}: ${license}\n${text.join("")}`;
    })
    .join(SEPARATOR);
}

if (import.meta.main) await bundle(process.argv[2]);
