// processes.test.ts: tests `inkling serve` as a service manager runs it, and faults around it: a log that cannot be
// written, uncaught errors, and a limit of open files.

import { ptr } from "bun:ffi";
import { afterEach, describe, expect, test } from "bun:test";
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readFileSync,
  readSync,
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
import { ServerProgram } from "../../harness/server-program.ts";
import { share } from "../../harness/share.ts";
import { onSignal } from "../../harness/thread-faults.ts";
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

linux("a log that cannot be written does not touch the service", () => {
  const byWorkers = share([["1"], ["2"]], [["2"]]);
  const access = (workers: string) => ({ INKLING_LOG_LEVEL: "access", INKLING_WORKERS: workers });

  /** More access lines than one write takes, so that every thread has tried to write. */
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
    const reading = setInterval(() => pipe.read(), 5); // a full pipe makes a worker wait in the middle of a request
    lookups += await load(server, () => pipe.read().length > before);
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
  const FAULTS = {
    thrown: (error: string) => `throw ${error};`,
    rejected: (error: string) => `void Promise.reject(${error});`,
  } as const;
  type Row = [where: string, how: keyof typeof FAULTS, workers: string];
  const rows: Row[] = share<Row[]>(
    [
      ["the primary", "thrown", "2"],
      ["the primary", "rejected", "2"],
      ["the one thread", "thrown", "1"],
      ["the one thread", "rejected", "1"],
      ["a worker", "thrown", "2"],
      ["a worker", "rejected", "2"],
    ],
    [
      ["the primary", "thrown", "2"],
      ["the one thread", "rejected", "1"],
      ["a worker", "rejected", "2"],
    ],
  );
  /** Number of requests, each on a new connection. */
  const REQUESTS = 10;
  test.each(rows)("in %s, %s: one log line, and none before it is lost", async (where, how, workers) => {
    const token = freshToken();
    const fault = FAULTS[how](`new TypeError("odd: ${token}")`);
    const env = {
      INKLING_WORKERS: workers,
      INKLING_LOG_LEVEL: "access",
      ...onSignal(where === "a worker" ? { workersBelow: 1 } : "primary", fault),
    };
    const server = await start({ env });
    const headers = { Authorization: `Bearer ${server.token}`, Connection: "close" };
    for (let i = 0; i < REQUESTS; i++) {
      await fetch(`http://127.0.0.1:${server.port}${GEOLOCATE}`, { headers, keepalive: false });
    }
    const accesses = () => server.err.split("\n").filter((line) => line.includes('/geolocate/{ip}"')).length;
    // An end of the whole server loses what other threads have not written for 0.2 seconds.
    if (where === "the primary") await until(() => accesses() === REQUESTS);
    server.child.kill("SIGUSR2");
    if (where === "a worker") await until(() => server.events("worker-died").length === 1);
    else {
      expect(await server.child.exited).toBe(1);
      await until(() => isFree(server.port));
    }
    await until(() => server.events("uncaught-error").length === 1);
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
  test.each([["1"], ["2"]])("at the limit of open files end no thread, workers: %s", async (workers) => {
    const server = await start({ prefix, env: { INKLING_WORKERS: workers } });
    const sockets = Array.from({ length: 600 * Number(workers) }, () => connect(server.port, "127.0.0.1"));
    let closed = 0;
    for (const socket of sockets) socket.on("error", () => {}).on("close", () => closed++);
    await until(() => closed === sockets.length); // each is accepted as others close
    expect(server.events("uncaught-error")).toEqual([]);
    await until(async () => (await server.status()) === 200);
    expect(await server.metric("inkling_worker_restarts_total")).toBe(0);
  });

  // As many as the limits of this process and of the server allow.
  test.each([["1"], ["2"]])(
    "idle and dripping without a key cost others nothing, workers: %s",
    async (workers) => {
      const server = await start({ env: { INKLING_WORKERS: workers, INKLING_API_KEY: undefined as never } });
      const kept = Array.from({ length: 20 }, () => connect(server.port, "127.0.0.1"));
      const answered = (socket: Socket) =>
        new Promise<boolean>((resolve) => {
          const end = (isAnswered: boolean) => {
            socket.off("data", onData).off("close", onClose);
            resolve(isAnswered);
          };
          const onData = () => end(true);
          const onClose = () => end(false);
          socket.on("data", onData).on("close", onClose);
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
});
