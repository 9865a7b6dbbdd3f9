// start.ts: how long it takes from exec to the first answer with data in it; the first start, which builds, and later ones.
//
// run  npx bun bench/start.ts [--quick]
// "One worker" is INKLING_WORKERS=1, one process; else the server has as many as it takes by itself.
// The packages must be installed (npm start or npm test did that). Publishers are not asked: INKLING_OFFLINE=1.

import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { emptyFolder, linkedCopy, ROOT, upToDateRelease } from "./lib/data.ts";
import { IS_QUICK, sized } from "./lib/options.ts";
import { alternate, emit, tell } from "./lib/record.ts";
import { AUTHORIZED, freePort, TOKEN } from "./lib/server.ts";
import { told } from "./lib/stats.ts";

const ROUNDS = sized(7, 3);
const LIMIT_MS = 120_000;
const MEASURE = "exec to first answer";
const MAIN = "packages/cli/src/main.ts";

interface Way {
  readonly command: readonly string[];
  readonly workers?: number;
}
const NPM_START: Way = { command: ["npm", "start"] };
const BY_BUN: Way = { command: [process.execPath, "--no-install", "--no-env-file", MAIN, "serve"] };
/** The ways to start it, the shortest last. */
const WAYS: Readonly<Record<string, Way>> = {
  "npm start": NPM_START,
  "inkling serve, by the launcher on Node": { command: ["node", "packages/cli/bin/inkling.mjs", "serve"] },
  "inkling serve, by Bun at once": BY_BUN,
  "inkling serve, by Bun at once, one worker": { ...BY_BUN, workers: 1 },
};

/** Milliseconds from starting the command to the first answer with data in it. */
async function start({ command, workers }: Way, dataDir: string): Promise<number> {
  const port = freePort();
  const env = {
    ...process.env,
    INKLING_DATA_DIR: dataDir,
    INKLING_PORT: String(port),
    INKLING_ADMIN_PORT: String(freePort()),
    INKLING_API_KEY: TOKEN,
    INKLING_OFFLINE: "1",
    ...(workers !== undefined && { INKLING_WORKERS: String(workers) }),
  };
  const started = performance.now();
  const child = Bun.spawn([...command], { cwd: ROOT, env, stdout: "ignore", stderr: "ignore" });
  try {
    const url = `http://127.0.0.1:${port}/v1/ip-intel/geolocate/81.2.69.142`;
    while (performance.now() - started < LIMIT_MS) {
      if (child.exitCode !== null) throw new Error(`${command.join(" ")} ended with ${child.exitCode}`);
      const status = await fetch(url, { headers: AUTHORIZED, keepalive: false }).then(
        (response) => response.status,
        () => undefined, // not listening yet
      );
      if (status === 200) return performance.now() - started;
      await Bun.sleep(2);
    }
    throw new Error(`no answer within ${LIMIT_MS / 1000} s`);
  } finally {
    child.kill("SIGTERM");
    await child.exited;
  }
}

function say(what: string, who: string, unit: string, values: number[], measure = MEASURE): void {
  emit({ type: "row", what, who, measure, unit, values });
  tell(`${what}: ${who}: ${told(values)} ${unit}`);
}

const copy = linkedCopy(await upToDateRelease(), "start");
const later = await alternate(
  ROUNDS,
  Object.fromEntries(Object.entries(WAYS).map(([who, way]) => [who, () => start(way, copy)])),
);
for (const [who, values] of Object.entries(later)) say("start with a release", who, "ms", values);

emit({ type: "fact", name: "cores, and so workers, up to 8", value: String(availableParallelism()) });
if (IS_QUICK) {
  emit({ type: "note", text: "left out: the first start in an empty data folder" });
} else {
  const empty = emptyFolder("first-start");
  const what = "first start, in an empty data folder";
  say(what, "npm start", "s", [(await start(NPM_START, empty)) / 1000]);
  const build = JSON.parse(readFileSync(join(empty, "last-build.json"), "utf8"));
  say(what, "of this, the build", "s", [build.seconds]);
  emptyFolder("first-start");
}
emptyFolder("start");
