// test-runner.test.ts: `npm test` itself: every failure, crash and hang of a test file is reported, and reports are counted.

import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { dataFolder } from "../scripts/tests/data-folders.mjs";
import { findTests, groupTests, isDataTest, SLOWEST } from "../scripts/tests/files.mjs";
import { bunJob } from "../scripts/tests/jobs.mjs";
import { readJunit } from "../scripts/tests/junit.mjs";
import { report } from "../scripts/tests/report.mjs";
import { mountsIn, unmountAll } from "./mounts.ts";

const ROOT = resolve(import.meta.dir, "..");
const root = mkdtempSync(join(tmpdir(), "inkling-runner-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const header = 'import { expect, test } from "bun:test";\n';
const write = (name: string, body: string) => {
  writeFileSync(join(root, `${name}.test.ts`), header + body);
  return `${name}.test.ts`;
};
const good = write("good", 'test("a", () => {}); test.skip("b", () => {});');
const run = (files: string[], minutes = 1) => bunJob(files, { root, temp: root, minutes }).run();

describe("a process of bun test", () => {
  const rows: [name: string, body: string, failure: string, message: RegExp][] = [
    [
      "fails",
      'test("x <y>", () => { expect("a").toBe("b"); });',
      "x <y>",
      /Expected: "b"[\s\S]*fails\.test\.ts:2/,
    ],
    ["is-concurrent", 'test.concurrent("x", async () => { expect("a").toBe("b"); });', "x", /Expected: "b"/],
    ["throws", 'test("x", () => { throw new Error("no\\nmore"); });', "x", /no\nmore/],
    ["is-killed", 'test("x", () => process.kill(process.pid, "SIGKILL"));', "(the whole file)", /SIGKILL/],
    ["exits", 'test("x", () => process.exit(0));', "(the whole file)", /no test of it ran/],
    ["cannot-load", 'import "./nothing.ts"; test("x", () => {});', "(the whole file)", /exit code 1/],
    ["is-empty", "", "(the whole file)", /no test/],
  ];
  test.each(rows)("that %s is one failure", async (name, body, failure, message) => {
    const file = write(name, body);
    const { passed, failures } = await run([file]);
    expect([passed, failures.map((one) => [one.file, one.name])]).toEqual([0, [[file, failure]]]);
    expect(failures[0]!.message).toMatch(message);
  });

  test("that throws outside of its tests is a failure", async () => {
    const file = write(
      "outside",
      'import { afterAll } from "bun:test"; test("x", () => {}); afterAll(() => { throw new Error("late"); });',
    );
    const { failures } = await run([file, good]);
    expect(failures).toHaveLength(1);
    expect(failures[0]!.message).toContain("late");
  });

  test("that hangs is killed after its limit, with what it started", async () => {
    const file = write(
      "hangs",
      `test("x", () => {
        const child = Bun.spawn(["sleep", "600"]);
        require("node:fs").writeFileSync("pid", String(child.pid));
        for (;;);
      });`,
    );
    const { failures } = await run([file], 0.05);
    expect(failures.map(({ name, message }) => `${name}: ${message}`)).toEqual([
      "(the whole file): no test of it ran: killed: it took longer than 0.05 minutes",
    ]);
    const pid = Number(await Bun.file(join(root, "pid")).text());
    expect(pid).toBeGreaterThan(1);
    expect(existsSync(`/proc/${pid}/exe`)).toBe(false);
  });

  test("of several files that crashes is a failure, and each file runs again by itself", async () => {
    const file = write("crashes", 'test("x", () => process.kill(process.pid, "SIGKILL"));');
    const { passed, failures, skipped } = await run([good, file]);
    expect([passed, skipped]).toEqual([1, ["b"]]);
    expect(failures.map((one) => one.file)).toEqual([`${good} ${file}`, file]);
  });

  test("that cannot load is named in a group", async () => {
    const file = write("cannot-load-2", 'import "./nothing.ts";');
    const { passed, failures } = await run([good, file]);
    expect([passed, failures.map((one) => one.file)]).toEqual([1, [file]]);
  });
});

describe("a clean-up that fails", () => {
  const mounts = Bun.spawnSync(["unshare", "--mount", "true"]).success; // only root may mount
  test.if(mounts)("is a failure beside the results of the file, which are all reported", async () => {
    const file = write(
      "leaves-a-mount",
      `test("x", () => {
        const folder = require("node:fs").mkdtempSync(process.env.TMPDIR + "/netns-");
        expect(Bun.spawnSync(["mount", "-t", "tmpfs", "tmpfs", folder]).success).toBe(true);
      });
      test("y", () => { expect("a").toBe("b"); });`,
    );
    try {
      const { passed, failures } = await run([file]);
      expect([passed, failures.map(({ name }) => name)]).toEqual([1, ["y", "(clean-up)"]]);
      expect(failures[1]).toMatchObject({
        file,
        message: expect.stringMatching(/could not be removed: .*EBUSY/),
      });
    } finally {
      expect(mountsIn(root)).toHaveLength(1);
      unmountAll(root);
    }
  });

  test("of one job, or a job that cannot run, hides no other job's results", async () => {
    const script = `
      import { runJobs } from ${JSON.stringify(join(ROOT, "scripts/tests/run.mjs"))};
      const fine = { name: "fine", run: async () => ({ passed: 3, failures: [], skipped: ["s"] }) };
      const broken = { name: "broken", run: async () => { throw new Error("EBUSY: resource busy or locked"); } };
      process.exitCode = await runJobs([broken, fine], { parallel: 1, parts: [] });`;
    const child = Bun.spawn(["node", "--input-type=module", "--eval", script], {
      stdout: "pipe",
      stderr: "pipe",
    });
    const text = await new Response(child.stdout).text();
    expect(await child.exited).toBe(1);
    expect(text).toContain("FAILED broken");
    expect(text).toContain("EBUSY: resource busy or locked");
    expect(text).toEndWith("\nskipped: s\n3 passed, 1 failed, 1 skipped\n");
  });
});

describe("npm run test:data", () => {
  const runData = async (env: Record<string, string>) => {
    const { INKLING_MIRROR: _, INKLING_VECTORS: __, ...others } = process.env;
    const script = join(ROOT, "scripts/test.mjs");
    const child = Bun.spawn(["node", script, "--data", "psl"], {
      env: { ...others, ...env },
      stdout: "pipe",
      stderr: "pipe",
    });
    return { code: await child.exited, error: await new Response(child.stderr).text() };
  };
  const nowhere = join(root, "nowhere");
  const file = join(root, "a-file");
  writeFileSync(file, "");
  test.each([
    ["without INKLING_MIRROR", {}, /needs INKLING_MIRROR, a folder with .+: it is not set\nhint: /],
    ["without INKLING_VECTORS", { INKLING_MIRROR: root }, /needs INKLING_VECTORS, .+: it is not set/],
    [
      "with a folder that does not exist",
      { INKLING_MIRROR: nowhere },
      /INKLING_MIRROR, .+nowhere does not exist/,
    ],
    [
      "with a file",
      { INKLING_MIRROR: root, INKLING_VECTORS: file },
      /INKLING_VECTORS, .+a-file is not a folder/,
    ],
  ])("fails %s", async (_, env, message) => {
    const { code, error } = await runData(env);
    expect(code).toBe(2);
    expect(error).toMatch(message);
  });
  test("takes a folder that exists", () => {
    expect(dataFolder("INKLING_MIRROR", { INKLING_MIRROR: root })).toBe(root);
  });
  test("and only it, gives its tests the folders", async () => {
    const body = 'test("x", () => { expect(process.env.INKLING_MIRROR).toBeUndefined(); });';
    process.env.INKLING_MIRROR = root;
    try {
      const files = [write("has-no-mirror", body)];
      expect(await run(files)).toMatchObject({ passed: 1, failures: [] });
      process.env.INKLING_VECTORS = root;
      const data = await bunJob(files, { root, temp: root, data: true }).run();
      expect(data.failures).toHaveLength(1);
    } finally {
      delete process.env.INKLING_MIRROR;
      delete process.env.INKLING_VECTORS;
    }
  });
});

describe("the files", () => {
  const all = findTests(ROOT);
  test("are all in one group each, of npm test or of npm run test:data", () => {
    expect(all.length).toBeGreaterThan(100);
    const grouped = groupTests(ROOT, { unit: false, parts: [] }).flat();
    const ofData = groupTests(ROOT, { unit: false, data: true, parts: [] }).flat();
    expect([...grouped, ...ofData].sort()).toEqual(all.sort());
    expect(grouped.filter(isDataTest)).toEqual([]);
    expect(ofData.filter((path) => !isDataTest(path))).toEqual([]);
    expect(ofData.length).toBeGreaterThan(10);
  });
  test("that are known to be slow exist, and come first", () => {
    const groups = groupTests(ROOT, { unit: false, parts: [] });
    const ofData = groupTests(ROOT, { unit: false, data: true, parts: [] });
    expect(ofData.slice(0, 2)).toEqual([
      ["test/evidence.data.test.ts"],
      ["packages/compiler/src/policy/reputation.data.test.ts"],
    ]);
    const isSlow = groups.map(
      (group) => group.length === 1 && SLOWEST.some((name) => group[0]!.endsWith(name)),
    );
    expect(SLOWEST.filter((name) => !all.some((path: string) => path.endsWith(name)))).toEqual([]);
    expect(isSlow.lastIndexOf(true)).toBe(isSlow.filter(Boolean).length - 1);
  });
  test("are chosen by parts of their path", () => {
    const parts = ["test-runner", "engine/src/address/ip"];
    const chosen = groupTests(ROOT, { unit: false, parts }).flat();
    expect(chosen.sort()).toEqual(["packages/engine/src/address/ip.test.ts", "test/test-runner.test.ts"]);
    expect(groupTests(ROOT, { unit: true, parts: ["test-runner"] })).toEqual([]);
  });
});

describe("a report", () => {
  test("of Bun", () => {
    const xml =
      '<testcase name="a" file="f.ts" /><testcase name="b &lt;c&gt;" file="g.ts"><skipped /></testcase>' +
      '<testcase name="d" classname="x" file="f.ts">\n<failure type="x" message="not&#10;1"/></testcase>' +
      '<testcase name="e" file="f.ts"/>';
    expect(readJunit(xml)).toEqual({
      passed: 2,
      failures: [{ file: "f.ts", name: "x > d", message: "not\n1" }],
      skipped: ["b <c>"],
      files: new Set(["f.ts", "g.ts"]),
    });
  });
  test("of Node", () => {
    const xml =
      '<testsuite name="s"><testcase name="a>b" classname="test"/></testsuite><testcase name="c" classname="test">' +
      '<skipped type="skipped" message="needs vectors"/></testcase><testcase name="d" classname="test" ' +
      'failure="1 == 2"><failure type="testCodeFailure" message="1 == 2">\nError: 1 == 2\n</failure></testcase>';
    expect(readJunit(xml)).toEqual({
      passed: 1,
      failures: [{ file: "", name: "d", message: "Error: 1 == 2" }],
      skipped: ["c: needs vectors"],
      files: new Set(),
    });
  });
  test("ends with the sum", () => {
    const none = { passed: 3, failures: [], skipped: [] };
    expect(report(none)).toBe("3 passed, 0 failed\n");
    const failures = [{ file: "f.ts", name: "d", message: "1\n2" }];
    expect(report({ ...none, failures, skipped: ["b"] })).toBe(
      "\nFAILED f.ts: d\n    1\n    2\n    run it alone: npm test -- f.ts\n\nskipped: b\n3 passed, 1 failed, 1 skipped\n",
    );
  });
});
