// Tests who may write the result of a build, and when a build counts as failed.

import { expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { failureOf, readBuildResult, writeBuildResult } from "./build-result.ts";
import { makeKeyPair, readPrivateKey } from "./envelope.ts";
import { openStore } from "./open-store.ts";

const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 5, 1, 12);
const time = (ms: number) => new Date(ms).toISOString();
const { signal } = new AbortController();
const result = { at: time(NOON), next_at: time(NOON + HOUR), failed: null };

const rows: [string, number, number, string | undefined][] = [
  ["before the next one is due", HOUR, 0.5 * HOUR, undefined],
  ["one cadence late", HOUR, 2 * HOUR, undefined],
  ["more than one cadence late", HOUR, 2 * HOUR + 1, "built nothing since 2026-06-01T12:00:00.000Z"],
  ["a short cadence counts as an hour", 60_000, HOUR, undefined],
  ["a daily cadence", 24 * HOUR, 47 * HOUR, undefined],
  ["a daily cadence, missed twice", 24 * HOUR, 49 * HOUR, "built nothing since"],
  ["a clock that is behind", HOUR, -HOUR, undefined],
];
test.each(rows)("a build that succeeded: %s", (_, cadence, age, why) => {
  const found = failureOf({ ...result, next_at: time(NOON + cadence) }, NOON + age);
  if (why === undefined) expect(found).toBeUndefined();
  else expect(found?.why).toContain(why);
});

test("a build that failed, whatever its age", () => {
  const failed = { at: time(NOON), why: "the disk is full" };
  expect(failureOf({ ...result, failed }, NOON)).toEqual({
    at: failed.at,
    why: "on the builder: the disk is full",
  });
});

test("only the trusted key's result for this channel is read", async () => {
  const folder = temporaryFolder();
  const store = openStore(folder, {})!;
  const pairs = [makeKeyPair(), makeKeyPair()] as const;
  const [own, other] = pairs.map(({ privatePem }) => readPrivateKey(privatePem)) as [never, never];
  const trusted = [pairs[0].publicKey];
  expect(await readBuildResult(store, "stable", trusted, signal)).toBeUndefined();
  await writeBuildResult(store, "stable", other, result, signal);
  await expect(readBuildResult(store, "stable", trusted, signal)).rejects.toThrow("signed with another key");
  await writeBuildResult(store, "stable", own, result, signal);
  expect(await readBuildResult(store, "stable", trusted, signal)).toMatchObject(result);
  cpSync(join(folder, "builds/stable.json"), join(folder, "builds/canary.json"));
  await expect(readBuildResult(store, "canary", trusted, signal)).rejects.toThrow(
    "not the result of a build",
  );
});
