// start.ts: measures the time from exec to the first answer from data, for the first start, which builds a release, and
// for later starts.
//
// Packages are installed beforehand. Publishers are not contacted (INKLING_OFFLINE=1).

import { availableParallelism } from "node:os";
import { join } from "node:path";
import { BUN_FLAGS } from "../../packages/cli/bin/launch.mjs";
import * as data from "../lib/data.ts";
import { recordKernel } from "../lib/peers.ts";
import { output, usageOf, usageValues } from "../lib/proc.ts";
import type { Contestant, Run } from "../lib/record.ts";
import { freePort, startServer, TOKEN } from "../lib/server.ts";

const NPM_START = ["npm", "start"];
const ON_BUN = [process.execPath, ...BUN_FLAGS, "packages/cli/src/main.ts", "serve"];
const LATER = "start with a release";
const FIRST = "first start, in an empty data folder";

/** Measures from starting the command to the first answer. */
async function start(run: Run, command: readonly string[], dataDir: string, more = {}) {
  const port = freePort();
  const env = {
    INKLING_DATA_DIR: dataDir,
    INKLING_PORT: String(port),
    INKLING_ADMIN_PORT: String(freePort()),
    INKLING_API_KEY: TOKEN,
    INKLING_OFFLINE: "1",
    ...more,
  };
  const options = { env, cwd: data.ROOT, limitSeconds: 120, probeMs: 2 };
  const started = performance.now();
  const server = await startServer(run, command, port, "/v1/ip-intel/geolocate/81.2.69.142", options);
  const took = performance.now() - started;
  const used = usageOf(server.pid);
  await server.stop();
  return { took, used };
}

/** Builds the executable of the Debian package and the image. @returns its path */
async function executable(): Promise<string> {
  const folder = join(data.cacheFolder("executable"), "built");
  await output([process.execPath, "scripts/binary.ts", "--out", folder], { cwd: data.ROOT });
  return join(folder, "inkling");
}

export async function measureStart(run: Run): Promise<void> {
  await recordKernel(run);
  const contestants: Contestant[] = [];
  for (const checkout of run.checkouts) {
    await data.updateRelease(checkout); // otherwise `npm start` would build
    const name = data.nameFor("start", checkout);
    const copy = await data.linkedCopy(data.releaseFolder(checkout), name);
    run.defer(() => data.removeFolder(name));
    const add = (who: string, command: readonly string[], env = {}) => {
      const measure = async () => {
        const { took, used } = await start(run, command, copy, env);
        return { "exec to first answer, ms": took, ...usageValues(used) };
      };
      contestants.push({ what: LATER, who: who + checkout.suffix, measure });
    };
    add("inkling serve", [join(checkout.root, "node_modules/.bin/inkling"), "serve"]);
    if (!run.hasPeers) continue;
    add("npm start", NPM_START);
    add("inkling serve, on Bun directly", ON_BUN);
    add("inkling serve, on Bun directly, one worker", ON_BUN, { INKLING_WORKERS: "1" });
    add("inkling serve, the executable", [await executable(), "serve"]);
  }
  await run.alternate(contestants, run.size(7, 3));
  run.note(`cores, and so workers, up to 8: ${availableParallelism()}`);
  if (run.isQuick) run.note("left out: the first start in an empty data folder");
  if (run.isQuick || !run.hasPeers) return;
  const empty = data.emptyFolder("first-start");
  run.defer(() => data.removeFolder("first-start"));
  const { took } = await start(run, NPM_START, empty);
  run.row(FIRST, "npm start", "exec to first answer, s", [took / 1000]);
  run.row(FIRST, "of this, the build", "exec to first answer, s", [data.lastBuild(empty).seconds]);
}
