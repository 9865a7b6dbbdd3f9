// thread-faults.ts: makes threads of a server program run code that tests choose.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "./temporary-folder.ts";

const PRELOAD_IN_THREADS = join(import.meta.dir, "preload-in-threads.ts");

function writeModule(code: string): string {
  const path = join(temporaryFolder(), "preload.ts");
  writeFileSync(path, code);
  return path;
}

/** Returns the code of a primary that runs `code` in workers. They are numbered in the order of their starts. */
const inWorkers = (below: number, code: string) =>
  `import { preloadInThreads } from ${JSON.stringify(PRELOAD_IN_THREADS)};
   preloadInThreads(${JSON.stringify(writeModule(code))}, ${below});`;

/** Returns the environment of a server in which the first worker runs this code when it starts. */
export const onStart = (code: string) => ({ BUN_OPTIONS: `--preload=${writeModule(inWorkers(1, code))}` });

/** Returns the environment of a server in which SIGUSR2 runs this code, in the primary or in the first workers. */
export function onSignal(where: "primary" | { readonly workersBelow: number }, code: string) {
  const inPrimary =
    where === "primary"
      ? `process.on("SIGUSR2", () => { ${code} });`
      : `${inWorkers(where.workersBelow, `new BroadcastChannel("fault").onmessage = () => { ${code} };`)}
         const faults = new BroadcastChannel("fault");
         process.on("SIGUSR2", () => faults.postMessage(undefined));`;
  return { BUN_OPTIONS: `--preload=${writeModule(inPrimary)}` };
}
