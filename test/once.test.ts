// once.test.ts: a shared resource is made once, also when a process is killed, and again when an input changes.

import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { once } from "./once.ts";
import { temporaryFolder } from "./release.ts";

const made = (folder: string) => readFileSync(join(folder, "made"), "utf8");

/** A process that makes the thing; it writes a line when it begins and one when it has it. */
const start = (cache: string, input: string, makes: string) =>
  Bun.spawn(
    [
      process.execPath,
      "-e",
      `import { appendFileSync, writeFileSync } from "node:fs";
      const { once } = await import(${JSON.stringify(join(import.meta.dir, "once.ts"))});
      const make = async (folder) => {
        appendFileSync(${JSON.stringify(join(cache, "log"))}, "made ");
        console.log("making");
        ${makes}
        writeFileSync(folder + "/made", "by another process");
      };
      await once("thing", [${JSON.stringify(input)}], make, ${JSON.stringify(cache)});`,
    ],
    { stdout: "pipe", stderr: "inherit" },
  );

function setUp() {
  const folder = temporaryFolder();
  const cache = join(folder, "cache");
  mkdirSync(cache);
  const input = join(folder, "input");
  writeFileSync(input, "1");
  return { cache, input, log: () => readFileSync(join(cache, "log"), "utf8") };
}

test("four processes at once: one makes it", async () => {
  const { cache, input, log } = setUp();
  const children = Array.from({ length: 4 }, () => start(cache, input, "await Bun.sleep(200);"));
  expect(await Promise.all(children.map((child) => child.exited))).toEqual([0, 0, 0, 0]);
  expect(log()).toBe("made ");
});

test("a maker that is killed: the next one makes it, and nothing half-made is used", async () => {
  const { cache, input } = setUp();
  const child = start(cache, input, "await Bun.sleep(600_000);");
  await child.stdout.getReader().read();
  child.kill("SIGKILL");
  await child.exited;
  expect(readdirSync(cache).filter((name) => name.endsWith(".lock"))).toHaveLength(1);
  const folder = await once(
    "thing",
    [input],
    async (half) => writeFileSync(join(half, "made"), "by the next one"),
    cache,
  );
  expect(made(folder)).toBe("by the next one");
  expect(readdirSync(cache).filter((name) => name.endsWith(".lock"))).toEqual([]);
});

test("a maker that fails: its error, and the next one makes it", async () => {
  const { cache, input } = setUp();
  const failing = once("thing", [input], () => Promise.reject(new Error("no disk")), cache);
  expect(failing).rejects.toThrow("no disk");
  await failing.catch(() => {});
  const folder = await once("thing", [input], async (half) => writeFileSync(join(half, "made"), "x"), cache);
  expect(made(folder)).toBe("x");
});

test("made again for another input, and when it is old", async () => {
  const { cache, input } = setUp();
  let count = 0;
  const get = () =>
    once("thing", [input], async (half) => writeFileSync(join(half, "made"), String(++count)), cache);
  expect([made(await get()), made(await get())]).toEqual(["1", "1"]);
  writeFileSync(input, "2");
  const folder = await get();
  expect(made(folder)).toBe("2");
  utimesSync(folder, 1_000, 1_000);
  expect(made(await get())).toBe("3");
});
