// start.ts: from exec to the first answer from data: the first start, which builds, and later ones.
//
// Packages are installed. Publishers are not contacted (INKLING_OFFLINE=1).

import { availableParallelism } from "node:os";
import {
  emptyFolder,
  inkling,
  lastBuild,
  linkedCopy,
  nameFor,
  ROOT,
  releaseFolder,
  removeFolder,
  updateRelease,
} from "../lib/data.ts";
import type { Contestant, Run } from "../lib/record.ts";
import { freePort, startServer, TOKEN } from "../lib/server.ts";

const NPM_START = ["npm", "start"];
const KEY = "exec to first answer, ms";

/** Milliseconds from starting the command to the first answer. */
async function start(
  run: Run,
  command: readonly string[],
  dataDir: string,
  workers?: number,
): Promise<number> {
  const port = freePort();
  const env = {
    INKLING_DATA_DIR: dataDir,
    INKLING_PORT: String(port),
    INKLING_ADMIN_PORT: String(freePort()),
    INKLING_API_KEY: TOKEN,
    INKLING_OFFLINE: "1",
    ...(workers !== undefined && { INKLING_WORKERS: String(workers) }),
  };
  const path = "/v1/ip-intel/geolocate/81.2.69.142";
  const options = { env, cwd: ROOT, limitSeconds: 120, probeMs: 2 };
  const started = performance.now();
  const server = await startServer(run, command, port, path, options);
  const took = performance.now() - started;
  await server.stop();
  return took;
}

export async function measureStart(run: Run): Promise<void> {
  const what = "start with a release";
  const contestants: Contestant[] = [];
  for (const checkout of run.checkouts) {
    await updateRelease(checkout); // otherwise `npm start` would build
    const copy = await linkedCopy(releaseFolder(checkout), nameFor("start", checkout));
    const add = (who: string, command: readonly string[], workers?: number) => {
      const measure = async () => ({ [KEY]: await start(run, command, copy, workers) });
      contestants.push({ what, who: who + checkout.suffix, measure });
    };
    add("inkling serve, by the launcher on Node", inkling(checkout.root, "serve"));
    if (!run.hasPeers) continue;
    const onBun = [process.execPath, "--no-install", "--no-env-file", "packages/cli/src/main.ts", "serve"];
    add("npm start", NPM_START);
    add("inkling serve, on Bun directly", onBun);
    add("inkling serve, on Bun directly, one worker", onBun, 1);
  }
  await run.alternate(contestants, run.size(7, 3));
  run.note(`cores, and so workers, up to 8: ${availableParallelism()}`);
  for (const checkout of run.checkouts) removeFolder(nameFor("start", checkout));
  if (!run.hasPeers) return;
  if (run.isQuick) return run.note("left out: the first start in an empty data folder");
  const first = "first start, in an empty data folder";
  const empty = emptyFolder("first-start");
  run.row(first, "npm start", "exec to first answer, s", [(await start(run, NPM_START, empty)) / 1000]);
  run.row(first, "of this, the build", "exec to first answer, s", [lastBuild(empty).seconds]);
  removeFolder("first-start");
}
