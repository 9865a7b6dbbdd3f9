// build-loop.ts: a process that builds release after release from a publisher's small lists, until it is killed.

import { writeSync } from "node:fs";
import { build } from "../../../packages/compiler/src/pipeline/build.ts";
import { smallFeeds } from "../../harness/small-feeds.ts";

const [dataDir, base] = process.argv.slice(2) as [string, string];
writeSync(1, "ready\n");
for (;;) {
  await build(
    { dataDir, fetch: true, onlyDue: false, accept: [], credentials: {} },
    { now: () => new Date(), chance: Math.random, emit: () => {}, feeds: smallFeeds(base) },
  );
  writeSync(1, "built\n");
}
