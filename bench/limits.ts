// limits.ts: of each target that is not reached: what limits it, by a profile, and what was tried. Written by hand; quoted by
// RESULTS.md when the figures say that the target is not reached, and unused otherwise.

const MEMORY =
  "An answer is 350 bytes among 230 MB: a random one misses cache and page table (a chase through 256 MB takes 155 ns a step here, " +
  "through 16 MB 15 ns), and so does the text of a random address. Finding takes 40 ns of it; keeping views of lately asked " +
  "answers took a quarter off; answers in pieces and five other layouts are in bench/README.md, Layouts.";
const BUN =
  "bench/request-time.ts takes the handler apart: of 6.1 µs for a bare Bun.serve answer, ours adds 0.4 for reading URL and headers, 0.3 " +
  "for writing two headers, 0.6 for the look-up's memory, and 0.6 for key, limits, usage and metrics. What was tried is in " +
  "bench/README.md, HTTP.";

/** By the id of a target (lib/targets.ts). */
export const LIMITS: Readonly<Record<string, string>> = {
  "v4-bun": MEMORY,
  "v4-node": MEMORY,
  "v6-bun": `${MEMORY} Finding takes 170 ns: tries of bitmaps gave 70 ns less, and are the next thing to try.`,
  "v6-node": `${MEMORY} Finding takes 170 ns: tries of bitmaps gave 70 ns less, and are the next thing to try.`,
  "email-bun":
    "Of 513 ns in one process: 378 read the address (170 of them tldts' walk through the public suffixes, 50 the host to ASCII, the rest the " +
    "grammar and its objects), 97 find the providers, 40 write an answer with providers in it. The suffix walk is a library's.",
  "worker-memory":
    "Garbage that nobody has collected yet: 43 to 77 MB in three runs of this part within ten minutes.",
  "growth-IPv4":
    "Nearly all of it is memory: the file grows from 292 MB to 2.2 GB, so that hardly anything of it is in a cache.",
  "growth-IPv6":
    "Nearly all of it is memory: the file grows from 292 MB to 2.2 GB, so that hardly anything of it is in a cache.",
  size:
    "2.05 times all sources, 2.18 times DB-IP's file alone, since answers carry an accuracy radius. Answers in pieces make it 200 MB, and look-ups on Node twice as slow " +
    "(bench/README.md, Layouts).",
  cpu: BUN,
  "cpu-bare": BUN,
  "cpu-log": BUN,
  rate: BUN,
  tail:
    "Waiting for a core, not work: in 12 s at half of capacity the server's main thread was ready and not running for 0.6 to 2.0 s " +
    "(schedstat), because this machine has two cores and other programs on them. Its longest collection of garbage took 1.4 ms " +
    "(BUN_JSC_logGC), its longest system call 0.2 ms (strace). Its other threads on the other core: no change. nginx in the same run " +
    "does not keep to it, either.",
  start:
    "Loading: 40 ms of it is the server's own modules, 25 ms zod, 8 ms commander; what a start does not need is loaded later " +
    "(bench/README.md, Workers).",
};
