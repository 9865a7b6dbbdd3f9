// drain.test.ts: tests a server that is asked to stop, as a load balancer and its clients see it, with real processes
// over loopback.

import { afterEach, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { fetch } from "../../harness/checked-fetch.ts";
import { GEOLOCATE } from "../../harness/release.ts";
import { ServerProgram, signal } from "../../harness/server-program.ts";
import { until } from "../../harness/until.ts";

const linux = process.platform === "linux" ? describe : describe.skip;
const running: ServerProgram[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.kill();
});

async function start(env: Record<string, string>): Promise<ServerProgram> {
  const server = new ServerProgram({ env });
  running.push(server);
  await server.ready();
  return server;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/**
 * Sends a request on a new connection.
 * @throws Error if the connection is refused, reset, or ends without an answer
 */
function sendRequest({ port, token }: ServerProgram, path = GEOLOCATE): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.on("connect", () =>
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
      ),
    );
    socket.on("data", (bytes) => {
      text += bytes.toString();
    });
    socket.on("error", reject);
    socket.on("close", () => {
      const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1]);
      if (status > 0) resolve({ status, text });
      else reject(new Error("no answer"));
    });
  });
}

const REMOVED_AFTER_MS = 1_000;
const CHECK_MS = 100;

/**
 * A load balancer. It opens a connection for each request, to the hosts in turn, and removes an unready host
 * a while later.
 */
class LoadBalancer {
  private readonly hosts: Set<ServerProgram>;
  private readonly checks: ReturnType<typeof setInterval>;
  private readonly unready = new Set<ServerProgram>();
  private turn = 0;
  /** Requests that a host answered after it was found unready. */
  answeredUnready = 0;

  constructor(hosts: readonly ServerProgram[]) {
    this.hosts = new Set(hosts);
    this.checks = setInterval(() => void this.check(), CHECK_MS);
  }

  async send(): Promise<number> {
    const hosts = [...this.hosts];
    const host = hosts[this.turn++ % hosts.length]!;
    const isUnready = this.unready.has(host);
    const { status } = await sendRequest(host);
    if (isUnready) this.answeredUnready++;
    return status;
  }

  stop(): void {
    clearInterval(this.checks);
  }

  private async check(): Promise<void> {
    for (const host of this.hosts) {
      if (this.unready.has(host)) continue;
      const health = await sendRequest(host, "/readyz").catch(() => undefined); // the host may have just ended
      if (health?.status === 200) continue;
      this.unready.add(host);
      setTimeout(() => this.hosts.delete(host), REMOVED_AFTER_MS);
    }
  }
}

linux("SIGTERM", () => {
  test.each([["1"], ["2"]])("fails no request behind a load balancer, workers: %s", async (workers) => {
    const env = { INKLING_DRAIN_SECONDS: "5", INKLING_WORKERS: workers };
    const hosts = [await start(env), await start(env)] as const;
    const balancer = new LoadBalancer(hosts);
    const failed: unknown[] = [];
    let ended = false;
    const client = async () => {
      while (!ended) {
        const status = await balancer.send().catch((error) => error);
        if (status !== 200) failed.push(status);
        await Bun.sleep(2);
      }
    };
    const clients = Array.from({ length: 8 }, client);
    hosts[0].child.kill("SIGTERM");
    expect(await hosts[0].child.exited).toBe(0);
    ended = true;
    await Promise.all(clients);
    balancer.stop();
    expect(failed).toEqual([]);
    expect(balancer.answeredUnready).toBeGreaterThan(0);
    expect(hosts[0].events("stopping")).toMatchObject([{ drain_seconds: 5 }]);
  });

  test.each([["1"], ["2"]])(
    "answers, but is not ready, until a second one ends it, workers: %s",
    async (workers) => {
      const server = await start({ INKLING_DRAIN_SECONDS: "3600", INKLING_WORKERS: workers });
      server.child.kill("SIGTERM");
      await until(async () => (await server.status()) === 503);
      const { text } = await sendRequest(server, "/readyz");
      expect(text).toContain('"reasons":["the server is stopping"]');
      expect(await server.metric("inkling_ready")).toBe(0);
      const url = `http://127.0.0.1:${server.port}${GEOLOCATE}`;
      const kept = await fetch(url, { headers: { Authorization: `Bearer ${server.token}` } });
      expect(kept.status).toBe(200);
      expect(kept.headers.get("connection")).toBe("close");
      await until(() => {
        server.child.kill("SIGTERM"); // signals close together count as one
        return Bun.sleep(100).then(() => server.child.exitCode !== null);
      });
      expect(server.child.exitCode).toBe(130);
    },
  );

  test.each([["1"], ["2"]])(
    "answers what waits in the queue when the drain ends, workers: %s",
    async (workers) => {
      const server = await start({ INKLING_DRAIN_SECONDS: "1", INKLING_WORKERS: workers });
      const { pid } = server.child;
      server.child.kill("SIGTERM");
      await until(() => server.events("stopping").length > 0);
      signal(pid, "SIGSTOP");
      // The kernel completes these connections, while the server does nothing.
      const waiting = Array.from({ length: QUEUED }, () => sendRequest(server).then(({ status }) => status));
      await until(() => queued(server.port) >= QUEUED);
      await Bun.sleep(1_000); // the drain is over
      signal(pid, "SIGCONT");
      expect(await Promise.all(waiting)).toEqual(Array(QUEUED).fill(200));
      expect(await server.child.exited).toBe(0);
    },
  );
});

const QUEUED = 64;

/** Connections that no process has accepted yet, and that have sent data. */
function queued(port: number): number {
  const { stdout } = Bun.spawnSync(["cat", "/proc/net/tcp"]);
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return stdout
    .toString()
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, address, , state, queues]) => {
      const received = Number.parseInt(queues?.split(":")[1] ?? "0", 16);
      return address?.endsWith(local) && state === "01" && received > 0;
    }).length;
}
