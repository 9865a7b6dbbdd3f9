// limits.ts: of each target that is not reached: what limits it, by a profile, and what was tried. Written by hand; quoted by
// RESULTS.md when the figures say that the target is not reached, and unused otherwise.

const MEMORY =
  "Waiting for memory: finding an IPv4 address takes 16 ns where the processor may begin with the next one meanwhile, and 70 after a text " +
  "was read, three reads one after the other; reading one byte of the answer takes 35 more, a chase through 256 MB 155 ns a step here, through " +
  "16 MB 15. Tries of bitmaps, answers by popularity and kept views took a third off; what else was tried is in bench/README.md, Layouts.";
const MEMORY_V6 =
  "Waiting for memory: of 270 to 310 ns in one process 60 read the text and ask whether it is special, 165 find the value (eight reads, most " +
  "of them one after the other, in 30 MB), 45 read one byte of the answer. Tries of bitmaps took 80 ns off, answers by popularity 90, an index by " +
  "the first 32 bits 50. On top of it nothing more came of nodes as arrays, of lists compared without a loop, and of two other ways to " +
  "read a text (bench/README.md, Layouts).";
const GROWTH =
  "Memory: the file grows from 277 MB to 2.1 GB and the answers from 0.6 to 4.4 million. Of an IPv4 look-up, reading the text stays at 33 ns, finding goes " +
  "from 65 to 165, the view from 15 to 80 (32,768 are kept), its last byte from 45 to 100: every step reads what is in no cache any more. Huge pages and " +
  "more kept views changed nothing (bench/README.md, Growth). A slower table grows less: binary search took 1.66 and 1.48 times, and 561 and 1,040 ns.";
const BUN =
  "Bun.serve itself: of 12.4 µs under perf 8.1 are the kernel's (5.9 with a bare Bun.serve, which waits less for memory), 3.1 Bun's native code (1.4), " +
  "0.4 libc, and 0.7 the JavaScript of look-up, key, limits, usage and metrics. What would be left is an HTTP parser of our own on Bun.listen, 0.9 times a " +
  "bare Bun.serve: not at a front door, where a parser that others keep well counts for more. What was tried is in bench/README.md, HTTP.";

/** By the id of a target (lib/targets.ts). */
export const LIMITS: Readonly<Record<string, string>> = {
  "v4-bun": MEMORY,
  "v4-node": MEMORY,
  "v6-bun": MEMORY_V6,
  "v6-node": MEMORY_V6,
  "worker-memory": "Garbage that nobody has collected yet, and code that the runtime has compiled.",
  "size-email":
    "What makes a name quick to find: of 2.0 MB from the mirror's lists, 0.65 MB of text or some 20 bytes a name, 0.7 are names with two numbers each, 0.5 slots, " +
    "0.7 answers as they go out. One table for answers and evidence instead of two took it from 4.6 to 3.1 times; from the seeds, whose lists have more " +
    "in common, it is 1.5 times.",
  "growth-IPv4": GROWTH,
  "growth-IPv6": GROWTH,
  cpu: BUN,
  "cpu-bare": BUN,
  "cpu-log": BUN,
  rate: BUN,
  tail:
    "Waiting for a core, not work. Of the answers that took more than 1 ms, perf sched, set beside the client's record of them, has 6 % " +
    "while the server's main thread worked, 19 % while its runtime's own threads (compiler, allocator) had the one core that it may have, 64 % while kernel " +
    "threads, other programs and perf had it, 11 % while the client was away. It reached 2.5 to 3.3 ms at 40,000 requests/s in quieter minutes. " +
    "Before garbage was collected every 4,096 requests it was 4.5 to 9.0 ms, and 40 % of the late answers the main thread's: 4 to 8 ms of " +
    "sweeping at a time. The notes below say how long server and client waited in this run, and nginx stands beside it.",
  "swap-memory":
    "The mean, not the memory: what is allocated between two swaps is 46 to 48 MB from the first minute to the last, and 244 to 253 MB for the moments in which a " +
    "release is verified. In the run whose means rose from 66 to 117 MB the machine was slow at first, and most releases were replaced before their turn.",
  start:
    "Loading: the supervisor's command line (commander, zod, engine) takes 55 ms, settings and its own modules 37 more, release, keys and overrides " +
    "20; a worker loads its code beside it (bench/README.md, Workers).",
};
