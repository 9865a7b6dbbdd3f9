import { expect, test } from "bun:test";
import { crashReport } from "./crash-report.ts";

const REPORT = `
============================================================
Bun v1.4.5 (a7733435c) Linux x64
Linux Kernel v6.18.44 | glibc v2.36
CPU: sse42 popcnt avx avx2 avx512
Args: "/opt/inkling/node_modules/bun/bin/bun.exe" "--no-install" "/opt/inkling/worker.js"
Features: jsc
Builtins: "bun:ffi" "bun:main"
RSS: 26.31 MB | Peak: 26.31 MB | Commit: 34.87 MB | Faults: 0 | Machine: 25.28 GB

panic(main thread): Segmentation fault at address 0x8
oh no: Bun has crashed. This indicates a bug in Bun, not your code.

To send a redacted crash report to Bun's team,
please file a GitHub issue using the link below:

 https://bun.report/1.4.5/la1a773343AggggC
`;

test("version and cause are kept, without paths, links and arguments", () => {
  expect(crashReport(REPORT)).toEqual([
    "Bun v1.4.5 (a7733435c) Linux x64",
    "Linux Kernel v6.18.44 | glibc v2.36",
    "CPU: sse42 popcnt avx avx2 avx512",
    "RSS: 26.31 MB | Peak: 26.31 MB | Commit: 34.87 MB | Faults: 0 | Machine: 25.28 GB",
    "panic(main thread): Segmentation fault at address 0x8",
  ]);
});

test("a line with a key, an email address or an address is dropped", () => {
  const lines = ["ink_live_x", "of jane@example.com", "8.8.8.8", "2001:db8::1", "::1", "out of memory"];
  expect(crashReport(lines.join("\n"))).toEqual(["out of memory"]);
});

test("what is long is cut", () => {
  expect(crashReport(`${"a".repeat(1000)}\n`.repeat(100))).toEqual(Array(12).fill("a".repeat(200)));
});
