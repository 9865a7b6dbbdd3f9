// bad-sector.ts: runs a single process that serves a release with a segment that kills every process that reads
// it, and is restarted each time it dies. damaged-release.test.ts starts it in its own mount namespace.

import {
  appendFileSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, join, resolve } from "node:path";
import { currentName } from "@inkling/data";
import { SEGMENT_START_BYTES } from "@inkling/engine";
import { BUN_FLAGS } from "../../../packages/cli/bin/launch.mjs";
import { freePort } from "../../harness/ports.ts";
import { smallRelease, temporaryFolder } from "../../harness/release.ts";
import { until } from "../../harness/until.ts";

const MAIN = resolve(import.meta.dir, "../../../packages/cli/src/main.ts");
const MAX_STARTS = 5;

export interface Seen {
  /** The previous release. */
  readonly older: string;
  /** The signal that ended each process. */
  readonly ends: readonly Bun.Subprocess["signalCode"][];
  /** The answer of /readyz, if there was one. */
  readonly ready: string;
  readonly log: string;
}

/**
 * Puts a segment on a full memory disk, which cannot provide the pages of a hole. Touching such a page causes
 * SIGBUS, as a bad sector does.
 */
function putOnBadDisk(path: string): void {
  const disk = temporaryFolder();
  Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk]);
  const hole = join(disk, basename(path));
  // this part is read before the hole is touched
  writeFileSync(hole, readFileSync(path).subarray(0, SEGMENT_START_BYTES));
  truncateSync(hole, statSync(path).size);
  try {
    for (;;) appendFileSync(join(disk, "fill"), Buffer.alloc(4096));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
  rmSync(path);
  symlinkSync(hole, path);
}

/** Starts the server again each time it dies, until it answers from `older`. */
async function serve(dataDir: string, older: string): Promise<Omit<Seen, "older">> {
  const ends: Seen["ends"][number][] = [];
  let log = "";
  let ready = "";
  const env = {
    PATH: process.env.PATH ?? "",
    INKLING_DATA_DIR: dataDir,
    INKLING_PORT: String(freePort()),
    INKLING_ADMIN_PORT: String(freePort()),
    INKLING_OFFLINE: "1",
    INKLING_WORKERS: "1",
    INKLING_LOG_LEVEL: "info",
  };
  while (ready === "" && ends.length < MAX_STARTS) {
    const command = [process.execPath, ...BUN_FLAGS, MAIN, "serve"];
    const child = Bun.spawn(command, { cwd: dataDir, env, stdio: ["ignore", "ignore", "pipe"] });
    const reading = new Response(child.stderr).text();
    await until(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return true;
      const answer = await fetch(`http://127.0.0.1:${env.INKLING_PORT}/readyz`).catch(() => undefined);
      const text = answer?.status === 200 ? await answer.text() : "";
      if (text.includes(older)) ready = text; // between two starts, another test's server may have this port
      return ready !== "";
    });
    if (ready !== "") child.kill("SIGTERM");
    await child.exited;
    ends.push(child.signalCode);
    log += await reading;
  }
  return { ends, ready, log };
}

if (import.meta.main) {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  const older = currentName(dataDir)!;
  // Opening a segment touches the bytes after its description. The padding puts them beyond the page of its start.
  const meta = { padding: "x".repeat(8192) };
  putOnBadDisk(smallRelease(dataDir, 2, [], [], false, meta).files[0]!);
  const seen: Seen = { older, ...(await serve(dataDir, older)) };
  process.stdout.write(`${JSON.stringify(seen)}\n`);
  process.exit(0);
}
