// imports.test.ts: tests the import rules between packages and between folders of a package, and that there are no
// cycles. Type-only imports count.
//
// Each rule is a function of files, and also runs on made-up files that break it.

import { describe, expect, test } from "bun:test";
import { dirname, relative, resolve } from "node:path";
import {
  type ProjectFile as File,
  importsOf,
  made as madeFile,
  packageOf,
  projectFiles,
  ROOT,
} from "./harness/project-files.ts";

/** Our packages that each package may import. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  engine: ["contract"],
  data: ["contract", "engine"],
  compiler: ["contract", "engine", "data"],
  store: ["contract", "engine", "data"],
  operations: ["contract", "engine", "data", "store"],
  server: ["contract", "engine", "data", "store", "operations"],
  client: [],
  console: ["contract"],
  local: ["contract", "engine", "data", "client"],
  bulk: ["contract", "engine", "data"],
  cli: ["contract", "engine", "data", "compiler", "store", "operations", "server", "bulk", "console"],
};

/** Packages from which only types may be imported, and nothing that exists at run time. */
const TYPES_OF: Readonly<Record<string, readonly string[]>> = { console: ["operations"] };

/**
 * The folders of a package in order. A folder imports folders before it, never folders after it or beside it.
 */
const FOLDERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  engine: [["text"], ["address"], ["email"], ["segment"], ["overrides"], ["lookup"], ["assess"], ["."]],
  compiler: [
    ["catalog"],
    ["mmdb"],
    ["parse"],
    ["policy"],
    ["place"],
    ["geo"],
    ["fetch"],
    ["validate"],
    ["network"],
    ["segments"],
    ["pipeline"],
    ["."],
  ],
  store: [["text"], ["keys"], ["overrides", "rulesets", "decisions"], ["."]],
  server: [
    ["http", "telemetry", "sharing", "openapi"],
    ["limits", "mx", "releases"],
    ["lookup"],
    ["batch", "decisions", "webhooks"],
    ["api", "admin"],
    ["run"],
  ],
  cli: [["terminal"], ["config"], ["runtime"], ["commands"], ["."]],
};

const isTest = (path: string) => /\.(test|testing)\.tsx?$/.test(path);
const isSource = ({ path }: File) => /^packages\/[^/]+\/src\/.*\.(tsx?|mjs|js)$/.test(path) && !isTest(path);

