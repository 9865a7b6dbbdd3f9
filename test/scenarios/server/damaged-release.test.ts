// damaged-release.test.ts: damages, on disk, the release in use or the release that a server opens at startup. `inkling
// serve` as installed, with one process and with several workers, switches to the newest sound release on every
// connection. If there is none, it returns 503 on every connection. It reports the damage.

import { afterAll, describe, expect, test } from "bun:test";
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { lockDataFolder, requireCurrent, verifyRelease } from "@inkling/release-store";
import { BUN_FLAGS } from "../../../packages/cli/bin/launch.mjs";
import { writeFeedChoice } from "../../../packages/compiler/src/catalog/feed-choice.ts";
import { MAIN } from "../../harness/bundled-program.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { freePort } from "../../harness/ports.ts";
import {
  freshMirror,
  LISTS_ALONE,
  SMALL_NETWORK,
  smallRelease,
  temporaryFolder,
} from "../../harness/release.ts";
import { share } from "../../harness/share.ts";
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
  readonly release: { readonly id: string; readonly verified: boolean } | null;
  readonly refused_release: { readonly name: string; readonly reason: string } | null;
}

class Server {
  child!: Bun.Subprocess<"ignore", "ignore", "pipe">;
  readonly dataDir = temporaryFolder();
  readonly port = freePort();
  readonly adminPort = freePort();
  readonly workers: number;
  private readonly mirror: string | undefined;
  log = "";

  constructor(workers: number, mirror?: string) {
    this.workers = workers;
    this.mirror = mirror;
  }

  start(): void {
    this.child = this.spawn("serve");
    void this.readLog(this.child.stderr);
  }

