// processes.test.ts: tests `inkling serve` as a service manager runs it, and faults around it: a log that cannot be
// written, workers that cannot be started, uncaught errors, and a primary or worker that is stopped.

import { ptr } from "bun:ffi";
import { afterEach, describe, expect, test } from "bun:test";
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  statfsSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { connect, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { openLibc } from "../../../packages/data/src/libc.ts";
import { openStore } from "../../../packages/store/src/store.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { isFree } from "../../harness/ports.ts";
import { GEOLOCATE, temporaryFolder } from "../../harness/release.ts";
import { isAlive, ServerProgram, signal } from "../../harness/server-program.ts";
import { FULL, share } from "../../harness/share.ts";
import { freshToken } from "../../harness/tokens.ts";
import { until } from "../../harness/until.ts";

const linux = process.platform === "linux" ? describe : describe.skip;
const running: ServerProgram[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.kill();
});

async function start(options: ConstructorParameters<typeof ServerProgram>[0] = {}): Promise<ServerProgram> {
  const server = new ServerProgram(options);
  running.push(server);
  await server.ready();
  return server;
}

/**
 * Sends lookups until `isEnough`, which gets the number of answers so far.
 * @returns how many answers were 200
 */
async function load(server: ServerProgram, isEnough: (done: number) => unknown): Promise<number> {
  const headers = { Authorization: `Bearer ${server.token}` };
  let lookups = 0;
  let ended = false;
  const client = async () => {
    while (!ended) {
      const response = await fetch(`http://127.0.0.1:${server.port}${GEOLOCATE}`, { headers });
      await response.arrayBuffer();
      expect(response.status).toBe(200);
      lookups++;
    }
  };
  const clients = Array.from({ length: 8 }, client);
  await until(() => isEnough(lookups));
  ended = true;
  await Promise.all(clients);
  return lookups;
}

/** Stops the server in an orderly way, and compares the usage that it has stored. */
async function expectUsage(server: ServerProgram, lookups: number): Promise<void> {
  server.child.kill("SIGTERM");
  expect(await server.child.exited).toBe(0);
  const store = await openStore(server.databaseUrl);
  const [key] = await store.listKeys();
  const [entry] = await store.usage.readByDay(key!.id, "2000-01-01", "2999-12-31");
  await store.close();
  expect(entry!.count).toBe(lookups);
}

/** A pipe for a server's standard error, which the test reads on demand. */
class NamedPipe {
  private readonly path = join(temporaryFolder(), "log");
  readonly prefix = ["sh", "-c", 'exec 2>"$0" "$@"', this.path];
  private fd: number | undefined;
  private text = "";

  constructor() {
    expect(Bun.spawnSync(["mkfifo", this.path]).exitCode).toBe(0);
    this.open();
  }

  open(): void {
    this.fd = openSync(this.path, constants.O_RDONLY | constants.O_NONBLOCK);
  }

  close(): void {
    closeSync(this.fd!);
  }

  /** Returns everything read so far. */
  read(): string {
    const bytes = new Uint8Array(65_536);
    try {
      for (let length = 1; length > 0; ) {
        length = readSync(this.fd!, bytes);
        this.text += Buffer.from(bytes.subarray(0, length)).toString();
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    }
    return this.text;
  }
}

/** Parses log lines. Each must be one complete object, neither cut nor mixed with another. */
const linesOf = (text: string): Record<string, unknown>[] =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));

linux("a worker in which the runtime crashes", () => {
  test("is one event of the log, without paths and links, and is replaced", async () => {
    const crash = join(temporaryFolder(), "crash.ts");
    writeFileSync(crash, 'import { read } from "bun:ffi";\nprocess.on("SIGUSR2", () => read.u8(8));\n');
    const server = await start({ env: { BUN_OPTIONS: `--preload ${crash}` } });
    const [worker] = server.workers;
    expect(signal(worker!, "SIGUSR2")).toBe(true);
    await until(() => server.events("worker-crashed").length > 0 && server.events("worker-died").length > 0);
    const [{ pid, report }] = server.events("worker-crashed") as [{ pid: number; report: string[] }];
    expect(pid).toBe(worker!);
    expect(report).toContainEqual(expect.stringMatching(/^panic.*Segmentation fault/));
    expect(report.join("\n")).not.toMatch(/[/\\]/);
    expect(linesOf(server.err).length).toBeGreaterThan(2);
    await server.ready();
    expect(await server.status(GEOLOCATE)).toBe(200);
  });
});

