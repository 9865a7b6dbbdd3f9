// running-settings.test.ts: tests what a running server does about its settings: it records what changed since its last
// start, changes its log level on request, and keeps all others. It also tests SIGHUP, with and without a terminal.

import { afterEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { openStore } from "../../../packages/store/src/store.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { DIRECT } from "../../harness/inkling.ts";
import { freePort } from "../../harness/ports.ts";
import { GEOLOCATE, smallRelease, temporaryFolder } from "../../harness/release.ts";
import { ServerProgram } from "../../harness/server-program.ts";
import { onSignal } from "../../harness/thread-faults.ts";
import { freshToken } from "../../harness/tokens.ts";
import { until } from "../../harness/until.ts";

const UNSET = { INKLING_RATE: "", INKLING_LOG_LEVEL: "" };

let server: ServerProgram | undefined;
afterEach(() => server?.kill());

test.each(process.platform === "linux" ? [1, 2] : [1])(
  "with %i threads that answer, the log level changes in each, also in a later one, until the restart",
  async (workers) => {
    const dataDir = temporaryFolder();
    smallRelease(dataDir, 1);
    const store = await openStore(`sqlite://${join(dataDir, "inkling.db")}`);
    const admin = (await store.adminToken.create({ author: "test", source: "cli" }))!;
    await store.close();
    const fault = onSignal({ workersBelow: 1 }, "throw new Error()");
    const env = { ...UNSET, ...fault, INKLING_WORKERS: String(workers) };
    const main = new ServerProgram({ dataDir, env });
    server = main;
    await main.ready();
    const set = async (level: string) => {
      const response = await fetch(`http://127.0.0.1:${main.adminPort}/admin/v1/log-level`, {
        method: "POST",
        headers: { Authorization: `Bearer ${admin}`, "Inkling-Author": "ada" },
        body: JSON.stringify({ level }),
      });
      return [response.status, await response.json()];
    };
    const accessLines = () => main.err.match(/"level":"access"/g)?.length ?? 0;
    /** Every request on these connections has a line of its own. */
    const isEachLogged = async () => {
      const [before, requests] = [accessLines(), 32];
      await Promise.all(Array.from({ length: requests }, () => main.get(GEOLOCATE)));
      await Bun.sleep(400); // access lines wait for up to 200 ms
      return accessLines() - before === requests;
    };
    expect(await isEachLogged()).toBe(false);
    expect(await set("access")).toEqual([200, { level: "access" }]);
    await until(() => main.events("log-level-changed").length > 0);
    expect(main.events("log-level-changed")).toMatchObject([{ to: "access", author: "ada" }]);
    await until(isEachLogged);
    if (workers > 1) {
      main.child.kill("SIGUSR2");
      await main.until("a new worker serves", () => main.events("worker-listening").length === 3);
      await until(isEachLogged);
    }
    expect(await set("error")).toEqual([200, { level: "error" }]);
    await until(async () => {
      const before = accessLines();
      await main.everywhere(GEOLOCATE, ({ ok }) => ok);
      await Bun.sleep(400);
      return accessLines() === before;
    });
    expect(await set("loud")).toMatchObject([
      400,
      { code: "BODY_INVALID", problems: ["level: must be one of error, info, access"] },
    ]);
  },
);

test("settings that differ at a start are in the audit trail, secrets only as changed", async () => {
  const [dataDir, token] = [temporaryFolder(), freshToken()];
  smallRelease(dataDir, 1);
  const settings = join(dataDir, "inkling.toml");
  writeFileSync(settings, "rate = 0\n");
  const start = async (port = freePort()) => {
    await server?.kill();
    const env = { ...UNSET, INKLING_WORKERS: "1", INKLING_PORT: String(port) };
    server = new ServerProgram({ dataDir, token, env });
    return server.ready();
  };
  const trail = async () => {
    const store = await openStore(join(dataDir, "inkling.db"));
    const { items } = await store.audit.list({ limit: 100 }, { action: "settings-changed" });
    await store.close();
    return items.map(({ author, source, before, after }) => ({ author, source, before, after }));
  };
  const first = await start();
  const noted = join(dataDir, `settings/${first.port}.json`);
  await until(() => existsSync(noted));
  expect(await trail()).toEqual([]);
  mkdirSync(join(dataDir, "credentials"));
  const secret = join(dataDir, "credentials/ipinfo_token");
  writeFileSync(secret, "token-hidden");
  writeFileSync(settings, 'rate = 5\ntrusted_proxies = ["10.0.0.0/8"]\n');
  const second = await start(first.port);
  const entries: unknown[] = [
    {
      author: "start",
      source: "file",
      before: { admin_port: first.adminPort, ipinfo_token: null, rate: 0, trusted_proxies: [] },
      after: {
        admin_port: second.adminPort,
        ipinfo_token: "changed",
        rate: 5,
        trusted_proxies: ["10.0.0.0/8"],
        host: hostname(),
      },
    },
  ];
  await until(async () => (await trail()).length === 1);
  expect(await trail()).toEqual(entries as never);
  writeFileSync(secret, "other-hidden");
  const third = await start(first.port);
  await until(async () => (await trail()).length === 2);
  expect((await trail())[0]).toMatchObject({
    before: { admin_port: second.adminPort, ipinfo_token: "set" },
    after: { admin_port: third.adminPort, ipinfo_token: "changed" },
  });
  expect(statSync(noted).mode & 0o777).toBe(0o600);
  expect(readFileSync(noted, "utf8") + JSON.stringify(await trail())).not.toContain("hidden");
});

test("SIGHUP changes nothing without a terminal", async () => {
  server = await new ServerProgram({ env: { INKLING_WORKERS: "1" } }).ready();
  writeFileSync(join(server.dataDir, "inkling.toml"), "rate = 5\n");
  server.child.kill("SIGHUP");
  await Bun.sleep(300);
  const { status, headers } = await server.get(GEOLOCATE);
  expect([status, headers.get("RateLimit-Policy")]).toEqual([200, null]);
});

test("a server whose terminal closes stops in an orderly source", async () => {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  const ports = { INKLING_PORT: String(freePort()), INKLING_ADMIN_PORT: String(freePort()) };
  const env = {
    PATH: process.env.PATH,
    INKLING_DATA_DIR: dataDir,
    INKLING_OFFLINE: "1",
    INKLING_WORKERS: "1",
    ...ports,
  };
  let shown = "";
  const child = Bun.spawn([...DIRECT, "serve"], {
    cwd: dataDir,
    env,
    terminal: { data: (_, bytes) => (shown += new TextDecoder().decode(bytes)) },
  });
  await until(() => shown.includes('"event":"listening"'));
  child.terminal!.close();
  expect(await child.exited).toBe(0);
});
