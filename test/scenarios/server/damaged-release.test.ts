// damaged-release.test.ts: damages, on disk, the release that a server opens at startup or that crashes it. `inkling
// serve` as installed, with one thread and with several workers, uses the newest release before it that opens, and
// reports the damage.

import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BUN_FLAGS } from "../../../packages/cli/bin/launch.mjs";
import { MAIN } from "../../harness/bundled-program.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { freePort } from "../../harness/ports.ts";
import { drilled } from "../../harness/recorded-rows.ts";
import { SMALL_NETWORK, smallRelease, temporaryFolder } from "../../harness/release.ts";
import { freshToken } from "../../harness/tokens.ts";
import { until } from "../../harness/until.ts";
import type { Seen } from "./bad-sector.ts";

const TOKEN = freshToken();
const GEOLOCATE = `/v1/ip-intel/geolocate/${SMALL_NETWORK.replace("0/24", "142")}`;
/** Enough new connections to reach every worker; multiplied by the number of workers. */
const CONNECTIONS = 4;
/**
 * Pause between rounds. Without it, a minute of new connections uses up the loopback's ports, and the next
 * ones wait.
 */
const PAUSE_MS = 100;

interface Status {
  readonly release: { readonly id: string } | null;
  readonly refused_release: { readonly name: string; readonly reason: string } | null;
}

class Server {
  child!: Bun.Subprocess<"ignore", "ignore", "pipe">;
  readonly dataDir = temporaryFolder();
  readonly port = freePort();
  readonly adminPort = freePort();
  readonly workers: number;
  log = "";

  constructor(workers: number) {
    this.workers = workers;
  }

  start(): void {
    this.child = this.spawn("serve");
    void this.readLog(this.child.stderr);
  }

  private spawn(...args: string[]): Bun.Subprocess<"ignore", "ignore", "pipe"> {
    return Bun.spawn([process.execPath, ...BUN_FLAGS, MAIN, ...args], {
      cwd: this.dataDir,
      env: {
        PATH: process.env.PATH ?? "",
        INKLING_DATA_DIR: this.dataDir,
        INKLING_PORT: String(this.port),
        INKLING_ADMIN_PORT: String(this.adminPort),
        INKLING_API_KEY: TOKEN,
        INKLING_OFFLINE: "1",
        INKLING_WORKERS: String(this.workers),
        INKLING_LOG_LEVEL: "info",
      },
      stdio: ["ignore", "ignore", "pipe"],
    });
  }

  /** Restarts the server as a service manager does, after a thread has touched truncated data. */
  private restart(): void {
    const { exitCode, signalCode } = this.child;
    if (signalCode !== "SIGBUS") throw new Error(`it ended: ${signalCode ?? exitCode}: ${this.log}`);
    this.start();
  }

  private async readLog(stream: ReadableStream<Uint8Array>): Promise<void> {
    for await (const chunk of stream) this.log += new TextDecoder().decode(chunk);
  }

  events(name: string): Record<string, unknown>[] {
    return this.log
      .split("\n")
      .filter((line) => line.includes(`"event":"${name}"`))
      .map((line) => JSON.parse(line));
  }

  get isAlive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Sends a request on a new connection. Returns undefined if there is no answer. */
  async get(path: string): Promise<Response | undefined> {
    try {
      return await fetch(`http://127.0.0.1:${this.port}${path}`, {
        headers: { Authorization: `Bearer ${TOKEN}`, Connection: "close" },
        keepalive: false,
      });
    } catch {
      return undefined;
    }
  }

  /**
   * Waits until the answers on many connections satisfy the condition three times in a row, so that they do
   * in every worker.
   */
  async everywhere(path: string, isSo: (response: Response) => unknown): Promise<void> {
    const isSoOnce = async () => {
      const response = await this.get(path);
      return response !== undefined && (await isSo(response));
    };
    let rounds = 0;
    await until(async () => {
      if (!this.isAlive) this.restart();
      const connections = this.workers > 1 ? CONNECTIONS * this.workers : 1;
      const all = await Promise.all(Array.from({ length: connections }, isSoOnce));
      rounds = all.every(Boolean) ? rounds + 1 : 0;
      await Bun.sleep(PAUSE_MS);
      return rounds === 3;
    });
  }

  async serves(id: string): Promise<void> {
    await this.everywhere(
      GEOLOCATE,
      ({ status, headers }) => status === 200 && headers.get("inkling-data-version") === id,
    );
  }

  async metric(line: string): Promise<boolean> {
    const text = await (await fetch(`http://127.0.0.1:${this.adminPort}/metrics`)).text();
    return text.split("\n").some((each) => each.startsWith(line));
  }
}

const running: Server[] = [];
afterAll(async () => {
  for (const { child } of running) {
    child.kill("SIGKILL");
    await child.exited;
  }
});

