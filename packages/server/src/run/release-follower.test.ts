// Tests what a thread that answers requests does if the release that the primary names does not open.

import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { releaseId } from "@inkling/data";
import { ANSWERS, type Release, releaseName } from "@inkling/engine";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { ReleaseFollower } from "./release-follower.ts";

const dataDir = temporaryFolder();
mkdirSync(join(dataDir, "releases"));
mkdirSync(join(dataDir, "segments"));

/** Publishes a release whose only segment is 100 invalid bytes. Without `sha256`, the release has no segment to map. */
function publish(day: number, sha256?: string): string {
  const content: Omit<Release, "id"> = {
    format: 1,
    created_at: `2026-06-0${day}T00:00:00.000Z`,
    code: "0".repeat(64),
    segments: sha256 === undefined ? {} : { geo: { sha256, bytes: 100, inputs: sha256 } },
    feeds: [],
    missing: [...ANSWERS],
    partial: [],
  };
  const release = { id: releaseId(content), ...content };
  if (sha256 !== undefined) writeFileSync(join(dataDir, `segments/${sha256}.seg`), "x".repeat(100));
  writeFileSync(join(dataDir, `releases/${releaseName(release)}.json`), JSON.stringify(release));
  return releaseName(release);
}

test("it waits for a release that opens, and is ready when there is none to wait for", async () => {
  const logged: unknown[][] = [];
  let [failed, settled] = [0, 0];
  const follower = new ReleaseFollower(
    dataDir,
    { error: (_, { name, reason } = {}) => void logged.push([name, reason]) },
    () => failed++,
    () => settled++,
  );
  const rest = { type: "release", wanted: undefined, refused: undefined, since: 0 } as const;
  const sendRelease = (name: string | undefined) => follower.follow({ ...rest, name });
  const [empty, other] = [publish(1), publish(2, "a".repeat(64))];

  await sendRelease(other);
  await sendRelease(other);
  expect([follower.isReady, follower.current, settled]).toEqual([false, undefined, 0]);
  expect(failed).toBe(2);
  expect(logged).toEqual([[other, expect.stringContaining("not an Inkling segment")]]);

  await sendRelease(undefined);
  expect([follower.isReady, settled]).toEqual([true, 1]); // a waiting worker now answers 503, as all workers do
  await sendRelease(empty);
  expect([follower.isReady, follower.current?.name, settled]).toEqual([true, empty, 2]);
  await sendRelease(other);
  expect([follower.isReady, follower.current?.name]).toEqual([true, empty]);
  const opened = follower.current;
  await sendRelease(empty);
  expect(follower.current).toBe(opened!);
  await sendRelease(undefined);
  expect([follower.isReady, follower.current, settled]).toEqual([true, undefined, 4]);
  await follower.stop();
});
