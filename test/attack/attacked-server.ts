// attacked-server.ts: a server in a process of its own, with one worker or several, and what can be seen of it from outside.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseNewKey } from "../../packages/server/src/keys/key-input.ts";
import { openStore } from "../../packages/server/src/store/store.ts";
import { smallRelease, temporaryFolder } from "../harness/release.ts";
import type { Ports } from "../harness/server-process.ts";
import { until } from "../harness/until.ts";

/** Keys of all kinds that a request can come with. */
const KEYS = {
  live: {},
  sandbox: { mode: "test" },
  emailOnly: { scopes: ["email"] },
  elsewhere: { networks: ["192.0.2.0/24"] },
  slow: { rate: 1, burst: 1 },
  spent: { quota: 1 },
} as const;
export type KeyName = keyof typeof KEYS;

export interface AttackedServer extends Ports {
  readonly dataDir: string;
  readonly keys: Readonly<Record<KeyName, string>>;
  /** Everything that it has logged. */
  readonly log: () => string;
  /** Of all its processes: memory that no file holds, and open descriptors. */
  readonly use: () => { bytes: number; descriptors: number };
  /** The processes that answer. */
  readonly workers: () => number[];
  readonly isRunning: () => boolean;
  /** Ends it with SIGTERM. @returns its exit code */
  readonly stop: () => Promise<number>;
}

/** With small release 1 and a log of everything. */
export async function startAttackedServer(workers: number): Promise<AttackedServer> {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  const store = await openStore(`sqlite://${join(dataDir, "inkling.db")}`);
  const keys: Record<string, string> = {};
  for (const [name, more] of Object.entries(KEYS))
    keys[name] = (await store.createKey(parseNewKey({ name, ...more }, Date.now()))).token;
  await store.close();
  const script = join(import.meta.dir, "../harness/server-process.ts");
  const given = { dataDir, workers, logLevel: "access", trustedProxies: ["127.0.0.0/8"] };
  const child = Bun.spawn([process.execPath, script, JSON.stringify(given)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  let printed = "";
  const keep = async (from: ReadableStream<Uint8Array>, add: (text: string) => void) => {
    const decoder = new TextDecoder();
    for await (const chunk of from) add(decoder.decode(chunk, { stream: true }));
  };
  void keep(child.stderr, (text) => {
    log += text;
  });
  void keep(child.stdout, (text) => {
    printed += text;
  });
  await until(() => printed.endsWith("\n") || child.exitCode !== null);
  if (child.exitCode !== null) throw new Error(`the server did not start: ${log}`);
  const answering = () => (workers === 1 ? [child.pid] : childrenOf(child.pid).filter(isWorker));
  await until(() => answering().length === workers);
  return {
    ...(JSON.parse(printed) as Ports),
    dataDir,
    keys: keys as Record<KeyName, string>,
    log: () => log,
    use: () => {
      const all = [child.pid, ...childrenOf(child.pid)];
      const sum = (of: (pid: number) => number) => all.reduce((total, pid) => total + of(pid), 0);
      return { bytes: sum(anonymousBytes), descriptors: sum(descriptors) };
    },
    workers: answering,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    stop: () => {
      child.kill("SIGTERM");
      return child.exited;
    },
  };
}

function childrenOf(pid: number): number[] {
  const parentOf = (child: string) => Number(/^PPid:\s+(\d+)$/m.exec(readProc(child, "status"))?.[1]);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    .map(Number);
}

/** A process may end between two looks: then there is nothing. */
function readProc(pid: number | string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}

const isWorker = (pid: number) => readProc(pid, "cmdline").includes("worker-main");
const anonymousBytes = (pid: number) =>
  Number(/^RssAnon:\s+(\d+) kB$/m.exec(readProc(pid, "status"))?.[1] ?? 0) * 1024;

function descriptors(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}
