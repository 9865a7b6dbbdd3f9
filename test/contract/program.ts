// program.ts: starts a server of the contract test as users do: the executable, with a stopped clock.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PROCESS_FLAG } from "@inkling/data/program";
import { stoppedClock } from "../harness/fast-clock.ts";
import { freePort } from "../harness/ports.ts";

export interface Program {
  readonly port: number;
  readonly adminPort: number;
  /** Null while it runs. */
  readonly exitCode: number | null;
  stop(): Promise<unknown>;
}

/** The secret of the Supabase hook. No recorded request was signed with it. */
export const HOOK_SECRET = "A".repeat(44);

/** @param executable an executable compiled from the command line; it builds nothing from the data in `dataDir` */
export function startProgram(
  executable: string,
  {
    now,
    dataDir,
    allowMissing,
    trustedProxies,
  }: {
    now: number;
    dataDir: string;
    allowMissing: boolean;
    trustedProxies: readonly string[];
  },
): Program {
  const preload = join(dataDir, "preload.ts");
  const noBuild = `if (process.argv.includes("${PROCESS_FLAG}compiler")) process.exit(1);\n`;
  writeFileSync(preload, stoppedClock(now) + noBuild);
  const [port, adminPort] = [freePort(), freePort()];
  const child = Bun.spawn([executable, "serve"], {
    cwd: dataDir,
    env: {
      PATH: process.env.PATH,
      BUN_OPTIONS: `--preload=${preload}`,
      INKLING_DATA_DIR: dataDir,
      INKLING_PORT: String(port),
      INKLING_ADMIN_PORT: String(adminPort),
      INKLING_TRUSTED_PROXIES: trustedProxies.join(","),
      INKLING_DNS_SERVERS: "127.0.0.1:9",
      INKLING_OFFLINE: "1",
      INKLING_ALLOW_MISSING: allowMissing ? "1" : "0",
      INKLING_WORKERS: "2",
      INKLING_SUPABASE_HOOK_SECRET: HOOK_SECRET,
      INKLING_LOG_LEVEL: "error",
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  return {
    port,
    adminPort,
    get exitCode() {
      return child.exitCode;
    },
    stop: () => {
      child.kill("SIGTERM");
      return child.exited;
    },
  };
}
