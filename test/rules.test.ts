// rules.test.ts: tests the rules about what each package may use, about package.json, about docs that match the code,
// and about local paths. imports.test.ts has the order of packages and folders. Each rule is a function of files, and
// also runs on made-up files that break it.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { FIELDS, FORMATS } from "@inkling/bulk";
import { FEEDS } from "@inkling/compiler/feeds";
import { AUDIT_ACTIONS, SETTING_NAMES, settingRow, variableName } from "@inkling/contract";
import type { Command } from "commander";
import { namesMatching } from "../packages/bulk/src/fields.ts";
import { makeProgram } from "../packages/cli/src/program.ts";
import { makeStyle } from "../packages/cli/src/terminal/terminal.ts";
import {
  type ProjectFile as File,
  importsOf,
  made,
  packageOf,
  projectFiles,
  projectPaths,
  ROOT,
  withoutComments,
} from "./harness/project-files.ts";

const files = projectFiles();
const isCode = ({ path }: File) => /\.(tsx?|mjs)$/.test(path);
const isTest = ({ path }: File) =>
  /\.test\.ts$/.test(path) || /^(test|bench)\//.test(path) || /^packages\/[^/]+\/test\//.test(path);
const code = files.filter(isCode);

/** Returns the package of an import: "@inkling/engine/x" -> "@inkling/engine", "zod/v4" -> "zod". */
const packageName = (specifier: string) =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");