/** Imports that exist at run time. `import { type A }` counts, because the module is loaded. */
function valueImportsOf({ path, text }: File): string[] {
  return importsOf({
    path,
    text: text.replace(/^\s*(?:import|export) type\b[^"';]*?\bfrom\s*"[^"]+"/gm, ""),
  });
}

/** Returns the path of the file that a relative import names; undefined for a package. */
function targetOf(file: File, specifier: string): string | undefined {
  if (!specifier.startsWith(".")) return undefined;
  return relative(ROOT, resolve(ROOT, dirname(file.path), specifier)).replaceAll("\\", "/");
}

const folderOf = (path: string) => /^packages\/[^/]+\/src\/([^/]+)\//.exec(path)?.[1] ?? ".";

/** Imports of another package that the table does not allow, or that bypass its entry point. */
function wrongPackages(all: readonly File[]): string[] {
  return all.flatMap((file) => {
    const own = packageOf(file.path);
    return importsOf(file).flatMap((specifier) => {
      const other = /^@inkling\/([^/]+)/.exec(specifier)?.[1];
      const isType = TYPES_OF[own]?.includes(other ?? "") && !valueImportsOf(file).includes(specifier);
      if (other !== undefined && !isType && !PACKAGES[own]?.includes(other))
        return [`${file.path} imports ${specifier}`];
      const target = targetOf(file, specifier);
      const leaves = target !== undefined && !target.startsWith(`packages/${own}/`);
      return leaves ? [`${file.path} leaves its package: ${specifier}`] : [];
    });
  });
}

/** Imports of a folder after or beside the importing folder. */
function wrongFolders(all: readonly File[]): string[] {
  return all.flatMap((file) => {
    const own = packageOf(file.path);
    const order = FOLDERS[own];
    if (order === undefined) return [];
    const rank = (path: string) => order.findIndex((folders) => folders.includes(folderOf(path)));
    if (rank(file.path) < 0) return [`${file.path}: its folder has no rank`];
    return importsOf(file).flatMap((specifier) => {
      const target = targetOf(file, specifier);
      if (target === undefined || packageOf(target) !== own || !target.includes("/src/")) return [];
      const isAllowed = folderOf(target) === folderOf(file.path) || rank(target) < rank(file.path);
      return isAllowed ? [] : [`${file.path} imports ${target}`];
    });
  });
}

/** Groups of files that import each other in a cycle, one group on each line. */
function cycles(all: readonly File[]): string[] {
  const known = new Set(all.map(({ path }) => path));
  const graph = new Map(
    all.map((file) => [
      file.path,
      importsOf(file)
        .map((specifier) => targetOf(file, specifier))
        .filter((target): target is string => target !== undefined && known.has(target)),
    ]),
  );
  const found: string[] = [];
  const state = new Map<string, "open" | "done">();
  const visit = (path: string, trail: readonly string[]) => {
    if (state.get(path) === "done") return;
    if (state.get(path) === "open") {
      found.push([...trail.slice(trail.indexOf(path)), path].join(" -> "));
      return;
    }
    state.set(path, "open");
    for (const target of graph.get(path) ?? []) visit(target, [...trail, path]);
    state.set(path, "done");
  };
  for (const path of graph.keys()) visit(path, []);
  return found;
}

const files = projectFiles().filter(isSource);
const made = (path: string, text: string) => madeFile(`packages/${path}`, text);

test("there is something to look at", () => {
  expect(files.length).toBeGreaterThan(200);
  expect(files.flatMap(importsOf).length).toBeGreaterThan(1_000);
});

describe("packages", () => {
  test("import only what they may", () => expect(wrongPackages(files)).toEqual([]));
  test("have a row each", () => {
    expect([...new Set(files.map(({ path }) => packageOf(path)))].sort()).toEqual(
      Object.keys(PACKAGES).sort(),
    );
  });
  const broken: [what: string, file: File][] = [
    ["server -> compiler", made("server/src/a.ts", 'import { build } from "@inkling/compiler";')],
    ["a type", made("server/src/a.ts", 'import type { Feed } from "@inkling/compiler/feed";')],
    ["engine -> compiler", made("engine/src/a.ts", 'export * from "@inkling/compiler";')],
    ["anything -> cli", made("compiler/src/a.ts", 'await import("@inkling/cli");')],
    ["over several lines", made("engine/src/a.ts", 'import {\n  a,\n  b,\n} from "@inkling/server";')],
    ["console -> server", made("console/src/a.ts", 'import { a } from "@inkling/server/answers";')],
    ["beside a type", made("console/src/a.ts", 'import { type A } from "@inkling/server/answers";')],
    ["a type of another", made("console/src/a.ts", 'import type { A } from "@inkling/engine";')],
    ["by a path", made("server/src/a.ts", 'import { x } from "../../compiler/src/x.ts";')],
  ];
  test.each(broken)("a wrong import is found: %s", (_, file) =>
    expect(wrongPackages([file])).toHaveLength(1),
  );
  test("the console may import types of the operations", () => {
    const file = made("console/src/a.ts", 'import type { A } from "@inkling/operations";');
    expect(wrongPackages([file])).toEqual([]);
  });
});

describe("folders", () => {
  test("import only those before them", () => expect(wrongFolders(files)).toEqual([]));
  const broken: [what: string, file: File][] = [
    ["upwards", made("server/src/limits/a.ts", 'import { App } from "../api/app.ts";')],
    ["beside", made("server/src/api/a.ts", 'import type { x } from "../admin/app.ts";')],
    ["a later layer", made("server/src/api/a.ts", 'import { x } from "../run/server.ts";')],
    ["an unknown folder", made("server/src/misc/a.ts", "")],
  ];
  test.each(broken)("a wrong import is found: %s", (_, file) => expect(wrongFolders([file])).toHaveLength(1));
  test("the right way is not", () => {
    expect(wrongFolders([made("server/src/api/a.ts", 'import { x } from "../limits/rates.ts";')])).toEqual(
      [],
    );
  });
});

describe("cycles", () => {
  test("there are none", () => expect(cycles(files)).toEqual([]));
  test("one is found, of types too, and over three files", () => {
    const two = [
      made("server/src/a.ts", 'import type { B } from "./b.ts";'),
      made("server/src/b.ts", 'import { a } from "./a.ts";'),
    ];
    expect(cycles(two)).toHaveLength(1);
    const three = [
      made("server/src/x/a.ts", 'import "../y/b.ts";'),
      made("server/src/y/b.ts", 'export * from "../z/c.ts";'),
      made("server/src/z/c.ts", 'await import("../x/a.ts");'),
    ];
    expect(cycles(three)).toEqual([
      "packages/server/src/x/a.ts -> packages/server/src/y/b.ts -> packages/server/src/z/c.ts -> packages/server/src/x/a.ts",
    ]);
    expect(cycles(three.slice(0, 2))).toEqual([]);
  });
});
