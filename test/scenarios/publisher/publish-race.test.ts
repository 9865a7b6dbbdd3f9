// publish-race.test.ts: tests several builders that publish to one channel at once. One of them succeeds, and nothing
// is lost.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { currentName } from "@inkling/release-store";
import {
  makeKeyPair,
  openStore as openChannel,
  Publisher,
  readPrivateKey,
} from "@inkling/release-store/channel";
import { runHere } from "../../../packages/cli/src/program.testing.ts";
import { openStore } from "../../../packages/store/src/store.ts";
import { Postgres } from "../../harness/postgres.ts";
import { smallRelease } from "../../harness/release.ts";
import { share } from "../../harness/share.ts";
import { temporaryFolder } from "../../harness/temporary-folder.ts";

const PROCESS = join(import.meta.dir, "publishing-process.ts");
const ROUNDS = share(60, 12);
const temp = temporaryFolder();
const { privatePem } = makeKeyPair();
const keyFile = join(temp, "key.pem");
let postgres: Postgres;
beforeAll(async () => {
  writeFileSync(keyFile, privatePem);
  postgres = await Postgres.create();
});
afterAll(async () => {
  await postgres?.close();
});

async function channel(name: string) {
  const [folder, dataDir, log] = ["store", "data", "log"].map((part) => join(temp, name, part)) as [
    string,
    string,
    string,
  ];
  smallRelease(dataDir, 1);
  const publisher = new Publisher({
    store: openChannel(folder, {})!,
    channel: "stable",
    privateKey: readPrivateKey(privatePem),
    now: () => Date.now() - 86_400_000, // makes versions rise one by one
    signal: new AbortController().signal,
  });
  await publisher.publish(dataDir, currentName(dataDir)!, 100);
  writeFileSync(log, "");
  return { folder, dataDir, log };
}

/**
 * @param offsets offsets of the publishers' clocks, in milliseconds
 * @returns the version on which each successful publication was based
 */
async function race(
  name: string,
  offsets: readonly number[],
  delayMs: number,
  url: string,
): Promise<string[]> {
  const { folder, log } = await channel(name);
  const all = offsets.map((offset) =>
    Bun.spawn(
      [process.execPath, PROCESS, folder, keyFile, log, ...[ROUNDS, delayMs, offset].map(String), url],
      {
        stdout: "inherit",
        stderr: "inherit",
      },
    ),
  );
  for (const child of all) expect(await child.exited).toBe(0);
  return readFileSync(log, "utf8").trim().split("\n");
}

test("by the lock in the store, with clocks that agree", async () => {
  const versions = await race("store", [0, 0, 0], 60, "");
  expect(versions.length).toBeGreaterThan(2);
  expect(versions.length).toBe(new Set(versions).size);
});

test("by the lock of PostgreSQL, also with slow writes and a clock that is one hour off", async () => {
  const versions = await race("postgres", [0, 3_600_000, -3_600_000], 400, await postgres.freshDatabase());
  expect(versions.length).toBeGreaterThan(2);
  expect(versions.length).toBe(new Set(versions).size);
});

test("a process that held the lock of PostgreSQL ends, however long it would have waited for an answer", async () => {
  const url = await postgres.freshDatabase();
  const script = `import { openStore } from ${JSON.stringify(join(import.meta.dir, "../../../packages/store/src/store.ts"))};
    const store = await openStore(${JSON.stringify(url)}, { timeoutMs: 3_600_000 });
    console.log(await store.asPublisher((isHeld) => isHeld()));
    await store.close();`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
  expect([await child.stdout.text(), await child.exited]).toEqual(["true\n", 0]);
});

test("the command refuses while another holds the lock of PostgreSQL, and goes on without a database that is away", async () => {
  const url = await postgres.freshDatabase();
  const { folder, dataDir } = await channel("command");
  const env = { INKLING_CHANNEL: folder, INKLING_CHANNEL_SIGNING_KEY: keyFile, INKLING_DATABASE_URL: url };
  const publish = () => runHere(["channel", "publish", "--data-dir", dataDir], { env, cwd: temp });
  const store = await openStore(url);
  const held = await store.asPublisher(async (isHeld) => [await isHeld(), await publish()] as const);
  await store.close();
  expect(held).toMatchObject([
    true,
    { code: 1, err: expect.stringContaining("another publisher holds the database lock (busy)") },
  ]);
  expect(await publish()).toMatchObject({ code: 0 });
  await postgres.stop();
  try {
    const without = await publish();
    expect(without.err).toContain("publishing without the database lock");
    expect(without.code).toBe(0);
  } finally {
    await postgres.start();
  }
});