linux("a log that cannot be written does not touch the service", () => {
  const byWorkers = share([["1"], ["2"]], [["2"]]);
  const access = (workers: string) => ({ INKLING_LOG_LEVEL: "access", INKLING_WORKERS: workers });

  /** More access lines than one write takes, so that every process has tried to write. */
  const LOOKUPS = 500;

  test.each(byWorkers)("its reader is gone, workers: %s; the lines resume with another", async (workers) => {
    const pipe = new NamedPipe();
    const server = await start({ env: access(workers), prefix: pipe.prefix });
    pipe.close();
    let lookups = await load(server, (done) => done >= LOOKUPS);
    expect(server.child.exitCode).toBe(null);
    expect(await server.metric("inkling_worker_restarts_total")).toBe(0);
    pipe.open();
    const before = pipe.read().length;
    lookups += await load(server, () => pipe.read().length > before);
    const reading = setInterval(() => pipe.read(), 5);
    await expectUsage(server, lookups);
    clearInterval(reading);
    expect(linesOf(pipe.read()).at(-1)).toMatchObject({ event: "stopped" });
    pipe.close();
  });

  const isRoot = process.getuid?.() === 0; // root may mount a small disk
  test.if(isRoot).each(byWorkers)(
    "its disk is full, workers: %s; the lines resume when it is not",
    async (workers) => {
      const folder = temporaryFolder();
      const script = 'mount -t tmpfs -o size=64k none "$0" && exec 2>>"$0/log" && exec "$@"';
      const prefix = ["unshare", "-m", "sh", "-c", script, folder];
      const server = await start({ env: access(workers), prefix });
      const log = `/proc/${server.child.pid}/root${folder}/log`;
      const isFull = () => statfsSync(dirname(log)).bavail === 0;
      let lookups = await load(server, (done) => isFull() && done >= LOOKUPS);
      expect(await server.metric("inkling_worker_restarts_total")).toBe(0);
      truncateSync(log);
      lookups += await load(server, () => readFileSync(log, "utf8").includes('"level":"access"'));
      await expectUsage(server, lookups);
    },
  );
});

interface Died {
  readonly time: string;
  readonly worker: number;
  readonly next_in_ms: number;
}

linux("workers", () => {
  test("that cannot be started are tried again until they can", async () => {
    const program = join(temporaryFolder(), "bun");
    try {
      linkSync(process.execPath, program);
    } catch {
      copyFileSync(process.execPath, program); // on another disk
    }
    const server = await start({ program });
    renameSync(program, `${program}.away`);
    for (const pid of server.workers) signal(pid, "SIGKILL");
    await until(() => server.events("worker-not-started").length >= 4);
    const waits = server.events("worker-not-started").map(({ next_in_ms }) => next_in_ms as number);
    expect(Math.min(...waits.slice(-2))).toBeLessThanOrEqual(500); // one of them is retried soon
    renameSync(`${program}.away`, program);
    await until(async () => (await server.metric("inkling_workers", 'state="serving"')) === 2);
    expect(await server.status()).toBe(200);
  });

  test("are replaced at once when asked to end, however often; the last one soon when it died", async () => {
    const server = await start();
    for (let n = 1; n <= share(10, 2); n++) {
      const [first] = server.workers;
      signal(first!, "SIGTERM");
      await until(() => server.events("worker-ended").length === n);
      await until(async () => (await server.metric("inkling_workers", 'state="serving"')) === 2);
    }
    expect(server.events("worker-ended").every(({ next_in_ms }) => next_in_ms === 0)).toBe(true);
    await until(() => {
      for (const pid of server.workers) signal(pid, "SIGKILL");
      return server.events("worker-died").length >= 10;
    });
    const died = server.events("worker-died") as unknown as Died[];
    const endOfWait = ({ time, next_in_ms }: Died) => Date.parse(time) + next_in_ms;
    const ofLast = died.filter((one, i) => {
      const other = died.slice(0, i).findLast(({ worker }) => worker !== one.worker);
      return other !== undefined && endOfWait(other) > Date.parse(one.time) + 600;
    });
    expect(ofLast.length).toBeGreaterThan(0);
    expect(Math.max(...ofLast.map(({ next_in_ms }) => next_in_ms))).toBeLessThanOrEqual(500);
    await until(async () => (await server.status()) === 200);
  });

  test("are not ready while the primary is frozen, and end in the long run", async () => {
    const server = await start();
    const workers = server.workers;
    expect(await server.status()).toBe(200);
    signal(server.child.pid, "SIGSTOP");
    try {
      await until(async () => (await server.status()) === 503);
      expect(await server.status(GEOLOCATE)).toBe(200);
      if (FULL) await until(() => isFree(server.port) && !workers.some(isAlive));
    } finally {
      signal(server.child.pid, "SIGCONT");
    }
    await until(async () => (await server.status()) === 200);
    expect(server.events("primary-silent").length).toBeGreaterThan(0);
    if (!FULL) await until(() => server.events("primary-back").length > 0);
  });

  test("one that was stopped while the primary was killed ends when it goes on", async () => {
    const server = await start();
    const workers = server.workers;
    signal(workers[0]!, "SIGSTOP");
    try {
      server.child.kill("SIGKILL");
      await server.child.exited;
      await until(() => !isAlive(workers[1]!));
      expect(isAlive(workers[0]!)).toBe(true);
    } finally {
      signal(workers[0]!, "SIGCONT");
    }
    await until(() => !isAlive(workers[0]!));
    expect(isFree(server.port)).toBe(true);
  });
});

