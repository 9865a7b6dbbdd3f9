// first-release.test.ts: tests `inkling serve` without a release that opens. It starts, returns 503, builds at once,
// and serves the first release.

import { afterEach, expect, test } from "bun:test";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GEOLOCATE, smallRelease, temporaryFolder } from "../../harness/release.ts";
import { ServerProgram } from "../../harness/server-program.ts";
import { until } from "../../harness/until.ts";

let server: ServerProgram | undefined;
afterEach(() => server?.kill());

/** Replaces each segment by a file that is not a segment. */
function damage(dataDir: string): void {
  const folder = join(dataDir, "segments");
  for (const name of readdirSync(folder)) {
    rmSync(join(folder, name));
    if (name.endsWith(".seg")) writeFileSync(join(folder, name), "not a segment");
  }
}

const cases: [name: string, prepare: (dataDir: string) => void, refusals: number][] = [
  ["an empty data folder", () => {}, 0],
  [
    "a release that does not open",
    (dataDir) => {
      smallRelease(dataDir, 1);
      damage(dataDir);
    },
    1,
  ],
];
test.each(cases)("%s", async (_, prepare, refusals) => {
  const dataDir = temporaryFolder();
  prepare(dataDir);
  writeFileSync(join(dataDir, "build.lock"), String(process.pid)); // another process is building
  server = new ServerProgram({ dataDir });
  const { child } = server;
  await until(() => {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${server!.err}`);
    return server!.events("data-update-busy").length > 0; // the server has tried to build
  });
  expect([
    await server.status("/healthz"),
    await server.status("/readyz"),
    await server.status(GEOLOCATE),
  ]).toEqual([200, 503, 503]);
  expect(await server.metric("inkling_ready")).toBe(0);
  expect(server.events("no-release")).toMatchObject([{ level: "error", data_dir: dataDir }]);
  expect(server.events("release-refused")).toHaveLength(refusals);
  smallRelease(dataDir, 2);
  await until(async () => (await server!.status(GEOLOCATE)) === 200);
  expect(await server.status()).toBe(200);
  expect(await server.metric("inkling_ready")).toBe(1);
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
});