  /** Builds a release. */
  async build(): Promise<void> {
    const child = this.spawn("data", "update");
    const text = await child.stderr.text();
    // The small mirror lacks feeds, so the exit code is 3.
    if ((await child.exited) !== 3) throw new Error(text);
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
        ...(this.mirror !== undefined && { INKLING_MIRROR: this.mirror }),
      },
      stdio: ["ignore", "ignore", "pipe"],
    });
  }

  /** Restarts the server as a service manager does, after a single process has touched truncated data. */
  private restart(): void {
    const { exitCode, signalCode } = this.child;
    if (this.workers > 1 || signalCode !== "SIGBUS")
      throw new Error(`it ended: ${signalCode ?? exitCode}: ${this.log}`);
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

  /**
   * Like {@link serves}, but also waits until every byte has been read since the start, so that nothing is
   * under way any more.
   */
  async settlesOn(id: string): Promise<void> {
    await this.serves(id);
    await this.everywhere("/v1/status", async (response) => {
      const { release } = (await response.json()) as Status;
      return release?.id === id && release.verified;
    });
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

const flip = (path: string) => {
  const bytes = readFileSync(path);
  const file = openSync(path, "r+");
  writeSync(file, Buffer.from([bytes.at(-9)! ^ 1]), 0, 1, bytes.length - 9);
  closeSync(file);
};
interface Paths {
  readonly segments: readonly string[];
  readonly manifest: string;
}
const CUT = "a segment cut off";
const DAMAGES: readonly (readonly [name: string, damage: (paths: Paths) => void])[] = [
  ["a byte flipped", ({ segments }) => flip(segments[0]!)],
  [CUT, ({ segments }) => truncateSync(segments[0]!, 0)],
  ["a segment gone", ({ segments }) => rmSync(segments[0]!)],
  ["its manifest broken", ({ manifest }) => truncateSync(manifest, 100)],
];
/** Damage that only reading finds, because size, inode and time are unchanged. */
const UNSEEN: (typeof DAMAGES)[number] = [
  "a byte flipped, its time kept",
  ({ segments: [path] }) => {
    const { atime, mtime } = statSync(path!);
    flip(path!);
    utimesSync(path!, atime, mtime);
  },
];

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

/**
 * Expects that the release is verified again after a worker dies of reading a segment, for example from a bad
 * sector.
 */
async function expectSuspicion(server: Server, served: string): Promise<void> {
  await server.settlesOn(served);
  const verified = server.events("release-verified").length;
  const [first] = server.events("worker-listening");
  process.kill(first!.pid as number, "SIGBUS");
  await until(() => server.events("release-verified").length > verified);
  expect(server.events("worker-died")).toMatchObject([{ pid: first!.pid, signal: "SIGBUS" }]);
}

async function expectNone(server: Server, wanted: string): Promise<void> {
  await server.everywhere(GEOLOCATE, ({ status }) => status === 503);
  await server.everywhere("/readyz", async (response) => {
    const { reasons } = (await response.json()) as { readonly reasons?: readonly string[] };
    return response.status === 503 && reasons?.[0]?.startsWith(`the release ${wanted} is damaged or `);
  });
  expect(await server.metric("inkling_release_refused 1")).toBe(true);
  expect(await server.metric("inkling_release_info")).toBe(false);
  expect(server.events("release-none").length).toBeGreaterThan(0);
}

test("the sound segments of an unsound release are marked: a release that shares them answers at once", () => {
  const dataDir = temporaryFolder();
  const { files } = smallRelease(dataDir, 1);
  const marks = files.map((path) => path.replace(".seg", ".verified"));
  for (const mark of marks) rmSync(mark);
  flip(files[1]!);
  const name = readFileSync(join(dataDir, "current"), "utf8").trim();
  expect(() => verifyRelease(dataDir, name)).toThrow("is corrupt: reputation: ");
  expect(marks.map((mark) => existsSync(mark))).toEqual([true, false, true]);
});

const UNSHARE = ["unshare", "--map-root-user", "--mount"];
const canMount =
  process.platform === "linux" &&
  Bun.which("unshare") !== null &&
  Bun.spawnSync([...UNSHARE, "mount", "-t", "tmpfs", "tmpfs", temporaryFolder()]).success;

test.concurrent.if(canMount)(
  "one process that dies of a bad sector answers from the release before, after two deaths at most",
  async () => {
    const script = join(import.meta.dir, "bad-sector.ts");
    const child = Bun.spawn([...UNSHARE, process.execPath, script], { stdio: ["ignore", "pipe", "pipe"] });
    const [out, errors] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    if (out === "") throw new Error(errors);
    const { older, ends, ready, log }: Seen = JSON.parse(out);
    expect(ends[0]).toBe("SIGBUS"); // otherwise this test proves nothing
    expect(ready).toContain(older);
    expect(ends.filter((signal) => signal === "SIGBUS").length).toBeLessThanOrEqual(2);
    expect(log).toContain(`"event":"release-serving","name":"${older}"`);
  },
);

test.concurrent("the only release damaged while it serves: a build at once makes its segment again", async () => {
  const server = new Server(1, freshMirror());
  running.push(server);
  writeFeedChoice(server.dataDir, LISTS_ALONE);
  await server.build();
  const { manifest } = requireCurrent(server.dataDir);
  server.start();
  await server.everywhere("/readyz", ({ status }) => status === 200);
  rmSync(join(server.dataDir, "segments", `${manifest.segments.reputation!.sha256}.seg`));
  await until(() => server.events("data-update-done").length > 0);
  expect(server.events("release-none")).toHaveLength(1);
  await server.everywhere("/readyz", ({ status }) => status === 200);
});

describe.if(process.platform === "linux").each([1, 3])("%i processes that answer", (workers) => {
  test.concurrent("damaged while it serves: the one before answers, then the repaired one; without one before 503", async () => {
    const { server, older, wanted, repair } = setUp(workers);
    server.start();
    if (workers > 1) await expectSuspicion(server, wanted.id);
    for (const [, damage] of DAMAGES) {
      await server.settlesOn(wanted.id);
      damage(wanted);
      await expectFallback(server, older.id, wanted.name);
      repair();
    }
    rmSync(older.manifest);
    lockDataFolder(server.dataDir); // otherwise the server builds a release at once
    // A single process may die of the truncated data, and refuses to start without a release that opens.
    const rows = DAMAGES.slice(0, share(4, 1)).filter(([name]) => workers > 1 || name !== CUT);
    for (const [, damage] of rows) {
      await server.settlesOn(wanted.id);
      expect(await server.metric("inkling_release_refused 0")).toBe(true);
      damage(wanted);
      await expectNone(server, wanted.name);
      repair();
    }
  });

  test.concurrent.each([UNSEEN, ...DAMAGES].slice(0, share(5, 1)))(
    "%s before the start",
    async (_, damage) => {
      const { server, older, wanted } = setUp(workers);
      damage(wanted);
      server.start();
      await expectFallback(server, older.id, wanted.name);
    },
  );
});
