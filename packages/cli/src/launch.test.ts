// Tests the launcher and the start scripts on Node, as npm runs them.

import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { moduleCommand } from "@inkling/data/program";
import { temporaryFolder } from "../../../test/harness/temporary-folder.ts";
import { whyInstall } from "../bin/installed.mjs";
import { BUN_FLAGS, findBun, platformPackages } from "../bin/launch.mjs";

const CLI = resolve(import.meta.dir, "..");
const ROOT = resolve(CLI, "../..");
const temp = temporaryFolder();

describe("finding Bun", () => {
  test("the installed program is found", () => {
    expect(findBun()).toEndWith("bun.exe");
  });

  test("where install scripts were skipped, the platform's own package is used", () => {
    const placeholder = join(temp, "placeholder");
    mkdirSync(join(placeholder, "bin"), { recursive: true });
    writeFileSync(join(placeholder, "bin/bun.exe"), "echo placeholder\n");
    const carrier = join(temp, "carrier");
    mkdirSync(join(carrier, "bin"), { recursive: true });
    symlinkSync(process.execPath, join(carrier, "bin/bun"));
    const find = (name: string) => (name === "bun" ? placeholder : carrier);
    expect(findBun(find)).toBe(join(carrier, "bin/bun"));
  });

  test("no package at all is undefined", () => {
    expect(findBun(() => undefined)).toBeUndefined();
  });

  const rows: [platform: string, arch: string, musl: boolean, first: string][] = [
    ["linux", "x64", false, "@oven/bun-linux-x64"],
    ["linux", "arm64", true, "@oven/bun-linux-aarch64-musl"],
    ["darwin", "arm64", false, "@oven/bun-darwin-aarch64"],
    ["win32", "x64", false, "@oven/bun-windows-x64"],
  ];
  test.each(rows)("%s %s musl=%p: %s", (platform, arch, musl, first) => {
    expect(platformPackages(platform, arch, musl)[0]).toBe(first);
  });
});

test("our other processes start with the same flags of Bun", () => {
  expect(moduleCommand("x.ts").slice(1)).toEqual([...BUN_FLAGS, "x.ts"]);
});

