// start.ts: how long `npm start` takes to its first answer, and what the first build needs in memory.
//
// run  npx bun bench/start.ts
// out  one table: the first start in an empty data folder, then later starts
// The packages must be installed (npm start or npm test did that). Publishers are not asked: INKLING_OFFLINE=1.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { newKeyToken } from "@inkling/server";

const ROOT = resolve(import.meta.dir, "..");
const LATER_STARTS = 9;
const LIMIT_MS = 120_000;

const dataDir = mkdtempSync(join(tmpdir(), "inkling-bench-start-"));
const key = newKeyToken("live", (n) => crypto.getRandomValues(new Uint8Array(n)));

function freePort(): number {
  const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = probe;
  probe.stop(true);
  return port;
}

/** Milliseconds from starting the command to the first answer with data in it. */
async function start(command: readonly string[]): Promise<number> {
  const port = freePort();
  const env = {
    ...process.env,
    INKLING_DATA_DIR: dataDir,
    INKLING_PORT: String(port),
    INKLING_ADMIN_PORT: String(freePort()),
    INKLING_API_KEY: key,
    INKLING_OFFLINE: "1",
  };
  const started = performance.now();
  const child = Bun.spawn([...command], { cwd: ROOT, env, stdout: "ignore", stderr: "ignore" });
  try {
    const url = `http://127.0.0.1:${port}/v1/ip-intel/geolocate/81.2.69.142`;
    while (performance.now() - started < LIMIT_MS) {
      if (child.exitCode !== null) throw new Error(`${command.join(" ")} ended with ${child.exitCode}`);
      const status = await fetch(url, { headers: { Authorization: `Bearer ${key}` } }).then(
        (response) => response.status,
        () => undefined, // not listening yet
      );
      if (status === 200) return performance.now() - started;
      await Bun.sleep(5);
    }
    throw new Error(`no answer within ${LIMIT_MS / 1000} s`);
  } finally {
    child.kill("SIGTERM");
    await child.exited;
  }
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
const spread = (values: number[]) => {
  const sorted = values.toSorted((a, b) => a - b);
  return `${seconds(sorted[sorted.length >> 1]!)} (${seconds(sorted[0]!)} to ${seconds(sorted.at(-1)!)})`;
};

try {
  const first = await start(["npm", "start"]);
  const build = JSON.parse(readFileSync(join(dataDir, "last-build.json"), "utf8"));
  const viaNpm: number[] = [];
  const direct: number[] = [];
  for (let i = 0; i < LATER_STARTS; i++) {
    viaNpm.push(await start(["npm", "start"]));
    direct.push(await start(["node", "packages/cli/bin/inkling.mjs", "serve"]));
  }
  const rows = [
    ["npm start, empty data folder, to the first answer", seconds(first)],
    [
      "  of this, the build",
      `${build.seconds.toFixed(1)} s, at most ${(build.peak_bytes / 1e9).toFixed(2)} GB of memory`,
    ],
    [`npm start with a release, median of ${LATER_STARTS} (least to most)`, spread(viaNpm)],
    [`inkling serve with a release, median of ${LATER_STARTS} (least to most)`, spread(direct)],
  ];
  const cpu = cpus();
  process.stdout.write(`${cpu.length} cores, ${cpu[0]?.model}; Bun ${Bun.version}\n\n`);
  for (const [what, figure] of rows) process.stdout.write(`| ${what} | ${figure} |\n`);
} finally {
  rmSync(dataDir, { recursive: true, force: true });
}
