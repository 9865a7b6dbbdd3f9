import { expect, test } from "bun:test";
import { BatchMemory } from "./memory.ts";

test.each([
  [1, 32],
  [2, 16],
  [4, 8],
  [64, 8],
])("one of %i workers lets a key have %i streams", (workers, streams) => {
  const { streams: shares } = new BatchMemory(workers);
  for (let i = 0; i < 100; i++) shares.take("key_1");
  expect(shares.of("key_1")).toBe(streams);
});
