// test-runner.test.ts: tests `npm test` itself: it counts and names every failure, crash and hang of a test file.

import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { failuresOfTap } from "../scripts/run-tests.mjs";
import { temporaryFolder } from "./harness/release.ts";

const ROOT = resolve(import.meta.dir, "..");

/** Runs `npm test -- ARGS` in a project that consists of these test files. */
async function runProject(
  files: Readonly<Record<string, string>>,
  { args = ["test/"], minutes = 1, env = {} }: { args?: string[]; minutes?: number; env?: NodeJS.ProcessEnv },
) {
  const root = temporaryFolder();
  for (const [name, body] of Object.entries(files)) {
    const path = join(root, `test/${name}.test.ts`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `import { afterAll, expect, test } from "bun:test";\n${body}`);
  }
  const script = `import { runTests } from ${JSON.stringify(join(ROOT, "scripts/run-tests.mjs"))};
    process.exitCode = await runTests(${JSON.stringify(args)}, ${JSON.stringify({ root, minutes })});`;
  const child = Bun.spawn(["node", "--input-type=module", "--eval", script], {
    env: { ...process.env, TMPDIR: root, ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, error] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  const failed = [...out.matchAll(/^FAILED (?:test\/)?(.*)$/gm)].map(([, name]) => name);
  return { root, code: await child.exited, text: error + out, failed, sum: out.trim().split("\n").at(-1) };
}

test("each way in which a file can fail is a failure with its name, and hides no other result", async () => {
  const { code, failed, text, sum } = await runProject(
    {
      good: 'test("a", () => {}); test.skip("b", () => {});',
      fails: 'test("x <y>", () => { expect("a").toBe("b"); });',
      "is-concurrent": 'test.concurrent("x", async () => { expect("a").toBe("c"); });',
      throws: 'test("x", () => { throw new Error("no\\nmore"); });',
      "throws-late": 'test("x", () => {}); afterAll(() => { throw new Error("late"); });',
      "is-killed": 'test("x", () => process.kill(process.pid, "SIGKILL"));',
      exits: 'test("x", () => process.exit(0));',
      "cannot-load": 'import "./nothing.ts"; test("x", () => {});',
      "is-empty": "",
    },
    {},
  );
  expect(failed.sort()).toEqual([
    "cannot-load.test.ts: (the whole file)",
    "exits.test.ts: (worker crashed)",
    "fails.test.ts: x <y>",
    "is-concurrent.test.ts: x",
    "is-empty.test.ts: (the whole file)",
    "is-killed.test.ts: (worker crashed)",
    "throws-late.test.ts: (unnamed)",
    "throws.test.ts: x",
  ]);
  for (const message of ['Expected: "b"', 'Expected: "c"', "no\n    more", "late", "nothing.ts"])
    expect(text).toContain(message);
  const [, skipped, report] = /^(skipped: b)\n(FAILED [\s\S]*)/m.exec(text)!;
  expect([skipped, report!.split("\n").length]).toEqual(["skipped: b", expect.closeTo(30, -1)]);
  expect([code, sum]).toEqual([1, "2 passed, 8 failed, 1 skipped"]);
});

test("a test that loops is stopped with what it started, and what ran before it counts", async () => {
  const loops = `test("x", () => {
    const child = Bun.spawn(["sleep", "600"]);
    require("node:fs").writeFileSync(import.meta.dir + "/pid", String(child.pid));
    for (;;);
  });`;
  const { root, failed, text, sum } = await runProject(
    { good: 'test("a", () => {});', loops },
    { minutes: 0.05 },
  );
  expect([failed, sum]).toEqual([["loops.test.ts: (worker crashed)"], "1 passed, 1 failed"]);
  expect(text).toContain("Interrupted while still running:\n  test/loops.test.ts");
  const pid = Number(readFileSync(join(root, "test/pid"), "utf8"));
  expect(pid).toBeGreaterThan(1);
  expect(existsSync(`/proc/${pid}/exe`)).toBe(false);
});

describe("npm run test:data", () => {
  const FILES = {
    "a.data": `test("data", () => {
      expect(process.env.INKLING_MIRROR).toBe(process.env.TEST_FOLDER!);
      expect(process.env.INKLING_VECTORS).toBe(process.env.TEST_FOLDER!);
    });`,
    b: `test("no data", () => {
      expect([process.env.INKLING_MIRROR, process.env.INKLING_VECTORS]).toEqual([undefined, undefined]);
    });`,
  };
  const folder = temporaryFolder();
  const file = join(folder, "a-file");
  writeFileSync(file, "");
  test.each<[string, NodeJS.ProcessEnv, RegExp]>([
    [
      "without a folder",
      { INKLING_MIRROR: undefined },
      /needs INKLING_MIRROR, a folder with .+: it is not set/,
    ],
    [
      "with a folder that does not exist",
      { INKLING_MIRROR: folder, INKLING_VECTORS: join(folder, "nowhere") },
      /needs INKLING_VECTORS, .+nowhere does not exist/,
    ],
    ["with a file", { INKLING_MIRROR: file }, /INKLING_MIRROR, .+a-file is not a folder/],
  ])("fails %s", async (_, env, message) => {
    const { code, text } = await runProject(FILES, { args: ["--data"], env });
    expect([code, text]).toEqual([2, expect.stringMatching(message)]);
    expect(text).toContain("hint: CONTRIBUTING.md");
  });
  test("and only it, runs the data tests and gives them the folders", async () => {
    const env = { INKLING_MIRROR: folder, INKLING_VECTORS: folder, TEST_FOLDER: folder };
    const cases = [
      [["test/"], "no data"],
      [["--data", "test/"], "data"],
    ] as const;
    for (const [args, name] of cases) {
      const { text, sum } = await runProject(FILES, { args: [...args], env });
      expect([sum, text]).toEqual(["1 passed, 0 failed", expect.stringContaining(`(pass) ${name}`)]);
    }
  });
});

test("of Node's report, tests that failed are named, with their messages, and what a file wrote before it ended", () => {
  const folder = temporaryFolder();
  const write = (name: string, body: string) => {
    writeFileSync(join(folder, `${name}.mjs`), `import { describe, test } from "node:test";\n${body}`);
    return join(folder, `${name}.mjs`);
  };
  const nested = `test("good", () => {}); describe("in", () => test("x <y>", () => { throw new Error("no\\nmore"); }));`;
  const files = [write("a", nested), write("b", 'import "./nothing.mjs";')];
  const { stdout } = Bun.spawnSync(["node", "--test", "--test-reporter=tap", ...files]);
  expect(failuresOfTap(stdout.toString())).toEqual([
    { test: "x <y>", message: expect.stringContaining(`${files[0]}:2:46\nno\nmore\n`) },
    { test: files[1]!, message: expect.stringContaining("\nError [ERR_MODULE_NOT_FOUND]: Cannot find") },
  ]);
});
