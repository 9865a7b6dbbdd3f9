// full-disk.ts: switches releases on a disk without room, then on a read-only one, and serves from that; started by
// full-disk.test.ts in a mount namespace of its own.
//
// in   one argument: an empty folder, on which a small disk is mounted
// out  one line of JSON: Seen

import { appendFileSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { currentName, pin, pinnedName, releaseNames } from "@inkling/release-store";
import { startServer } from "../packages/server/src/server.ts";
import { smallRelease, temporaryFolder } from "./release.ts";
import { testServerOptions } from "./server-options.ts";

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

if (import.meta.main) {
  const [, , dataDir = ""] = process.argv;
  mount("-t", "tmpfs", "-o", "size=16m", "tmpfs", dataDir);
  for (const n of [1, 2, 3]) smallRelease(dataDir, n);
  const names = releaseNames(dataDir);
  const fill = () => {
    try {
      for (;;) appendFileSync(join(dataDir, "fill"), Buffer.alloc(4096));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    }
  };
  const switches = () =>
    ["rollback", `rollback ${names[2]}`, "unpin"].map((args) => run(dataDir, ...args.split(" ")));
  pin(dataDir, names[1]!);
  fill();
  const full = switches();
  for (const file of readdirSync(join(dataDir, "segments"))) {
    if (file.endsWith(".verified")) rmSync(join(dataDir, "segments", file));
  }
  mount("-o", "remount,ro", dataDir);
  const seen = { names, full, readOnly: switches(), served: await serve(dataDir) };
  process.stdout.write(`${JSON.stringify(seen satisfies Seen)}\n`);
  process.exit(0);
}
