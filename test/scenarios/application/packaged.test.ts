// packaged.test.ts: tests what users install: the npm packages and the executable, away from the clone's files.

import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { FEEDS } from "@inkling/compiler/feeds";
import { publint } from "publint";
import { startRegistry } from "../../harness/npm-registry.ts";
import { PackagedProgram, walk, walkFirstStart } from "../../harness/packaged-program.ts";
import {
  archiveOf,
  executableFolder,
  installCli,
  installLocal,
  run,
} from "../../harness/published-packages.ts";
import { tried } from "../../harness/recorded-rows.ts";
import { temporaryFolder } from "../../harness/release.ts";
import { FULL } from "../../harness/share.ts";

setDefaultTimeout(600_000);

const ROOT = resolve(import.meta.dir, "../../..");
const SEED_FILES = FEEDS.flatMap(({ seed }) =>
  (seed?.files ?? []).map((file) => join("seeds", seed!.package, file)),
);
const PUBLIC = ["cli", "client", "local"] as const;

describe("each published package", () => {
  test.each(PUBLIC)(
    "@inkling/%s: an archive that is complete, and names nothing of this clone",
    async (name) => {
      const folder = temporaryFolder();
      await run(["tar", "-xzf", await archiveOf(name), "-C", folder, "--strip-components=1"], folder);
      const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      expect(manifest).toMatchObject({ name: `@inkling/${name}`, license: "Apache-2.0" });
      expect(manifest.private).toBeUndefined();
      expect(manifest.publishConfig).toEqual({ access: "public" });
      const files = readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name));
      for (const file of ["LICENSE", "README.md"]) expect(files).toContain(join(folder, file));
      expect(readFileSync(join(folder, "LICENSE"), "utf8")).toBe(readFileSync(join(ROOT, "LICENSE"), "utf8"));
      expect(files.filter((path) => /\.test\.|\.tsbuildinfo$/.test(path))).toEqual([]);
      // Every named file exists, and every dependency can be installed: none is an unpublished package of ours.
      const named = JSON.stringify([manifest.exports, manifest.bin ?? {}]);
      const targets = [...named.matchAll(/:"(\.\/[^"]+)"/g)].map(([, path]) => path!);
      const missing = targets.filter((path) => !existsSync(join(folder, path)));
      expect([targets.length > 0, missing]).toEqual([true, []]);
      for (const [dependency, version] of Object.entries(manifest.dependencies ?? {})) {
        expect(version).toMatch(/^\d+\.\d+\.\d+/);
        if (dependency.startsWith("@inkling/")) expect(dependency).toBe("@inkling/client");
      }
      const leaks = files.filter((path) => readFileSync(path, "latin1").includes(ROOT));
      expect(leaks).toEqual([]);
      const tarball = await Bun.file(await archiveOf(name)).arrayBuffer();
      expect((await publint({ pack: { tarball }, strict: true })).messages).toEqual([]);
    },
  );

  test("@inkling/cli has the notices of the data and the licence of every package in its bundle", async () => {
    const folder = temporaryFolder();
    await run(["tar", "-xzf", await archiveOf("cli"), "-C", folder, "--strip-components=1"], folder);
    expect(readFileSync(join(folder, "NOTICE"), "utf8")).toBe(readFileSync(join(ROOT, "NOTICE"), "utf8"));
    const text = readFileSync(join(folder, "dist/LICENSES.txt"), "utf8");
    for (const name of ["zod", "tldts", "preact", "d3-geo", "swagger-ui-dist"])
      expect([name, new RegExp(`^${name} [\\d.]+: \\S+`, "m").test(text)]).toEqual([name, true]);
  });

  test.each([
    ["node16", "node16"],
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ])("types of client and local: module %s, resolution %s", async (module, moduleResolution) => {
    const project = temporaryFolder();
    await installLocal(project);
    writeFileSync(
      join(project, "app.ts"),
      `import { denies, Inkling } from "@inkling/client";
import { fakeInkling } from "@inkling/client/testing";
import { createLocal, type LocalOptions } from "@inkling/local";
const options = { data: "data" } satisfies LocalOptions;
const local = await createLocal(options);
const remote = new Inkling({ url: "http://127.0.0.1:8080", key: "ink_test_x" });
const places = [await local.geolocate("81.2.69.142"), await remote.geolocate("81.2.69.142")];
export const code: string | undefined = places[0]?.country.iso_code;
export const fake = fakeInkling();
export const isDenied: boolean = denies(await local.email("jane@example.com"), (it) => it.disposable);
`,
    );
    const compilerOptions = {
      ...{ module, moduleResolution, target: "es2022", strict: true, noEmit: true, skipLibCheck: false },
      ...{ lib: ["es2023"], types: [resolve(ROOT, "node_modules/@types/node")] },
    };
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["app.ts"] }));
    expect(await run([join(ROOT, "node_modules/.bin/tsc"), "-p", "."], project)).toBe("");
  });
});