interface Paths {
  readonly segments: readonly string[];
  readonly manifest: string;
}
const cut = ({ segments }: Paths) => truncateSync(segments[0]!, 0);
const DAMAGES: readonly (readonly [name: string, damage: (paths: Paths) => void])[] = [
  ["a segment cut off", cut],
  ["a segment gone", ({ segments }) => rmSync(segments[0]!)],
  ["its manifest broken", ({ manifest }) => truncateSync(manifest, 100)],
];
/** Changes a byte that opening does not read. */
const flip = ({ segments: [path] }: Paths) => {
  const bytes = readFileSync(path!);
  writeFileSync(path!, bytes.with(-9, bytes.at(-9)! ^ 1));
};

function publish({ dataDir }: Server, n: number): Paths & { id: string; name: string } {
  const { id, files } = smallRelease(dataDir, n);
  const name = readFileSync(join(dataDir, "current"), "utf8").trim();
  return { id, name, segments: files, manifest: join(dataDir, `releases/${name}.json`) };
}

function setUp(workers: number) {
  const server = new Server(workers);
  running.push(server);
  const older = publish(server, 1);
  const wanted = publish(server, 2);
  const good = [...wanted.segments, wanted.manifest].map((path) => [path, readFileSync(path)] as const);
  const repair = () => {
    for (const [path, bytes] of good) {
      writeFileSync(`${path}.new`, bytes);
      renameSync(`${path}.new`, path);
    }
  };
  return { server, older, wanted, repair };
}

/** Expects the older release to answer, and every state report to contain the reason. */
async function expectFallback(server: Server, served: string, wanted: string): Promise<void> {
  await server.serves(served);
  await server.everywhere("/readyz", async (response) => {
    const { warnings } = (await response.json()) as { readonly warnings?: readonly string[] };
    return response.status === 200 && warnings?.[0]?.startsWith(`release ${wanted} is refused, and `);
  });
  await server.everywhere("/v1/status", async (response) => {
    const { release, refused_release } = (await response.json()) as Status;
    return release?.id === served && refused_release?.name === wanted && refused_release.reason !== "";
  });
  expect(await server.metric("inkling_release_refused 1")).toBe(true);
  expect(await server.metric(`inkling_release_info{id="${served}"`)).toBe(true);
  expect(await server.metric(`inkling_release_wanted_info{name="${wanted}"} 1`)).toBe(true);
  expect(server.events("release-refused").some(({ name }) => name === wanted)).toBe(true);
}

const UNSHARE = ["unshare", "--map-root-user", "--mount"];
const canMount =
  process.platform === "linux" &&
  Bun.which("unshare") !== null &&
  Bun.spawnSync([...UNSHARE, "mount", "-t", "tmpfs", "tmpfs", temporaryFolder()]).success;

test.concurrent.if(canMount)(
  "one process that dies of a bad sector answers from the release before, after three starts",
  async () => {
    const script = join(import.meta.dir, "bad-sector.ts");
    const child = Bun.spawn([...UNSHARE, process.execPath, script], { stdio: ["ignore", "pipe", "pipe"] });
    const [out, errors] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    if (out === "") throw new Error(errors);
    const { older, ends, ready, log }: Seen = JSON.parse(out);
    expect(ends[0]).toBe("SIGBUS"); // otherwise this test proves nothing
    expect(ready).toContain(older);
    expect(ends.filter((signal) => signal === "SIGBUS").length).toBeLessThanOrEqual(3);
    expect(log).toContain(`"event":"release-serving","name":"${older}"`);
  },
);

test.concurrent("a release that is damaged inside serves, until the third start within a minute", async () => {
  const { server, older, wanted } = setUp(1);
  flip(wanted);
  for (let starts = 0; starts < 3; starts++) {
    server.start();
    await server.serves(wanted.id);
    server.child.kill("SIGKILL");
    await server.child.exited;
  }
  server.start();
  await expectFallback(server, older.id, wanted.name);
  expect(server.events("release-refused").at(-1)!.reason).toContain("is corrupt: ");
});

describe.if(process.platform === "linux").each([1, 3])("%i threads that answer", (workers) => {
  test.concurrent("cut off while it serves: after a restart the one before answers, then the repaired one", async () => {
    const { server, older, wanted, repair } = setUp(workers);
    server.start();
    await server.serves(wanted.id);
    cut(wanted);
    await expectFallback(server, older.id, wanted.name);
    repair();
    await server.serves(wanted.id);
    expect(await server.metric("inkling_release_refused 0")).toBe(true);
    drilled(
      import.meta.path,
      "a segment in use is cut off, so that the server crashes",
      "after the restart, every lookup by an earlier release",
      "the earlier release; the damaged one serves once it is repaired",
    );
  });

  test.concurrent.each(DAMAGES)("%s before the start", async (_, damage) => {
    const { server, older, wanted } = setUp(workers);
    damage(wanted);
    server.start();
    await expectFallback(server, older.id, wanted.name);
  });
});
