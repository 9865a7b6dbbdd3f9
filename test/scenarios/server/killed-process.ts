// killed-process.ts: a process that publishes, takes a backup, restores one, or upgrades a database, until
// killed.test.ts kills it. It loads its modules before it prints "ready", so that the kill is in the work.

import { writeSync } from "node:fs";
import { currentName } from "@inkling/data";
import { openStore as openChannel, Publisher, readPrivateKey } from "@inkling/data/channel";
import { openStore } from "@inkling/store";
import { runHere } from "../../../packages/cli/src/program.testing.ts";
import type { ObjectStore } from "../../../packages/data/src/channel/object-store.ts";
import { smallRelease } from "../../harness/release.ts";

export type Work =
  | { readonly command: readonly string[]; readonly dataDir: string }
  | { readonly upgrade: string }
  | { readonly publish: string; readonly dataDir: string; readonly key: string; readonly from: number };

export const publisherOf = (store: ObjectStore, key: string) =>
  new Publisher({
    store,
    channel: "stable",
    privateKey: readPrivateKey(key),
    now: Date.now,
    signal: new AbortController().signal,
  });

async function run(work: Work): Promise<void> {
  if ("command" in work) {
    const env = { INKLING_DATA_DIR: work.dataDir };
    const { code, err } = await runHere(work.command, { cwd: work.dataDir, env });
    if (code !== 0) throw new Error(err);
  } else if ("upgrade" in work) {
    await (await openStore(work.upgrade)).close();
  } else {
    const publisher = publisherOf(openChannel(work.publish, {})!, work.key);
    for (let n = work.from; n < work.from + 20; n++) {
      smallRelease(work.dataDir, n);
      await publisher.publish(work.dataDir, currentName(work.dataDir)!);
    }
  }
}

if (import.meta.main) {
  const work: Work = JSON.parse(process.argv[2]!);
  // Loads what the command line loads only for its command.
  if ("command" in work) await runHere([work.command[0]!, "--help"], { cwd: work.dataDir });
  writeSync(1, "ready\n");
  await run(work);
  writeSync(1, "done\n");
  process.exit(0);
}
