// neighbour.ts: simulates another tenant of the machine. It streams through its memory, so that the caches hold its
// data instead of the measured program's.
//
// run  bun neighbour.ts MEGABYTES

const DOUBLES_A_LINE = 8;
const memory = new Float64Array((Number(process.argv[2]) * 1e6) / Float64Array.BYTES_PER_ELEMENT).fill(1);

/** Reads and writes one number in every cache line, in order. */
function pass(): void {
  for (let i = 0; i < memory.length; i += DOUBLES_A_LINE) memory[i]! += 1;
}

let [passes, isOver] = [0, false];
process.once("SIGTERM", () => {
  isOver = true;
});
process.stdout.write("ready\n");
const from = performance.now();
while (!isOver) {
  pass();
  passes++;
  await new Promise(setImmediate); // signals are delivered between two passes
}
const seconds = (performance.now() - from) / 1000;
process.stdout.write(`${JSON.stringify({ gigabytes: (passes * memory.byteLength) / 1e9, seconds })}\n`);
