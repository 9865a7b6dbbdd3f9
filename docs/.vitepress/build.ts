// build.ts: `npm run docs` builds the documentation as a site in docs/.vitepress/dist. `npm run docs -- preview` serves
// it.
//
// err  exit code 1 where a link leads nowhere, or npm cannot install VitePress

import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { openApiJson } from "../../packages/server/src/openapi/public.ts";
import { pageFile, pageText, SOURCES } from "./pages.ts";
import { type OpenApi, referencePage } from "./reference.ts";

const HERE = import.meta.dir;
const ROOT = resolve(HERE, "../..");
const PAGES = join(HERE, "pages");

function write(path: string, text: string): void {
  const file = join(PAGES, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Writes the source of every page. */
function writePages(): void {
  rmSync(PAGES, { recursive: true, force: true });
  for (const source of SOURCES) {
    write(pageFile(source), pageText(source, readFileSync(join(ROOT, source), "utf8")));
  }
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const document = openApiJson(version);
  write("reference.md", referencePage(JSON.parse(document) as OpenApi));
  write("public/openapi.json", document);
}

function isInstalled(): boolean {
  const [installed, lock] = ["node_modules/.package-lock.json", "package-lock.json"].map((name) =>
    join(HERE, name),
  );
  return existsSync(installed!) && statSync(installed!).mtimeMs >= statSync(lock!).mtimeMs;
}

function run(command: readonly string[], cwd: string): void {
  const { exitCode } = Bun.spawnSync([...command], { cwd, stdio: ["inherit", "inherit", "inherit"] });
  if (exitCode !== 0) process.exit(exitCode || 1);
}

const [command = "build"] = process.argv.slice(2);
if (!["build", "preview", "pages"].includes(command)) {
  process.stderr.write("npm run docs: build (the default), preview, or pages (their Markdown alone)\n");
  process.exit(2);
}
if (command !== "preview") writePages();
if (command !== "pages") {
  if (!isInstalled()) {
    process.stderr.write("installing VitePress (100 MB, once)\n");
    run(["npm", "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"], HERE);
  }
  run(["node", join(HERE, "node_modules/vitepress/bin/vitepress.js"), command, "docs"], ROOT);
}
