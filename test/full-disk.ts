// full-disk.ts: switches releases on a disk without room, then on a read-only one, and serves from that; then serves a
// segment that kills the process which touches it. Started by full-disk.test.ts in a mount namespace of its own.
//
// in   one argument: an empty folder, on which a small disk is mounted
// out  one line of JSON: Seen

import {
  appendFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, join, resolve } from "node:path";
import { currentName, fileStamp, markVerified, pin, pinnedName, releaseNames } from "@inkling/release-store";
import { startServer } from "../packages/server/src/server.ts";
import { freePort } from "./ports.ts";
import { smallRelease, temporaryFolder } from "./release.ts";
import { testServerOptions } from "./server-options.ts";
import { until } from "./until.ts";

const MAIN = resolve(import.meta.dir, "../packages/cli/src/main.ts");

interface Run {
  readonly args: string;
  readonly exitCode: number | null;
  readonly err: string;
  readonly current: string | undefined;
  readonly pinned: string | undefined;
  readonly temporary: readonly string[];
}
export interface Seen {
  /** Newest first. */
  readonly names: readonly string[];
  readonly full: readonly Run[];
  readonly readOnly: readonly Run[];
  /** Of a server on the read-only disk, whose release has no marks. */
  readonly served: { readonly ready: number; readonly log: string };
  /** Of one process, restarted whenever it died, on a marked release with a segment that no process can touch. */
  readonly fatal: {
    readonly older: string;
    readonly ends: readonly Bun.Subprocess["signalCode"][];
    readonly ready: string;
    readonly log: string;
  };
}

function mount(...args: string[]): void {
  const { success, stderr } = Bun.spawnSync(["mount", ...args]);
  if (!success) throw new Error(stderr.toString());
}

function run(dataDir: string, ...args: string[]): Run {
  const all = [
    process.execPath,
    "--no-install",
    "--no-env-file",
    MAIN,
    "data",
    ...args,
    "--data-dir",
    dataDir,
  ];
  const { exitCode, stderr } = Bun.spawnSync(all, { stdin: "ignore" });
  const files = readdirSync(dataDir, { recursive: true }).map(String);
  return {
    args: args.join(" "),
    exitCode,
    err: stderr.toString(),
    current: currentName(dataDir),
    pinned: pinnedName(dataDir),
    temporary: files.filter((name) => name.includes(".tmp-")),
  };
}

async function serve(dataDir: string): Promise<Seen["served"]> {
  let log = "";
  const server = await startServer({
    ...testServerOptions(dataDir),
    databaseUrl: `sqlite://${join(temporaryFolder(), "inkling.db")}`,
    logLevel: "info",
    writeLog: (lines) => {
      log += lines;
    },
  });
  const { status } = await fetch(`http://127.0.0.1:${server.port}/readyz`);
  await server.stop();
  return { ready: status, log };
}

function fill(folder: string): void {
  try {
    for (;;) appendFileSync(join(folder, "fill"), Buffer.alloc(4096));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}

const MOST_STARTS = 5;

/** Pages of a hole cannot be had on a full disk of memory: touching one is SIGBUS, as with a bad sector. */
async function serveFatal(): Promise<Seen["fatal"]> {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  const older = currentName(dataDir)!;
  const [path] = smallRelease(dataDir, 2).files as [string];
  const disk = temporaryFolder();
  mount("-t", "tmpfs", "-o", "size=256k", "tmpfs", disk);
  const hole = join(disk, basename(path));
  writeFileSync(hole, "");
  truncateSync(hole, statSync(path).size);
  fill(disk);
  rmSync(path);
  symlinkSync(hole, path);
  markVerified(dataDir, basename(path, ".seg"), fileStamp(path));

  const ends: Bun.Subprocess["signalCode"][] = [];
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
  while (ready === "" && ends.length < MOST_STARTS) {
    const command = [process.execPath, "--no-install", "--no-env-file", MAIN, "serve"];
    const child = Bun.spawn(command, { cwd: dataDir, env, stdio: ["ignore", "ignore", "pipe"] });
    const reading = new Response(child.stderr).text();
    await until(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return true;
      const answer = await fetch(`http://127.0.0.1:${env.INKLING_PORT}/readyz`).catch(() => undefined);
      if (answer?.status === 200) ready = await answer.text();
      return ready !== "";
    });
    if (ready !== "") child.kill("SIGTERM");
    await child.exited;
    ends.push(child.signalCode);
    log += await reading;
  }
  return { older, ends, ready, log };
}

if (import.meta.main) {
  const [, , dataDir = ""] = process.argv;
  mount("-t", "tmpfs", "-o", "size=16m", "tmpfs", dataDir);
  for (const n of [1, 2, 3]) smallRelease(dataDir, n);
  const names = releaseNames(dataDir);
  const switches = () =>
    ["rollback", `rollback ${names[2]}`, "unpin"].map((args) => run(dataDir, ...args.split(" ")));
  pin(dataDir, names[1]!);
  fill(dataDir);
  const full = switches();
  for (const file of readdirSync(join(dataDir, "segments"))) {
    if (file.endsWith(".verified")) rmSync(join(dataDir, "segments", file));
  }
  mount("-o", "remount,ro", dataDir);
  const fatal = await serveFatal();
  const seen = { names, full, readOnly: switches(), served: await serve(dataDir), fatal };
  process.stdout.write(`${JSON.stringify(seen satisfies Seen)}\n`);
  process.exit(0);
}
