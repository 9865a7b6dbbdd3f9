// A server's build whose process is killed, and a build whose server is killed: metric, admin API and doctor show the
// failure.

import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DATA_FOLDER, findLock, readFeedsReport } from "@inkling/data";
import { writeFeedChoice } from "../../../packages/compiler/src/catalog/feed-choice.ts";
import { inkling } from "../../harness/inkling.ts";
import { drilled } from "../../harness/recorded-rows.ts";
import { GEOLOCATE, LISTS_ALONE, smallRelease, temporaryFolder } from "../../harness/release.ts";
import { ServerProgram } from "../../harness/server-program.ts";
import { until } from "../../harness/until.ts";

/** A mirror that holds each request until the test releases it, so that the build lasts as long. */
let held = Promise.withResolvers<void>();
const mirror = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch() {
    await held.promise;
    return new Response(null, { status: 404 });
  },
});
afterAll(() => mirror.stop(true));

let server: ServerProgram;
let dataDir: string;
let build: number;
beforeEach(async () => {
  held = Promise.withResolvers<void>();
  dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  server = new ServerProgram({ dataDir, env: { INKLING_MIRROR: `http://127.0.0.1:${mirror.port}` } });
  await server.ready();
  writeFeedChoice(dataDir, LISTS_ALONE); // a changed choice starts a build
  await server.until("the build began", () => findLock(dataDir) !== undefined);
  build = findLock(dataDir)!.pid;
});
afterEach(async () => {
  held.resolve();
  await server.kill();
});

const latestBuild = async () => {
  const { out } = await inkling(["doctor", "--json", "--data-dir", dataDir]);
  return JSON.parse(out).checks.find(({ check }: { check: string }) => check === "data");
};

test("a killed build is a failed build", async () => {
  expect(await server.metric("inkling_build_failed")).toBe(0);
  process.kill(build, "SIGKILL");
  await server.until("the failure was logged", () => server.events("data-update-failed").length > 0);
  expect(server.events("data-update-failed")[0]).toMatchObject({ reason: "the build died (SIGKILL)" });
  await until(async () => (await server.metric("inkling_build_failed")) === 1);
  const found = expect.stringMatching(/^the latest build failed .*: the build died \(SIGKILL\); .*memory/);
  expect(await latestBuild()).toMatchObject({ state: "problem", found });
  expect(await server.status(GEOLOCATE)).toBe(200);
  drilled(
    import.meta.path,
    "the process that builds is killed",
    "every lookup, by the release of before",
    "the release of before; metric, admin API and `doctor` say that the build failed",
  );
});

test("a build whose server is killed says so, and asks for nothing to be fixed", async () => {
  await server.kill();
  held.resolve(); // the build reports progress, which nobody reads
  await until(() => findLock(dataDir) === undefined);
  expect(readFeedsReport(dataDir)?.failed?.why).toBe(
    "the server or command that started the build ended during the build",
  );
  expect(readFileSync(join(dataDir, DATA_FOLDER.feedsReport), "utf8")).not.toContain("EPIPE");
  expect(await latestBuild()).toMatchObject({
    state: "note",
    fix: "a running server builds again by itself; or run `inkling data update`",
  });
});
