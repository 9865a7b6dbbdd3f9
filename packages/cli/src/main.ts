// main.ts: the process of the `inkling` command, on Bun. Started by bin/inkling.mjs.
//
// note imports nothing that takes time to load: where there will be workers, the first one is started before that, and
// loads its code beside this process. The first answer of `inkling serve` comes 40 ms sooner for it, on 2 cores.

import { availableParallelism } from "node:os";
import { StandbyWorker } from "@inkling/server/standby";
import { processEnvironment } from "./config/environment.ts";

const args = Bun.argv.slice(2);
const standby = hasWorkers() ? startStandby() : undefined;
const { runCommandLine } = await import("./command-line.ts");
await runCommandLine(args, standby);

/** As far as can be told without reading the settings: when they say otherwise, the worker is dismissed. */
function hasWorkers(): boolean {
  if (args[0] !== "serve" || args.includes("--help") || process.platform !== "linux") return false;
  const { INKLING_WORKERS: workers } = processEnvironment;
  return workers === undefined || workers === "" ? availableParallelism() > 1 : workers !== "1";
}

function startStandby(): StandbyWorker | undefined {
  try {
    return new StandbyWorker();
  } catch {
    return undefined; // the server tries again, and tells why it cannot
  }
}