describe("@inkling/cli as npm installs it", () => {
  let command: string;
  beforeAll(async () => {
    command = await installCli(temporaryFolder());
  });

  test("has all that it starts and serves", () => walk(new PackagedProgram([command])));
  test.if(FULL)("builds the first data from the seeds", () => walkFirstStart(new PackagedProgram([command])));
});

describe("the executable", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await executableFolder();
  });
  const inkling = () => join(folder, "inkling");

  test("has all that it starts and serves", () => walk(new PackagedProgram([inkling()])));
  test("needs neither Node nor Bun", () => {
    const { stdout } = Bun.spawnSync([inkling(), "doctor", "--json"], {
      cwd: temporaryFolder(),
      env: { PATH: "/nowhere" },
    });
    const { checks } = JSON.parse(stdout.toString()) as { checks: { check: string; state: string }[] };
    expect(checks.find(({ check }) => check === "packages")?.state).toBe("ok");
  });
  test("names nothing of this clone", () => expect(readFileSync(inkling()).includes(ROOT)).toBe(false));
  test("names itself in hints, not npm", async () => {
    const { err, code } = await new PackagedProgram([inkling()]).run(["data", "status"]);
    expect([code, err]).toEqual([1, expect.stringContaining("`inkling data update`")]);
  });
  test("speaks of no clone in its help", async () => {
    const help = await new PackagedProgram([inkling()]).output(["--help"]);
    expect(help).toEndWith("see `inkling config`.");
  });
  test("has the seeds, licences and notices beside it", () => {
    for (const name of ["LICENSE", "NOTICE", "LICENSES.txt", ...SEED_FILES])
      expect([name, existsSync(join(folder, name))]).toEqual([name, true]);
  });
  test("has the licences of Bun and its libraries, and names the version to relink", () => {
    const text = readFileSync(join(folder, "LICENSES.txt"), "utf8");
    const { version } = JSON.parse(readFileSync(join(ROOT, "node_modules/bun/package.json"), "utf8"));
    for (const line of [
      `git clone --branch bun-v${version} https://github.com/oven-sh/bun`,
      "JavaScriptCore and other parts of WebKit, LGPL 2 or later",
      "GNU LIBRARY GENERAL PUBLIC LICENSE\n",
      "GNU LESSER GENERAL PUBLIC LICENSE\n",
    ])
      expect([line, text.includes(line)]).toEqual([line, true]);
  });
  test.if(FULL)("builds the first data from the seeds", () =>
    walkFirstStart(new PackagedProgram([inkling()])),
  );
});

/** How each package manager adds packages from a registry, without its usual cache. */
const MANAGERS: Readonly<Record<string, (registry: string, cache: string) => readonly string[]>> = {
  npm: (registry, cache) => [
    ...["npm", "install", "--registry", registry, "--cache", cache, "--no-audit", "--no-fund"],
  ],
  pnpm: (registry, cache) => ["pnpm", "add", `--registry=${registry}`, `--store-dir=${cache}`],
  bun: (registry, cache) => [process.execPath, "add", `--registry=${registry}`, `--cache-dir=${cache}`],
};

// npm, pnpm and Node are those in PATH. For another version, put it first.
describe.if(FULL).each(Object.entries(MANAGERS))("%s, with a registry of this machine", (manager, add) => {
  const version = [manager === "bun" ? process.execPath : manager, "--version"];
  test.if(Bun.which(version[0]!) !== null)(
    "installs all three in an empty folder, and `inkling up` answers",
    async () => {
      const archives = new Map<string, string>();
      for (const name of PUBLIC) archives.set(`@inkling/${name}`, await archiveOf(name));
      const registry = startRegistry(archives);
      const project = temporaryFolder();
      try {
        writeFileSync(join(project, "package.json"), '{"type":"module"}');
        const names = PUBLIC.map((name) => `@inkling/${name}`);
        await run([...add(registry.url, join(project, "cache")), ...names], project);
        // Only Bun for other platforms is missing.
        expect([...registry.missing].filter((name) => !name.startsWith("@oven/bun-"))).toEqual([]);
        const inkling = join(project, "node_modules/.bin/inkling");
        expect((await run([inkling, "--version"], project)).trim()).toBe("0.1.0");
        const imports = "await import('@inkling/client'); await import('@inkling/local')";
        await run(["node", "--input-type=module", "-e", imports], project);
        if (manager === "npm") await walkFirstStart(new PackagedProgram(["npx", "@inkling/cli"], project));
        else await walk(new PackagedProgram([inkling], project));
        const [major] = (await run(version, project)).split(".");
        const what = "installing the three packages in an empty folder";
        tried(import.meta.path, `${manager} ${major}`, version, what);
        if (manager !== "npm") return;
        const [node] = (await run(["node", "-p", "process.versions.node"], project)).split(".");
        tried(
          import.meta.path,
          `Node ${node}`,
          ["node", "--version"],
          `${what}, and \`npx @inkling/cli up\``,
        );
      } finally {
        registry.stop();
      }
    },
  );
});