linux("a stop", () => {
  test("ends the server in order while a call into a file system hangs", async () => {
    const temp = temporaryFolder();
    const [preload, pipe, begun] = ["preload.ts", "pipe", "begun"].map((name) => join(temp, name)) as [
      string,
      string,
      string,
    ];
    expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
    writeFileSync(
      preload,
      `import { writeFileSync } from "node:fs";
       import { open } from "node:fs/promises";
       process.on("SIGUSR2", () => {
         void open(${JSON.stringify(pipe)}, "r");
         writeFileSync(${JSON.stringify(begun)}, "");
       });`,
    );
    const server = await start({ env: { BUN_OPTIONS: `--preload=${preload}` } });
    server.child.kill("SIGUSR2");
    await until(() => existsSync(begun));
    server.child.kill("SIGTERM");
    expect(await server.child.exited).toBe(0);
    await until(() => server.events("stopped").length === 1);
  });
});

linux("an error that nothing caught", () => {
  const SIGNALS = { thrown: "SIGUSR2", rejected: "SIGWINCH" } as const;
  type Row = [where: string, how: keyof typeof SIGNALS, workers: string];
  const rows: Row[] = share<Row[]>(
    [
      ["the primary", "thrown", "2"],
      ["the primary", "rejected", "2"],
      ["the one process", "thrown", "1"],
      ["the one process", "rejected", "1"],
      ["a worker", "thrown", "2"],
      ["a worker", "rejected", "2"],
    ],
    [
      ["the primary", "thrown", "2"],
      ["the one process", "rejected", "1"],
      ["a worker", "rejected", "2"],
    ],
  );
  /** Number of requests, each on a new connection. */
  const REQUESTS = 10;
  test.each(rows)("in %s, %s: one log line, exit code 1", async (where, how, workers) => {
    const preload = join(temporaryFolder(), "preload.ts");
    const token = freshToken();
    writeFileSync(
      preload,
      `const fault = () => new TypeError("odd: ${token}");
       process.on("SIGUSR2", () => { throw fault(); });
       process.on("SIGWINCH", () => { void Promise.reject(fault()); });`,
    );
    const env = {
      INKLING_WORKERS: workers,
      INKLING_LOG_LEVEL: "access",
      BUN_OPTIONS: `--preload=${preload}`,
    };
    const server = await start({ env });
    const [first] = server.workers;
    const headers = { Authorization: `Bearer ${server.token}`, Connection: "close" };
    for (let i = 0; i < REQUESTS; i++) {
      await fetch(`http://127.0.0.1:${server.port}${GEOLOCATE}`, { headers, keepalive: false });
    }
    signal(where === "a worker" ? first! : server.child.pid, SIGNALS[how]);
    if (where === "a worker") {
      await until(() => server.events("worker-died").length === 1);
      expect(server.events("worker-died")[0]).toMatchObject({ pid: first, exit_code: 1 });
    } else {
      expect(await server.child.exited).toBe(1);
      await until(() => isFree(server.port));
    }
    await until(() => server.events("uncaught-error").length === 1);
    const accesses = () => server.err.split("\n").filter((line) => line.includes('/geolocate/{ip}"')).length;
    await until(() => accesses() === REQUESTS); // lines are written together, and those that waited are not lost
    const [line] = server.events("uncaught-error");
    expect(line).toMatchObject({ level: "error", error: "TypeError: odd: [removed]" });
    expect(JSON.stringify(line!.stack)).toContain("preload.ts");
    expect(server.err).not.toContain(token);
  });
});

linux("the service manager", () => {
  test.each([["a path"], ["an abstract name"]])("gets ready, alive and stopping on %s", async (kind) => {
    const name = join(temporaryFolder(), "notify");
    const socket = notifySocket(kind === "a path" ? name : `\0${name}`);
    const env = { NOTIFY_SOCKET: kind === "a path" ? name : `@${name}`, WATCHDOG_USEC: "100000" };
    const server = await start({ env });
    const seen: string[] = [];
    const receive = () => {
      for (let one = socket.receive(); one !== undefined; one = socket.receive()) seen.push(one);
      return seen;
    };
    await until(() => receive().filter((one) => one === "WATCHDOG=1").length >= 3);
    expect(seen[0]).toBe("READY=1");
    expect(seen).not.toContain("STOPPING=1");
    server.child.kill("SIGTERM");
    expect(await server.child.exited).toBe(0);
    expect(receive()).toContain("STOPPING=1");
    socket.close();
  });
});