describe("the launcher as a process", () => {
  /** Copies only the launcher, into a folder without any package. */
  function launcherIn(folder: string, main: string): string {
    mkdirSync(join(folder, "bin"), { recursive: true });
    mkdirSync(join(folder, "src"), { recursive: true });
    cpSync(join(CLI, "bin"), join(folder, "bin"), { recursive: true });
    writeFileSync(join(folder, "src/main.ts"), main);
    return join(folder, "bin/inkling.mjs");
  }
  const node = (args: readonly string[]) => spawnSync("node", args, { encoding: "utf8" });

  test("without Bun: one line, a hint, exit code 1", () => {
    const ran = node([launcherIn(join(temp, "bare"), "")]);
    expect(ran.status).toBe(1);
    expect(ran.stdout).toBe("");
    expect(ran.stderr).toMatch(/^inkling: Bun, .* is not installed for .*\nhint: .*npm install.*\n$/);
  });

  const endings: [name: string, main: string, status: number][] = [
    ["an exit code", "process.exit(3)", 3],
    ["a signal", "process.kill(process.pid, 'SIGKILL')", 137],
    ["success", "console.log(process.argv.slice(2).join())", 0],
  ];
  test.each(endings)("the command's ending is passed on: %s", (name, main, status) => {
    const folder = join(temp, `ends ${name}`);
    const bin = launcherIn(folder, main);
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    const ran = node([bin, "a b", "--c"]);
    expect(ran.status).toBe(status);
    if (status === 0) expect(ran.stdout).toBe("a b,--c\n");
  });

  describe("bin/inkling, without Node where Bun is set up", () => {
    const tools = join(temp, "tools");
    mkdirSync(tools);
    for (const name of ["readlink", "uname"]) symlinkSync(Bun.which(name)!, join(tools, name));
    const run = (bin: string, args: readonly string[] = [], env = {}, cwd = temp) =>
      spawnSync(bin, args, { encoding: "utf8", cwd, env: { PATH: tools, ...env } });
    const shellIn = (name: string, main: string) =>
      join(dirname(launcherIn(join(temp, name), main)), "inkling");
    const packages = join(ROOT, "node_modules");
    const PRINT =
      "console.log(JSON.stringify([process.argv.slice(2), process.env.INKLING_LAUNCHER_PID ?? null]))";

    /** Creates a folder that has only the packages a test names. */
    function withBun(name: string, main: string, machine: string, isSetUp = true): string {
      const bin = shellIn(name, main);
      const modules = join(temp, name, "node_modules");
      mkdirSync(join(modules, "bun/bin"), { recursive: true });
      mkdirSync(join(modules, "@oven", machine), { recursive: true });
      writeFileSync(join(modules, "bun/package.json"), "{}");
      if (isSetUp) symlinkSync(process.execPath, join(modules, "bun/bin/bun.exe"));
      else writeFileSync(join(modules, "bun/bin/bun.exe"), "echo placeholder\n");
      if (isSetUp) symlinkSync("bun.exe", join(modules, "bun/bin/bunx.exe"));
      else writeFileSync(join(modules, "bun/bin/bunx.exe"), "echo placeholder\n");
      return bin;
    }
    const [carrier] = platformPackages(process.platform, process.arch, false);
    const machine = carrier!.slice("@oven/".length);

    test("flags of Bun are those of launch.mjs", async () => {
      expect(await Bun.file(join(CLI, "bin/inkling")).text()).toContain(`bun.exe" ${BUN_FLAGS.join(" ")} "`);
    });

    test("arguments arrive as they are, an inherited launcher does not", () => {
      const bin = withBun("sh plain", PRINT, machine);
      const ran = run(bin, ["a b", "", "--c", "$x", "*"], { INKLING_LAUNCHER_PID: "1" });
      expect(ran.stderr).toBe("");
      expect(JSON.parse(ran.stdout)).toEqual([["a b", "", "--c", "$x", "*"], null]);
    });

    test("npm is the parent to look for", () => {
      const bin = withBun("sh npm", PRINT, machine);
      const ran = run(bin, [], { npm_lifecycle_event: "npx" });
      expect(JSON.parse(ran.stdout)).toEqual([[], String(process.pid)]);
    });

    test("it is the process itself: its exit code, its signal", () => {
      expect(run(withBun("sh code", "process.exit(3)", machine)).status).toBe(3);
      const killed = run(withBun("sh signal", "process.kill(process.pid, 'SIGKILL')", machine));
      expect([killed.status, killed.signal]).toEqual([null, "SIGKILL"]);
    });

    test("through links, relative ones and chains, from any folder, with packages above it", () => {
      const root = join(temp, "sh links");
      const bin = shellIn("sh links/node_modules/@scope/real", PRINT);
      symlinkSync(join(packages, "bun"), join(root, "node_modules/bun"));
      symlinkSync(join(packages, "@oven"), join(root, "node_modules/@oven"));
      mkdirSync(join(root, "node_modules/.bin"));
      symlinkSync("../@scope/real/bin/inkling", join(root, "node_modules/.bin/inkling"));
      symlinkSync(join(root, "node_modules/.bin/inkling"), join(root, "absolute"));
      mkdirSync(join(temp, "elsewhere/node_modules/@scope/real/bin"), { recursive: true });
      mkdirSync(join(temp, "elsewhere/node_modules/.bin"));
      const CDPATH = join(temp, "elsewhere");
      expect(run("node_modules/.bin/inkling", ["x"], { CDPATH }, root).stdout).toBe('[["x"],null]\n');
      expect(run(join(root, "absolute"), ["x"]).stdout).toBe('[["x"],null]\n');
      expect(run("/bin/sh", ["inkling", "x"], {}, dirname(bin)).stdout).toBe('[["x"],null]\n');
    });

    const others: [name: string, bin: string][] = [
      ["no Bun", shellIn("sh bare", PRINT)],
      ["another machine's Bun", withBun("sh other", PRINT, "bun-plan9-vax")],
      ["a Bun that is not set up", withBun("sh placeholder", PRINT, machine, false)],
    ];
    test.each(others)("%s: inkling.mjs has the answer", (_, bin) => {
      writeFileSync(join(dirname(bin), "inkling.mjs"), "console.log('on Node', process.argv[2])");
      expect(run(bin, ["x"], { PATH: process.env.PATH }).stdout).toBe("on Node x\n");
    });

    test("neither Node nor Bun: one line, a hint, exit code 1", () => {
      const ran = run(shellIn("sh nothing", PRINT));
      expect([ran.status, ran.stdout]).toEqual([1, ""]);
      expect(ran.stderr).toMatch(/^inkling: neither Node nor Bun.* is installed for .+\nhint: .*\n$/);
    });
  });

  const entries = ["packages/cli/bin/inkling.mjs", "scripts/start.mjs", "scripts/test.mjs"];
  const VERSION = "packages/cli/bin/node-version.mjs";
  test.each(entries)("%s on an old Node: one line, a hint, exit code 1", async (entry) => {
    const root = join(temp, `old-${entry.replaceAll("/", "-")}`);
    for (const path of [entry, VERSION]) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      const source = await Bun.file(join(ROOT, path)).text();
      writeFileSync(join(root, path), source.replaceAll("process.versions.node", '"18.20.0"'));
    }
    const ran = node([join(root, entry)]);
    expect(ran.status).toBe(1);
    expect(ran.stderr).toMatch(/^inkling: needs Node 20 or newer, this is Node 18\.20\.0\nhint: .*\n$/);
  });
  test.each([...entries, VERSION])("%s can be parsed by an old Node", async (entry) => {
    const code = (await Bun.file(join(ROOT, entry)).text())
      .replace(/^\/\/.*$/gm, "")
      .replace(/^import \{ isNodeNew \} from "[./\w-]+\/node-version\.mjs";$/m, "");
    expect(code).not.toMatch(/^\s*import\s+[\w{*"']|\?\.|\?\?|\bawait\b|\$\{/m);
  });
});

describe("npm start and npm test", () => {
  const npm = (args: readonly string[]) => spawnSync("npm", args, { cwd: ROOT, encoding: "utf8" });

  test("npm start is `inkling up`, with its arguments", () => {
    const ran = npm(["start", "--silent", "--", "--help"]);
    expect(ran.stdout).toStartWith("Usage: inkling up ");
    expect(ran.status).toBe(0);
  });

  test("npm start passes on how it ended", () => {
    expect(npm(["start", "--silent", "--", "--port", "0"]).status).toBe(2);
  });

  test("npx @inkling/cli is the command", () => {
    expect(npm(["exec", "--", "inkling", "--version"]).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test("hints show the command as it was started", () => {
    const args = ["config", "--port", "0"];
    const hint = (start: string) => `hint: run \`${start} config --example\` to see`;
    expect(npm(["exec", "--", "inkling", ...args]).stderr).toContain(hint("npx @inkling/cli"));
    const own = spawnSync(join(ROOT, "node_modules/.bin/inkling"), args, { cwd: ROOT, encoding: "utf8" });
    expect(own.stderr).toContain(hint("inkling"));
    const inClone = (command: string, cwd: string) =>
      spawnSync(command, args, { cwd, encoding: "utf8" }).stderr;
    expect(inClone("./inkling", ROOT)).toContain(hint("./inkling"));
    expect(inClone("../inkling", join(ROOT, "docs"))).toContain(hint("../inkling"));
    expect(npm(["start", "--silent", "--", "--port", "0"]).stderr).toContain(hint("./inkling"));
  });

  test("npm test with a name runs the tests of that name, and counts them in its last line", () => {
    const ran = npm(["test", "--silent", "--", "runtime/build.test"]);
    expect(ran.stdout.trimEnd().split("\n").at(-1)).toMatch(/^\d+ passed, 0 failed$/);
    expect(ran.status).toBe(0);
  });

  test("no test at all is a failure", () => {
    const ran = npm(["test", "--silent", "--", "no-such-test"]);
    expect(ran.stdout.trimEnd().split("\n").at(-1)).toBe("0 passed, 1 failed");
    expect(ran.status).toBe(1);
  });
});

describe("is an install needed?", () => {
  const lock = {
    "": {},
    "node_modules/a": { version: "1.0.0" },
    "node_modules/dev": { version: "1.0.0", dev: true },
    "node_modules/other-platform": { version: "1.0.0", optional: true },
  };
  const rows: [name: string, present: object | undefined, dev: boolean, want: RegExp | undefined][] = [
    ["nothing installed", undefined, false, /not installed yet/],
    ["all there", { "node_modules/a": { version: "1.0.0" } }, false, undefined],
    ["a development package missing", { "node_modules/a": { version: "1.0.0" } }, true, /dev is not inst/],
    ["an older version", { "node_modules/a": { version: "0.9.0" } }, false, /a is 0\.9\.0, .* 1\.0\.0/],
    ["a package missing", {}, false, /a is not installed/],
  ];
  test.each(rows)("%s", (name, present, dev, want) => {
    const root = join(temp, `lock ${name}`);
    mkdirSync(join(root, "node_modules"), { recursive: true });
    writeFileSync(join(root, "package-lock.json"), JSON.stringify({ packages: lock }));
    if (present)
      writeFileSync(join(root, "node_modules/.package-lock.json"), JSON.stringify({ packages: present }));
    const why = whyInstall(root, { dev });
    if (want) expect(why).toMatch(want);
    else expect(why).toBeUndefined();
  });
});

/**
 * Creates a folder with these project files, where a development package is missing and npm cannot install.
 */
function withoutDevPackages(paths: readonly string[]): { root: string; env: NodeJS.ProcessEnv } {
  const root = temporaryFolder();
  for (const path of ["scripts/install.mjs", "packages/cli/bin", ...paths])
    cpSync(join(ROOT, path), join(root, path), { recursive: true });
  const packages = { "node_modules/dev": { version: "1.0.0", dev: true } };
  writeFileSync(join(root, "package-lock.json"), JSON.stringify({ packages }));
  mkdirSync(join(root, "node_modules"));
  writeFileSync(join(root, "node_modules/.package-lock.json"), '{"packages":{}}');
  symlinkSync(join(ROOT, "node_modules/bun"), join(root, "node_modules/bun"));
  const npm = join(root, "npm.js");
  writeFileSync(npm, "process.exit(1)");
  return { root, env: { ...process.env, npm_execpath: npm } };
}

test.each<[args: string[], code: number, out: string, err: RegExp]>([
  [["--help"], 0, "--help", /^$/],
  [["engine"], 1, "", /^Installing packages \(dev is not installed\)/],
])("npm run bench %p, without the packages for development", (args, code, out, err) => {
  const { root, env } = withoutDevPackages(["scripts/tool.mjs"]);
  mkdirSync(join(root, "bench"));
  writeFileSync(join(root, "bench/main.ts"), "process.stdout.write(process.argv.slice(2).join())");
  const ran = spawnSync("node", [join(root, "scripts/tool.mjs"), "bun", "bench/main.ts", ...args], {
    encoding: "utf8",
    env,
  });
  expect([ran.status, ran.stdout]).toEqual([code, out]);
  expect(ran.stderr).toMatch(err);
});

test.each(["cli", "local"])("npm pack of %s installs the packages for development first", (name) => {
  const manifest = `packages/${name}/package.json`;
  const { root, env } = withoutDevPackages(["scripts/tool.mjs", manifest]);
  const { prepack } = JSON.parse(readFileSync(join(root, manifest), "utf8")).scripts;
  const ran = spawnSync("sh", ["-c", prepack], {
    cwd: join(root, "packages", name),
    encoding: "utf8",
    env,
  });
  expect([ran.status, ran.stdout]).toEqual([1, ""]);
  expect(ran.stderr).toMatch(/^Installing packages \(dev is not installed\)/);
});

test("npm pack of client fetches only TypeScript, in the version of the lock file", () => {
  const manifest = "packages/client/package.json";
  const { root, env } = withoutDevPackages(["scripts/compile-client.mjs", "package.json", manifest]);
  const { prepack } = JSON.parse(readFileSync(join(root, manifest), "utf8")).scripts;
  const locked = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")).packages;
  const { version } = locked["node_modules/typescript"];
  writeFileSync(join(root, "npm"), '#!/bin/sh\necho "$PWD: npm $*"\nexit 3\n', { mode: 0o755 });
  const cwd = join(root, "packages/client");
  const PATH = `${root}:${env.PATH}`;
  const ran = spawnSync("sh", ["-c", prepack], { cwd, encoding: "utf8", env: { ...env, PATH } });
  expect([ran.status, ran.stdout]).toEqual([3, ""]);
  const command = `npm exec --yes --package=typescript@${version} -- tsc -p . --noCheck`;
  expect(ran.stderr).toBe(`${realpathSync(cwd)}: ${command}\n`);
});
