// heap.ts: loaded into a server that is measured (BUN_OPTIONS=--preload): at SIGUSR2 it writes the state of its heap.
//
// out  the file BENCH_HEAP as JSON: bytes, and objects by type, those included that are garbage but not yet collected

import { heapStats } from "bun:jsc";
import { renameSync, writeFileSync } from "node:fs";

const file = process.env.BENCH_HEAP!;
process.on("SIGUSR2", () => {
  const { heapCapacity, extraMemorySize, objectTypeCounts } = heapStats();
  writeFileSync(
    `${file}.new`,
    JSON.stringify({ bytes: heapCapacity + extraMemorySize, types: objectTypeCounts }),
  );
  renameSync(`${file}.new`, file);
});