describe("the engine", () => {
  const ALLOWED = [
    "@marcbachmann/cel-js",
    "@inkling/contract",
    "punycode/punycode.js",
    "tldts",
    "zod",
    "smol-toml",
  ];
  const ALLOWED_IN_TESTS = [
    ...ALLOWED,
    "fast-check",
    "node:test",
    "node:assert/strict",
    "node:fs",
    "node:path",
    "node:url",
    "node:net",
  ];
  /** Clock, random numbers, environment, and features of a single runtime. */
  const IMPURE =
    /\b(?:Bun|process|globalThis|performance|crypto|Buffer|Deno)\b\s*[.[(]|\bDate\.now\b|\bnew Date\b|\bMath\.random\b|\b(?:fetch|setTimeout|setInterval|queueMicrotask)\(|\b(?:window|document)\./;

  const ofEngine = (all: readonly File[]) => all.filter((file) => packageOf(file.path) === "engine");

  function foreignImports(all: readonly File[]): string[] {
    return ofEngine(all).flatMap((file) =>
      importsOf(file)
        .filter((specifier) => !/^\.{1,2}\//.test(specifier)) // imports.test.ts checks these
        .filter((specifier) => !(isTest(file) ? ALLOWED_IN_TESTS : ALLOWED).includes(specifier))
        .map((specifier) => `${file.path} imports ${specifier}`),
    );
  }

  /** Must the file be pure? The policy must be, too: it gets times as arguments. */
  const isPure = (file: File) =>
    packageOf(file.path) === "engine" || file.path.startsWith("packages/compiler/src/policy/");

  function impurities(all: readonly File[]): string[] {
    return all
      .filter((file) => isPure(file) && !isTest(file))
      .flatMap((file) =>
        withoutComments(file.text)
          .split("\n")
          .filter((line) => IMPURE.test(line))
          .map((line) => `${file.path}: ${line.trim()}`),
      );
  }

  test("imports nothing specific to one runtime", () => expect(foreignImports(code)).toEqual([]));
  test("reads no clock, random numbers, files or environment; nor does policy", () =>
    expect(impurities(code)).toEqual([]));

  const imports: [path: string, text: string][] = [
    ["packages/engine/src/a.ts", 'import { existsSync, readFileSync, statSync } from "node:fs";'],
    ["packages/engine/src/a.ts", 'import { x } from "commander";'],
    ["packages/engine/src/a.test.ts", 'import { test } from "bun:test";'],
  ];
  test.each(imports)("a foreign import is found: %s %s", (path, text) => {
    expect(foreignImports([made(path, text)])).toHaveLength(1);
  });

  const lines = [
    "Bun.mmap(path)",
    "Date.now()",
    "new Date()",
    "Math.random()",
    "performance.now()",
    "process.cwd()",
    "fetch(url)",
    "crypto.subtle",
    "Buffer.from(x)",
  ];
  test.each(lines)("an impurity is found: %s", (line) => {
    expect(impurities([made("packages/engine/src/a.ts", `const x = ${line};`)])).toHaveLength(1);
    expect(impurities([made("packages/compiler/src/policy/a.ts", `const x = ${line};`)])).toHaveLength(1);
    expect(impurities([made("packages/engine/src/a.ts", `// ${line}`)])).toEqual([]);
  });
});

describe("the client", () => {
  const isOwn = (path: string, specifier: string) =>
    specifier.startsWith(".") && join(dirname(path), specifier).startsWith("packages/client/src/");
  const foreignImports = (all: readonly File[]) =>
    all
      .filter((file) => packageOf(file.path) === "client" && !isTest(file))
      .flatMap((file) =>
        importsOf(file)
          .filter((specifier) => !isOwn(file.path, specifier))
          .map((specifier) => `${file.path} imports ${specifier}`),
      );

  test("imports nothing", () => expect(foreignImports(code)).toEqual([]));
  test.each(["node:http", "zod", "express", "@inkling/engine", "../../engine/src/ip.ts"])(
    "an import is found: %s",
    (specifier) => {
      const text = `import type { x } from "${specifier}";`;
      expect(foreignImports([made("packages/client/src/a.ts", text)])).toHaveLength(1);
      expect(foreignImports([made("packages/client/src/a.test.ts", text)])).toEqual([]);
    },
  );
});

describe("the environment", () => {
  // The launcher passes the environment to its child, and reads from it whether npm is its parent.
  const READERS = ["packages/cli/src/config/environment.ts", "packages/cli/bin/launch.mjs"];
  const READS = /\bprocess\.env\b|\bBun\.env\b|\bimport\.meta\.env\b|\benv\s*\}\s*=\s*process\b/;

  const readers = (all: readonly File[]) =>
    all
      .filter(
        (file) => !isTest(file) && !/^(scripts|examples)\//.test(file.path) && !READERS.includes(file.path),
      )
      .filter(({ text }) => READS.test(withoutComments(text)))
      .map(({ path }) => path);

  test("is read in one file", () => expect(readers(code)).toEqual([]));

  test.each(["process.env.HOME", "Bun.env.HOME", "const { env } = process"])(
    "a read is found: %s",
    (text) => {
      expect(readers([made("packages/server/src/a.ts", text)])).toEqual(["packages/server/src/a.ts"]);
      expect(readers([made("packages/server/src/a.test.ts", text)])).toEqual([]);
    },
  );
});

describe("package.json", () => {
  interface Manifest {
    readonly dependencies?: Record<string, string>;
    readonly devDependencies?: Record<string, string>;
  }
  const manifest = (path: string): Manifest => JSON.parse(readFileSync(join(ROOT, path), "utf8"));
  const packages = [...new Set(code.map(({ path }) => packageOf(path)).filter((name) => name !== ""))];
  const shared = Object.keys(manifest("package.json").devDependencies ?? {});
  const isBuiltIn = (specifier: string) => /^(node:|bun:|bun$)/.test(specifier);

  /** True if nothing from the package is needed at run time. */
  const isTypeOnly = ({ text }: File, name: string) =>
    [...text.matchAll(/^(import|export)( type)?\b[^;]*?"([^"]+)";/gm)]
      .filter(([, , , specifier]) => packageName(specifier!) === name)
      .every(([, , type]) => type !== undefined);

  function unlisted(
    all: readonly File[],
    own: string,
    listed: readonly string[],
    listedForTests: readonly string[] = [],
  ): string[] {
    return all
      .filter((file) => packageOf(file.path) === own)
      .flatMap((file) =>
        importsOf(file)
          .filter((specifier) => !specifier.startsWith(".") && !isBuiltIn(specifier))
          .map(packageName)
          .filter((name) => name !== `@inkling/${own}` && !listed.includes(name))
          .filter((name) => !(isTest(file) && [...shared, ...listedForTests].includes(name)))
          .filter((name) => !(listedForTests.includes(name) && isTypeOnly(file, name)))
          .map((name) => `${file.path} imports ${name}`),
      );
  }

  /**
   * Packages that contain their devDependencies when npm installs them. As dependencies they list the
   * packages that remain outside.
   */
  const BUNDLES = ["cli", "local"];
  const SEEDS = FEEDS.flatMap(({ seed }) => seed?.package ?? []);

  test.each(packages)("of %s lists what it imports, and nothing else", (own) => {
    const { dependencies = {}, devDependencies = {} } = manifest(`packages/${own}/package.json`);
    const isBundle = BUNDLES.includes(own);
    const listed = Object.keys(dependencies);
    const bundled = Object.keys(devDependencies);
    expect(unlisted(code, own, isBundle ? [...listed, ...bundled] : listed, bundled)).toEqual([]);
    if (isBundle) return;
    const text = code
      .filter((file) => packageOf(file.path) === own)
      .map((file) => file.text)
      .join("\n");
    expect(listed.filter((name) => !text.includes(`"${name}`) && !text.includes(`\`${name}/`))).toEqual([]);
  });

  test("of what is published lists all that is not in its bundle: the seeds, what `local` leaves to npm", () => {
    const listed = (own: string) => Object.keys(manifest(`packages/${own}/package.json`).dependencies ?? {});
    const cli = ["bun", "commander", "smol-toml"];
    expect(listed("cli").sort()).toEqual([...cli, ...new Set(SEEDS)].sort());
    const inBundle = ["contract", "engine", "data"];
    const local = ["client", ...inBundle].map((name) => `@inkling/${name}`);
    expect(listed("local").sort()).toEqual(
      [...new Set([...local, ...inBundle.flatMap(listed)])]
        .filter((name) => !/contract|engine|data/.test(name))
        .sort(),
    );
  });

  test("an import that is not listed is found", () => {
    const file = made("packages/server/src/a.ts", 'import x from "@scope/left-pad/deep";');
    const found = ["packages/server/src/a.ts imports @scope/left-pad"];
    expect(unlisted([file], "server", ["zod"])).toEqual(found);
    expect(unlisted([file], "server", ["zod"], ["@scope/left-pad"])).toEqual(found); // only for tests
    const types = made("packages/server/src/a.ts", 'import type { X } from "@scope/left-pad";');
    expect(unlisted([types], "server", ["zod"], ["@scope/left-pad"])).toEqual([]);
    expect(unlisted([types], "server", ["zod"])).toEqual(found);
  });

  test("versions are exact, and the same everywhere", () => {
    const seen = new Map<string, string>();
    for (const path of ["package.json", ...packages.map((name) => `packages/${name}/package.json`)]) {
      const { dependencies, devDependencies } = manifest(path);
      for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
        expect(`${name} ${version}`).toMatch(/ (npm:[\w-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/);
        expect(`${name} ${seen.get(name) ?? version}`).toBe(`${name} ${version}`);
        seen.set(name, version);
      }
    }
    expect(seen.size).toBeGreaterThan(10);
  });

  interface Locked {
    readonly dependencies?: Record<string, string>;
    readonly optionalDependencies?: Record<string, string>;
  }

  /**
   * Dependencies that `npm ci` reports as out of sync: of any platform, and in no folder above their user.
   */
  function missingFromLock(packages: Record<string, Locked>): string[] {
    const isLocked = (folder: string, name: string): boolean => {
      if (packages[`${folder}${folder === "" ? "" : "/"}node_modules/${name}`] !== undefined) return true;
      return (
        folder !== "" && isLocked(folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/"))), name)
      );
    };
    return Object.entries(packages).flatMap(([path, { dependencies, optionalDependencies }]) =>
      Object.keys({ ...dependencies, ...optionalDependencies })
        .filter((name) => !isLocked(path, name))
        .map((name) => `${path} needs ${name}`),
    );
  }

  test("package-lock.json has all that `npm ci` needs, on every platform", () => {
    const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
    expect(missingFromLock(packages)).toEqual([]);
  });

  test("a dependency that is missing from the lock file is found", () => {
    const tool = { optionalDependencies: { "tool-macos": "1.0.0" } };
    expect(missingFromLock({ "node_modules/tool": tool })).toEqual(["node_modules/tool needs tool-macos"]);
    expect(missingFromLock({ "node_modules/tool": tool, "node_modules/tool-macos": {} })).toEqual([]);
    expect(missingFromLock({ "a/node_modules/tool": tool, "node_modules/tool-macos": {} })).toEqual([]);
    expect(missingFromLock({ "node_modules/tool": tool, "a/node_modules/tool-macos": {} })).toEqual([
      "node_modules/tool needs tool-macos",
    ]);
  });
});

const program = await makeProgram({
  terminal: { out: () => {}, err: () => {}, live: false, columns: 80, style: makeStyle(false) },
  env: {},
  cwd: ROOT,
  version: "0.0.0",
  stopper: { signal: new AbortController().signal, release: () => {} },
  ending: { exitCode: 0 },
});

describe("options", () => {
  const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)];
  /** Options whose value is a list, by the name of the value: `<names>`, `<list>`. */
  const lists = all(program).flatMap(({ options }) =>
    options.filter(
      ({ flags }) => /<(list|\w+s(\.\.\.)?)>/.test(flags) && !/<(hours|days|address)>/.test(flags),
    ),
  );

  test("a repeated option that takes a list keeps all its values", () => {
    const kept = lists.map(({ flags, variadic, parseArg }) => {
      const first = parseArg?.("a", undefined);
      return [flags, variadic || [parseArg?.("b", first)].flat().join() === "a,b"];
    });
    expect(kept.length).toBeGreaterThan(12);
    expect(kept.filter(([, isKept]) => !isKept)).toEqual([]);
  });
});

describe("docs match the code", () => {
  /** All commands, such as "data update", including groups. */
  const commands = program.commands.flatMap((command) => [
    command.name(),
    ...command.commands.map((inner) => `${command.name()} ${inner.name()}`),
  ]);
  const groups = program.commands
    .filter((command) => command.commands.length > 0)
    .map((command) => command.name());
  const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

  /** Does the page have a table row that begins with this text? */
  const hasRow = (path: string, start: string) =>
    read(path)
      .split("\n")
      .some((line) => line.startsWith(`| ${start}`));
  test.each(FORMATS.map(({ name }) => name))("docs/exports.md has a row for %s", (name) =>
    expect([name, hasRow("docs/exports.md", `\`${name}\` `)]).toEqual([name, true]),
  );
  test("docs/accuracy.md says of each exported column whether it is measured", () => {
    const section = read("docs/accuracy.md").split("## By column")[1]!.split("\n## ")[0]!;
    const patterns = [...section.matchAll(/^\| ([^|]*) \|/gm)].flatMap(([, cell]) =>
      [...cell!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!),
    );
    const columns = Object.values(FIELDS).flatMap((fields) => fields.map(({ name }) => name));
    const notExported = ["network_prefix", "valid"];
    const missing = columns.filter(
      (name) => !patterns.some((pattern) => namesMatching(pattern, [name]).length),
    );
    expect(missing).toEqual(notExported);
  });
  /** Returns files with a page, an export such as `MapsPage`, that no other file imports. */
  const lostPages = (all: readonly File[]) =>
    all
      .filter(
        ({ path, text }) =>
          /^packages\/console\/src\/pages\//.test(path) && /^export function \w+Page\(/m.test(text),
      )
      .map(({ path }) => path)
      .filter((path) => !all.some(({ text }) => text.includes(`/${path.split("/").at(-1)}"`)));
  test("every page of the console is in the table of pages or another page", () =>
    expect(lostPages(files)).toEqual([]));
  test("a page of the console that is not in the table is found", () => {
    const page = made("packages/console/src/pages/maps.tsx", "export function MapsPage() {}");
    const table = made("packages/console/src/pages.tsx", 'import { MapsPage } from "./pages/maps.tsx";');
    expect([lostPages([page]), lostPages([page, table])]).toEqual([[page.path], []]);
  });
  test.each(AUDIT_ACTIONS)("docs/audit.md describes %s", (action) =>
    expect(read("docs/audit.md")).toContain(`\`${action}\``),
  );
  test("every path that ARCHITECTURE.md names exists", () => {
    const named = [...read("ARCHITECTURE.md").matchAll(/`([a-z-]+\/src\/[\w/.-]+)`/g)].map(
      ([, path]) => path!,
    );
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((path) => !existsSync(join(ROOT, "packages", path)))).toEqual([]);
  });

  /** Settings that no code outside the table mentions. */
  const unread = (names: readonly string[], all: readonly File[]) => {
    const texts = all
      .filter((file) => isCode(file) && !isTest(file) && packageOf(file.path) !== "contract")
      .map(({ text }) => withoutComments(text));
    return names.filter((name) => !texts.some((text) => new RegExp(`\\b${name}\\b`).test(text)));
  };
  test("every setting is read", () => expect(unread(SETTING_NAMES, files)).toEqual([]));
  test("a setting that nobody reads is found", () =>
    expect(
      unread(["maxQueue"], [made("packages/server/src/x.ts", "settings.maxQueues // maxQueue")]),
    ).toEqual(["maxQueue"]));

  const VARIABLES_OF_OTHERS = [
    "INKLING_CONFIG",
    "INKLING_PEERS",
    "INKLING_SAMPLES",
    "INKLING_VECTORS",
    "INKLING_TEST_FULL",
    "INKLING_FUZZ_MINUTES",
    "INKLING_FUZZ_SEED",
    "INKLING_LAUNCHER_PID",
    "INKLING_COMMAND",
  ];
  const known = [...SETTING_NAMES.map(variableName), ...VARIABLES_OF_OTHERS];
  /** Prefixes of the variables for settings that have a value for each name. */
  const starts = SETTING_NAMES.filter((name) => settingRow(name).named).map(
    (name) => `${variableName(name)}_`,
  );
  const isNamed = (variable: string) => starts.some((start) => variable.startsWith(start));
  const unknownVariables = (all: readonly File[]) =>
    all
      .filter((file) => !isTest(file) && file.path !== "CHANGELOG.md") // it lists the earlier names of settings
      .flatMap(({ path, text }) =>
        [...text.matchAll(/\bINKLING_[A-Z_]*[A-Z]\b/g)]
          .filter(([name]) => !known.includes(name) && !isNamed(name))
          .map(([name]) => `${path}: ${name}`),
      );

  test("no text names a variable that does not exist", () => expect(unknownVariables(files)).toEqual([]));
  test("a variable that does not exist is found", () => {
    expect(unknownVariables([made("README.md", "set INKLING_PROT to 1")])).toEqual([
      "README.md: INKLING_PROT",
    ]);
  });

  /** Commands after "inkling" in code: in backticks, or at the start of a line. */
  const unknownCommands = (all: readonly File[]) =>
    all.flatMap(({ path, text }) =>
      [
        ...text.matchAll(
          /(?:`|^ {2,}|^)(?:npx @inkling\/cli|(?:\.\/)?inkling) ([a-z]+(?:-[a-z]+)*)\b(?!\.\w)(?: ([a-z]+(?:-[a-z]+)*)\b(?!\.\w))?/gm,
        ),
      ]
        .filter(([, first, second]) => {
          const inner = groups.includes(first!) && second !== undefined ? `${first} ${second}` : first!;
          return !commands.includes(inner);
        })
        .map(([match]) => `${path}: ${match.trim()}`),
    );
  const texts = files.filter((file) => /\.(md|ts|mjs)$/.test(file.path) && !isTest(file));

  test("no text names a command that does not exist", () => expect(unknownCommands(texts)).toEqual([]));
  test("a command that does not exist is found", () => {
    expect(
      unknownCommands([made("README.md", "run `inkling date update` or\n    npx @inkling/cli keys make")]),
    ).toEqual(["README.md: `inkling date update", "README.md: npx @inkling/cli keys make"]);
  });
});

describe("the npm package `inkling`, which is not ours", () => {
  const runs = (all: readonly File[]) =>
    all.flatMap(({ path, text }) =>
      [...text.matchAll(/\b(?:npx|npm (?:exec|i|install|x))(?: -\S+)* inkling\b/g)].map(
        ([it]) => `${path}: ${it}`,
      ),
    );

  test("is run by no text", () => expect(runs(files)).toEqual([]));
  test.each(["npx", "npx -y", "npm install -g", "npm exec --"])("is found after: %s", (start) => {
    expect(runs([made("README.md", `run \`${start} inkling up\``)])).toHaveLength(1);
    expect(runs([made("README.md", `run \`${start} @inkling/cli up\``)])).toEqual([]);
  });
});

describe("npm test reads nothing outside the repository", () => {
  /** Files of `npm run test:data`, which the runner selects by name, and the modules they share. */
  const isData = ({ path }: File) =>
    /\.data(\.test)?\.ts$/.test(path) || path === "test/harness/data-folders.ts";
  const isRunner = ({ path }: File) =>
    /^(scripts\/run-tests\.mjs|test\/(test-runner|rules)\.test\.ts)$/.test(path);
  const isBench = ({ path }: File) => path.startsWith("bench/");
  const outside = (all: readonly File[]) =>
    all
      .filter((file) => isCode(file) && !isData(file) && !isRunner(file) && !isBench(file))
      .filter(
        (file) =>
          importsOf(file).some((specifier) =>
            /\bdata-folders\.|\.data\.ts$|\bbench\/.*shared-folders\./.test(specifier),
          ) ||
          /\bshared\/(?:mirror|vectors)\b|process\.env\.INKLING_(?:MIRROR|VECTORS)/.test(
            withoutComments(file.text),
          ),
      )
      .map(({ path }) => path);

  test("only data tests use the mirror and the vectors", () => expect(outside(files)).toEqual([]));
  test.each([
    ["the folders", 'import { MIRROR } from "./harness/data-folders.ts";'],
    ["the folders from elsewhere", 'import { VECTORS } from "../../../../test/harness/data-folders.ts";'],
    ["a target of a data test", 'import { x } from "./mmdb-vectors.data.ts";'],
    ["the folders of benchmarks", 'import { MIRROR } from "../bench/lib/shared-folders.ts";'],
    ["a path", 'const mirror = join(ROOT, "../shared/mirror");'],
    ["a variable", "const mirror = process.env.INKLING_MIRROR;"],
  ])("another test that uses %s is found", (_, text) => {
    expect(outside([made("test/a.test.ts", text)])).toEqual(["test/a.test.ts"]);
    expect(outside([made("test/a.data.test.ts", text)])).toEqual([]);
  });
});

describe("no local paths or registries", () => {
  const TRACES: readonly (readonly [what: string, pattern: RegExp])[] = [
    ["a local path", /(?:^|[\s"'`(=:])\/(?:work|home|root|Users|tmp)\/\w/m],
    ["a package registry", /https?:\/\/[^/\s"'`]*(?:registry|verdaccio|artifactory|nexus)[^/\s"'`]*/],
    ["a package's download URL", /"resolved": "https?:/],
  ];
  const traces = (all: readonly File[]) =>
    all.flatMap(({ path, text }) =>
      TRACES.flatMap(([what, pattern]) => {
        const found = pattern.exec(text);
        return found === null ? [] : [`${path}: ${what}: ${found[0].trim()}`];
      }),
    );

  test("in any file", () => expect(traces(files)).toEqual([]));

  const samples = [
    ["", "home", "me", "x"].join("/"),
    `see ${["", "tmp", "x"].join("/")}`,
    `https://${"registry"}.example/x`,
    `"resolved": "${"https"}://h/x"`,
  ];
  test.each(samples)("a trace is found: %s", (text) => expect(traces([made("a.md", text)])).not.toEqual([]));
});

test("no file is larger than 1 MB: what a build leaves behind does not go into the history", () => {
  const large = projectPaths().filter((path) => statSync(join(ROOT, path)).size > 1_000_000);
  expect(large).toEqual([]);
  expect(projectPaths().length).toBeGreaterThan(1_000);
});
