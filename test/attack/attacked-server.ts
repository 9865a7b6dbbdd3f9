// attacked-server.ts: starts a server in its own process, with one worker or several, and observes it from outside.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { parseNewKey } from "../../packages/store/src/keys/key-input.ts";
import { openStore } from "../../packages/store/src/store.ts";
import { smallRelease, temporaryFolder } from "../harness/release.ts";
import { readProc, ServerProgram } from "../harness/server-program.ts";

/** The kinds of keys that a request can have. */
const KEYS = {
  live: {},
  sandbox: { mode: "test" },
  emailOnly: { scopes: ["email"] },
  elsewhere: { networks: ["192.0.2.0/24"] },
  slow: { rate: 1, burst: 1 },
  spent: { quota: 1 },
} as const;
export type KeyName = keyof typeof KEYS;

export class AttackedServer extends ServerProgram {
  readonly keys: Readonly<Record<KeyName, string>>;
  /** The root token of the admin API. */
  readonly adminToken: string;

  constructor(dataDir: string, workers: number, keys: Readonly<Record<KeyName, string>>, adminToken: string) {
    const env = {
      INKLING_WORKERS: String(workers),
      INKLING_LOG_LEVEL: "access",
      INKLING_TRUSTED_PROXIES: "127.0.0.0/8",
    };
    super({ dataDir, env });
    this.keys = keys;
    this.adminToken = adminToken;
  }

  /** Returns the server's memory that no file backs, and its open descriptors. */
  use(): { bytes: number; descriptors: number } {
    const { pid } = this.child;
    return { bytes: anonymousBytes(pid), descriptors: descriptors(pid) };
  }

  isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }
}

/** Starts a server with small release 1 that logs everything. */
export async function startAttackedServer(workers: number): Promise<AttackedServer> {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  const store = await openStore(`sqlite://${join(dataDir, "inkling.db")}`);
  const keys: Partial<Record<KeyName, string>> = {};
  for (const [name, more] of Object.entries(KEYS))
    keys[name as KeyName] = (await store.createKey(parseNewKey({ name, ...more }, Date.now()))).token;
  const adminToken = await store.adminToken.rotate({ author: "test", source: undefined });
  await store.close();
  return new AttackedServer(dataDir, workers, keys as Record<KeyName, string>, adminToken).ready();
}

const anonymousBytes = (pid: number) =>
  Number(/^RssAnon:\s+(\d+) kB$/m.exec(readProc(pid, "status"))?.[1] ?? 0) * 1024;

function descriptors(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0; // the process has exited
  }
}
