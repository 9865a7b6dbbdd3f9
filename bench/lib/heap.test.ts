// What a process allocates: counted in one that makes a known number of objects.

import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { allocated, collectionsIn, heapOf } from "./heap.ts";
import { PEERS } from "./peers.ts";
import { lineReader } from "./proc.ts";

/** Enough to fill blocks of memory. */
const COUNT = 20_000;

test("a process without collections keeps every object that it made", async () => {
  const folder = mkdtempSync(join(tmpdir(), "inkling-heap-"));
  const file = join(folder, "heap.json");
  const script = `let last;
  process.stdin.on("data", () => {
    for (let i = 0; i < ${COUNT}; i++) last = new Headers();
    process.stdout.write("made\\n");
  });
  process.stdout.write("ready\\n");`;
  const command = [process.execPath, "--preload", join(PEERS, "heap.ts"), "-e", script];
  const env = { ...process.env, BENCH_HEAP: file, BUN_JSC_useGC: "0" };
  const child = Bun.spawn(command, { env, stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  const next = lineReader(child, command);
  const make = async () => {
    child.stdin.write("go");
    await child.stdin.flush();
    await next();
  };
  await next();
  await make();
  const states = [];
  for (let i = 0; i < 2; i++) states.push(await heapOf(child.pid, file));
  await make();
  const { types, bytes } = allocated(states[0]!, states[1]!, await heapOf(child.pid, file), COUNT);
  child.kill();
  await child.exited;
  rmSync(folder, { recursive: true });
  expect(types.Headers).toBe(1);
  expect(bytes).toBeGreaterThan(8);
});

test("what writing the state allocates is no request's; types that are not of every request are left out", () => {
  const heap = (bytes: number, types: Record<string, number>) => ({ bytes, types });
  const found = allocated(
    heap(1_000, { string: 10 }),
    heap(1_100, { string: 15, Object: 7 }),
    heap(3_200, { string: 220, Object: 114, BigInt: 4, Headers: 100 }),
    100,
  );
  expect(found).toEqual({ bytes: 20, types: { string: 2, Object: 1, Headers: 1 } });
  expect(Object.keys(found.types)[0]).toBe("string");
});

test("collections in a log", () => {
  const log = `{"event":"listening"}
[GC<0x2>: START M 928kb => EdenCollection, a=0kb i#3:P<Msm(0)>Pbc => 335kb, p=10.731268ms (max 10.731268), cycle 10.7ms END]
GC END!
[GC<0x2>: START M 985kb => FullCollection, a=0kb i#3:P<Msm(0)>Pbc => 336kb, p=0.337023ms (max 10.731268), cycle 0.3ms END]
`;
  expect(collectionsIn(log)).toEqual([10.731268, 0.337023]);
});
