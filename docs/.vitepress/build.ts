// build.ts: `npm run docs` builds the documentation as a site in docs/.vitepress/dist. `npm run docs -- preview` serves
// it.

import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { openApiJson } from "../../packages/server/src/api/openapi.ts";
import { copiesOf, folderPage, llmsText, pageFile, pageText, SOURCES } from "./pages.ts";
import { type OpenApi, referencePage } from "./reference.ts";

const HERE = import.meta.dir;
const ROOT = resolve(HERE, "../..");
const PAGES = join(HERE, "pages");
const DIST = join(HERE, "dist");

function write(path: string, text: string): void {
  const file = join(PAGES, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const isFolder = (path: string) => statSync(join(ROOT, path)).isDirectory();

/** Files of the project below a folder, without what builds and tests leave behind. */
function filesIn(folder: string): string[] {
  const command = ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard"];
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command, folder], { cwd: ROOT });
  if (exitCode !== 0) throw new Error(`git cannot list ${folder}: ${stderr}`);
  return stdout.toString().split("\n").filter(Boolean).sort();
}

function copy(path: string, to: string): void {
  const target = join(PAGES, "public", to);
  mkdirSync(dirname(target), { recursive: true });
  cpSync(join(ROOT, path), target, { dereference: true });
}

/** Writes the source of every page, and copies what pages show and link to. */
function writePages(): void {
  rmSync(PAGES, { recursive: true, force: true });
  const files = new Set<string>();
  const folders = new Set<string>();
  for (const source of SOURCES) {
    const page = pageText(source, readFileSync(join(ROOT, source), "utf8"), isFolder);
    write(pageFile(source), page);
    write(`public/${pageFile(source)}`, page);
    const copies = copiesOf(page);
    for (const file of copies.files) files.add(file);
    for (const folder of copies.folders) folders.add(folder);
    for (const image of copies.images) copy(image, `images/${image}`);
  }
  for (const folder of folders) {
    const listed = filesIn(folder);
    for (const file of listed) files.add(file);
    write(`source/${folder}/index.md`, `---\nsearch: false\n---\n\n${folderPage(folder, listed)}`);
  }
  for (const file of files) copy(file, `source/${file}.txt`);
  const { version, description } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  write("public/llms.txt", llmsText(description));
  const document = openApiJson(version);
  write("reference.md", referencePage(JSON.parse(document) as OpenApi));
  write("public/openapi.json", document);
}

/** Pages of the built site that show a marker of a generated section. */
const pagesWithMarkers = (): string[] =>
  [...new Bun.Glob("**/*.html").scanSync(DIST)].filter((path) =>
    /&lt;!--\s*(?:generated|measured|end)\b/.test(readFileSync(join(DIST, path), "utf8")),
  );

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
if (!["build", "preview", "pages", "check"].includes(command)) {
  process.stderr.write(
    "npm run docs: build (the default), preview, pages (only their Markdown), or check (the built site in a browser)\n",
  );
  process.exit(2);
}
if (["build", "pages"].includes(command)) writePages();
if (["build", "preview"].includes(command)) {
  if (!isInstalled()) {
    process.stderr.write("installing VitePress (100 MB, once)\n");
    run(["npm", "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"], HERE);
  }
  run(["node", join(HERE, "node_modules/vitepress/bin/vitepress.js"), command, "docs"], ROOT);
}
if (command === "build") {
  const marked = pagesWithMarkers();
  if (marked.length > 0) {
    process.stderr.write(`these pages show a marker: ${marked.join(", ")}\n`);
    process.exit(1);
  }
}
if (command === "check") {
  const { checkSite } = await import("./check.ts");
  const problems = await checkSite(DIST);
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.exit(problems.length > 0 ? 1 : 0);
}