/** Opens a unix datagram socket, which the runtime does not offer. */
function notifySocket(path: string) {
  const libc = openLibc({
    socket: { args: ["int", "int", "int"], returns: "int" },
    bind: { args: ["int", "ptr", "u32"], returns: "int" },
    recv: { args: ["int", "ptr", "u64", "int"], returns: "i64" },
    close: { args: ["int"], returns: "int" },
  })!;
  const address = Buffer.concat([new Uint8Array([1, 0]), Buffer.from(path)]); // AF_UNIX
  const fd = libc.socket(1, 2, 0);
  expect(libc.bind(fd, ptr(address), address.length)).toBe(0);
  const bytes = new Uint8Array(256);
  return {
    receive: () => {
      const length = Number(libc.recv(fd, ptr(bytes), bytes.length, 0x40)); // MSG_DONTWAIT
      return length < 0 ? undefined : Buffer.from(bytes.subarray(0, length)).toString();
    },
    close: () => libc.close(fd),
  };
}

/** Number of connections without a key. */
const FLOOD = 8_000;

linux("connections", () => {
  const prefix = ["sh", "-c", 'ulimit -n 400 && exec "$@"', "sh"];
  test("a low limit of open files is logged at the start", async () => {
    const server = await start({ prefix });
    expect(server.events("few-open-files")).toMatchObject([
      { limit: 400, hint: expect.stringContaining("ulimit") },
    ]);
  });

  test.each([["1"], ["2"]])("at the limit of open files end no process, workers: %s", async (workers) => {
    const server = await start({ prefix, env: { INKLING_WORKERS: workers } });
    const processes = [server.child.pid, ...server.workers];
    const sockets = Array.from({ length: 600 * Number(workers) }, () => connect(server.port, "127.0.0.1"));
    let closed = 0;
    for (const socket of sockets) socket.on("error", () => {}).on("close", () => closed++);
    await until(() => closed === sockets.length); // each is accepted as others close
    expect(server.events("uncaught-error")).toEqual([]);
    await until(async () => (await server.status()) === 200);
    expect([server.child.pid, ...server.workers]).toEqual(processes);
  });

  // As many as the limits of this process and of the server allow.
  test.each([["1"], ["2"]])(
    "idle and dripping without a key cost others nothing, workers: %s",
    async (workers) => {
      const server = await start({ env: { INKLING_WORKERS: workers, INKLING_API_KEY: undefined as never } });
      const kept = Array.from({ length: 20 }, () => connect(server.port, "127.0.0.1"));
      const answered = (socket: Socket) =>
        new Promise<boolean>((resolve) => {
          socket.once("data", () => resolve(true)).once("close", () => resolve(false));
          socket.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
        });
      expect(await Promise.all(kept.map(answered))).toEqual(Array(20).fill(true));
      const flood: Socket[] = [];
      let closed = 0;
      for (let i = 0; i < FLOOD; i++) {
        const socket = connect(server.port, "127.0.0.1");
        socket.on("error", () => {}).on("close", () => closed++);
        if (i % 2 === 0) socket.write("GET /healthz HTTP/1.1\r\n");
        flood.push(socket);
        if (i % 200 === 0) {
          expect(await Promise.all(kept.map(answered))).toEqual(Array(20).fill(true));
          await Bun.sleep(0);
        }
      }
      const dripping = setInterval(() => {
        for (let i = 0; i < FLOOD; i += 2) flood[i]!.write("a");
      }, 2_000);
      while (closed < FLOOD) {
        expect(await Promise.all(kept.map(answered))).toEqual(Array(20).fill(true));
        expect(await server.status()).toBe(200);
        expect(await server.metric("inkling_ready")).toBe(1);
        await Bun.sleep(500);
      }
      clearInterval(dripping);
      expect(server.events("uncaught-error")).toEqual([]);
      for (const socket of kept) socket.destroy();
    },
  );

  test("a worker that can open no more files goes on, and reports", async () => {
    const preload = join(temporaryFolder(), "preload.ts");
    writeFileSync(
      preload,
      `import { openSync } from "node:fs";
       process.on("SIGUSR2", () => { try { for (;;) openSync("/dev/null", "r"); } catch {} });`,
    );
    const server = await start({ prefix, env: { BUN_OPTIONS: `--preload=${preload}` } });
    const workers = server.workers;
    signal(workers[0]!, "SIGUSR2");
    await until(() => readdirSync(`/proc/${workers[0]}/fd`).length === 400);
    for (let i = 0; i < 5; i++) await server.metric("inkling_ready"); // each worker reports for it
    expect(server.events("uncaught-error")).toEqual([]);
    expect(server.workers).toEqual(workers);
  });
});
