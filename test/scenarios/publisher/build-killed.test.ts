// Tests that a build that is killed at any moment leaves a data folder that opens, and from which the next build
// continues.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { currentName, releaseNames, verifyRelease } from "@inkling/data";
import { type FeedsReport, feedsReport } from "@inkling/engine";
import { type Script, startScript } from "../../../packages/compiler/src/fetch/publisher.testing.ts";
import { build } from "../../../packages/compiler/src/pipeline/build.ts";
import { drilled, IS_DRILL } from "../../harness/recorded-rows.ts";
import { temporaryFolder } from "../../harness/release.ts";
import { share } from "../../harness/share.ts";
import { smallFeeds } from "../../harness/small-feeds.ts";

/** In the drill, 60 of its 200 kills. */
const KILLS = IS_DRILL ? 60 : share(200, 16);
/** Processes at once, as many as a small machine has cores. */
const AT_A_TIME = 2;
const LOOP = resolve(import.meta.dir, "build-loop.ts");

let script: Script;
beforeAll(async () => {
  script = await startScript();
  // The answer differs for each request, so that each build writes bodies, states, segments and a release.
  script.answer = (request, response) => {
    const n = script.count % 250;
    const body =
      request.url === "/networks" ? `45.66.100.1\n45.66.101.${n}\n` : `disposable-${n}.com\nmailinator.com\n`;
    response.writeHead(200).end(body);
  };
});
afterAll(() => script.stop());

interface Seen {
  kills: number;
  /** Kills while a build held the folder's lock. */
  amidBuild: number;
  /** Kills that left an unreferenced partial file. */
  litter: number;
  /** Kills after which another release was in use. */
  moved: number;
}

/**
 * Were there enough kills during builds? The number of kills this takes depends on the machine's other load.
 */
const isEnough = ({ kills, amidBuild, moved, litter }: Seen) =>
  amidBuild > kills / 2 && moved > KILLS / 40 && litter > 0;

const start = (dataDir: string) =>
  Bun.spawn([process.execPath, LOOP, dataDir, script.base], { stdout: "pipe", stderr: "inherit" });

/** Milliseconds from the start of a process's first build to its end. */
async function firstBuildMs(): Promise<number> {
  const child = start(temporaryFolder());
  const output = child.stdout.getReader();
  await output.read();
  const from = performance.now();
  await output.read();
  child.kill("SIGKILL");
  await child.exited;
  return performance.now() - from;
}

async function killOnce(dataDir: string, latestMs: number, seen: Seen): Promise<void> {
  const before = currentName(dataDir);
  const child = start(dataDir);
  await child.stdout.getReader().read();
  await Bun.sleep(Math.random() * latestMs);
  child.kill("SIGKILL");
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
  seen.kills++;
  if (existsSync(join(dataDir, "build.lock"))) seen.amidBuild++;
  const after = currentName(dataDir);
  if (after !== before) seen.moved++;
  if (after !== undefined) verifyRelease(dataDir, after); // throws if any byte is wrong
  if (readdirSync(dataDir, { recursive: true }).some((name) => String(name).includes(".tmp-"))) seen.litter++;
  const report = join(dataDir, "feeds/report.json");
  if (existsSync(report)) feedsReport.parse(JSON.parse(readFileSync(report, "utf8")));

  const next = await build(
    { dataDir, fetch: true, onlyDue: false, accept: [], credentials: {} },
    { now: () => new Date(), chance: Math.random, emit: () => {}, feeds: smallFeeds(script.base) },
  );
  expect(next).toMatchObject({ published: true, held: [], failed: [] });
  expect(currentName(dataDir)).toBe(next.name);
  const { feeds }: FeedsReport = feedsReport.parse(JSON.parse(readFileSync(report, "utf8")));
  expect(feeds.map(({ state, error }) => [state, error])).toEqual([
    ["loaded", undefined],
    ["loaded", undefined],
  ]);
  expect(releaseNames(dataDir).length).toBeLessThanOrEqual(5);
  expect(readdirSync(dataDir, { recursive: true }).filter((name) => String(name).includes(".tmp-"))).toEqual(
    [],
  );
}

test(`killed at ${KILLS} random moments`, async () => {
  const seen: Seen = { kills: 0, amidBuild: 0, litter: 0, moved: 0 };
  const latestMs = 2 * Math.max(...(await Promise.all(Array.from({ length: AT_A_TIME }, firstBuildMs))));
  const track = async () => {
    const dataDir = temporaryFolder();
    while (seen.kills < KILLS || (!isEnough(seen) && seen.kills < 5 * KILLS))
      await killOnce(dataDir, latestMs, seen);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, track));
  expect(seen.kills).toBeGreaterThanOrEqual(KILLS);
  expect([seen, isEnough(seen)]).toEqual([seen, true]);
  drilled(
    import.meta.path,
    `kill -9 at ${KILLS} random points of a build`,
    "the release of before, or the new one, with every byte verified",
    "the copies of feeds and at most five releases; the next build succeeds and leaves no part of a file",
  );
});
