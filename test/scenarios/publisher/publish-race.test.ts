// publish-race.test.ts: tests several processes that publish to one channel at once. One of them succeeds at a time,
// and nothing is lost, also if some of them are killed.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { currentName } from "@inkling/data";
import { makeKeyPair, openStore, Publisher, readPrivateKey } from "@inkling/data/channel";
import { smallRelease } from "../../harness/release.ts";
import { startS3 } from "../../harness/s3-server.ts";
import { share } from "../../harness/share.ts";
import { temporaryFolder } from "../../harness/temporary-folder.ts";
import { until } from "../../harness/until.ts";

const PROCESS = join(import.meta.dir, "publishing-process.ts");
const ROUNDS = share(60, 15);
const DELAY_MS = 60;
const temp = temporaryFolder();
const { privatePem } = makeKeyPair();
const keyFile = join(temp, "key.pem");
const bucket = startS3("inkling");
beforeAll(() => writeFileSync(keyFile, privatePem));
afterAll(() => bucket.stop());

/**
 * Publishes a first release.
 * @returns the path of an empty log, and functions that start a publisher and read the log
 */
async function channel(base: string, env: Readonly<Record<string, string>> = {}) {
  const folder = temporaryFolder();
  const [dataDir, log] = [join(folder, "data"), join(folder, "log")];
  smallRelease(dataDir, 1);
  const publisher = new Publisher({
    store: openStore(base, env)!,
    channel: "stable",
    privateKey: readPrivateKey(privatePem),
    now: Date.now,
    signal: new AbortController().signal,
  });
  const { version } = await publisher.publish(dataDir, currentName(dataDir)!);
  writeFileSync(log, "");
  return {
    version,
    publisher,
    start: () =>
      Bun.spawn([process.execPath, PROCESS, base, keyFile, log, String(ROUNDS), String(DELAY_MS)], {
        env: { ...process.env, ...env },
        stdout: "inherit",
        stderr: "inherit",
      }),
    /**
     * The rounds that published: the version on which each was based, and the new one. Two publishers of the same
     * release may write identical statements in the same second; that is one round, and succeeds for both.
     */
    rounds: () =>
      [...new Set(readFileSync(log, "utf8").split("\n"))]
        .filter((line) => line !== "")
        .map((line) => line.split(" ").map(Number) as [number, number]),
  };
}

test.each([
  ["a folder", join(temp, "store"), {}],
  ["a bucket", "s3://inkling/race", bucket.env],
] as const)("in %s, each version is based on the one before it", async (_, base, env) => {
  const { version, publisher, start, rounds } = await channel(base, env);
  const all = [start(), start(), start()];
  for (const child of all) expect(await child.exited).toBe(0);
  const sorted = rounds().sort(([, a], [, b]) => a - b);
  expect(sorted.length).toBeGreaterThan(ROUNDS / 2);
  expect(sorted.length).toBeLessThan(3 * ROUNDS); // otherwise, they never met
  expect(sorted.map(([based]) => based)).toEqual([version, ...sorted.map(([, made]) => made)].slice(0, -1));
  expect((await publisher.read())?.version).toBe(sorted.at(-1)![1]);
});

test("in a folder, publishers that are killed leave a complete statement, and others go on", async () => {
  const base = join(temp, "killed");
  const { publisher, start, rounds } = await channel(base);
  for (let kills = 0; kills < 5; kills++) {
    const before = rounds().length;
    const child = start();
    await until(() => rounds().length > before);
    child.kill("SIGKILL");
    await child.exited;
    expect((await publisher.read())!.version).toBeGreaterThanOrEqual(rounds().at(-1)![1]);
  }
  const found = (await publisher.read())!.version;
  expect((await publisher.renew()).version).toBeGreaterThan(found);
}, 180_000);
