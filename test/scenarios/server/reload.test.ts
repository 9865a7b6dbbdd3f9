// reload.test.ts: tests SIGHUP to `inkling serve`, with one process and with workers. Valid settings are applied while
// requests continue. If a setting is invalid, no setting is applied.

import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { openStore } from "../../../packages/store/src/store.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { GEOLOCATE, SMALL_NETWORK, smallRelease, temporaryFolder } from "../../harness/release.ts";
import { ServerProgram } from "../../harness/server-program.ts";
import { until } from "../../harness/until.ts";

const ME = GEOLOCATE.replace(/[^/]+$/, "me");
/** Enough new connections to reach every worker. The chance that a worker is missed is 1 in 2^31. */
const CONNECTIONS = 32;

let server: ServerProgram | undefined;
afterEach(() => server?.kill());

async function start(workers: number): Promise<ServerProgram> {
  const unset = { INKLING_RATE: "", INKLING_LOG_LEVEL: "", INKLING_WORKERS: String(workers) };
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  writeFileSync(join(dataDir, "inkling.toml"), "rate = 0\n");
  server = new ServerProgram({ dataDir, env: unset });
  await server.ready();
  return server;
}

/**
 * Writes the settings, or changes them in another way, and sends SIGHUP.
 * @returns the resulting log event
 */
async function reload(main: ServerProgram, toml: string | (() => void)): Promise<Record<string, unknown>> {
  const answers = () => [...main.events("settings-reloaded"), ...main.events("settings-refused")];
  const before = answers().length;
  const refusals = main.events("settings-refused").length;
  if (typeof toml === "string") writeFileSync(join(main.dataDir, "inkling.toml"), toml);
  else toml();
  main.child.kill("SIGHUP");
  await until(() => answers().length > before);
  const event = main.events("settings-refused").length > refusals ? "settings-refused" : "settings-reloaded";
  const { time: _, ...fields } = main.events(event).at(-1)!;
  return fields;
}

async function get(main: ServerProgram, path: string, isNew = true): Promise<Response> {
  const headers = {
    Authorization: `Bearer ${main.token}`,
    "X-Forwarded-For": SMALL_NETWORK.replace("0/24", "142"),
    ...(isNew && { Connection: "close" }),
  };
  const response = await fetch(`http://127.0.0.1:${main.port}${path}`, { headers, keepalive: !isNew });
  await response.arrayBuffer();
  return response;
}

/** Returns the responses on new connections, each different response once. */
async function seen(main: ServerProgram): Promise<string[]> {
  const all = new Set<string>();
  for (let i = 0; i < CONNECTIONS; i++) {
    const { status, headers } = await get(main, ME);
    all.add(`${status} ${headers.get("RateLimit-Policy")}`);
  }
  return [...all];
}

describe.each(process.platform === "linux" ? [1, 2] : [1])("%i processes that answer", (workers) => {
  test("take over what is right, refuse what is wrong, and answer all the time", async () => {
    const main = await start(workers);
    const pids = main.workers;
    expect(await seen(main)).toEqual(["400 null"]); // this machine's address has no place
    const statuses = new Set<number>();
    let isOver = false;
    const clients = [true, true, false, false].map(async (isNew) => {
      while (!isOver) statuses.add((await get(main, GEOLOCATE, isNew)).status);
    });
    const loud = 'rate = 900000\nburst = 900000\ntrusted_proxies = ["127.0.0.1"]\n';
    try {
      expect(await reload(main, loud)).toEqual({
        level: "info",
        event: "settings-reloaded",
        changed: ["rate", "burst", "trusted_proxies"],
        need_restart: [],
      });
      await until(async () => (await seen(main)).join() === '200 "default";q=900000;w=1');
      const wrong = `${loud}decisions_days = 0\nlog_levle = "info"\n`;
      expect(await reload(main, wrong)).toEqual({
        level: "error",
        event: "settings-refused",
        problems: [
          expect.stringMatching(/^log_levle in .* is not a setting; did you mean log_level\?$/),
          expect.stringMatching(/^decisions_days in .* must be/),
        ],
        effect: "no setting changes",
      });
      const restart = `${loud}rate = 0\ndatabase_url = "sqlite://other.db"\nadmin_port = 1\noffline = true\n`;
      expect(await reload(main, restart.replace("rate = 900000\n", ""))).toMatchObject({
        changed: ["rate"],
        need_restart: ["database_url"], // the port is a variable, which takes precedence
      });
      await until(async () => (await seen(main)).join() === "200 null");
    } finally {
      isOver = true;
      await Promise.all(clients);
    }
    expect([...statuses]).toEqual([200]);
    expect(main.workers).toEqual(pids);
    await reload(main, 'rate = 0\nlog_level = "access"\n');
    await until(async () => {
      await get(main, GEOLOCATE);
      return main.err.includes('"level":"access"');
    });
    main.child.kill("SIGTERM");
    expect(await main.child.exited).toBe(0);
  });
});

test("secrets are read again, too, and are not in the log", async () => {
  const main = await start(1);
  mkdirSync(join(main.dataDir, "credentials"));
  writeFileSync(join(main.dataDir, "credentials/ipinfo_token"), "token-hidden");
  expect(await reload(main, "rate = 0\n")).toMatchObject({ changed: ["ipinfo_token"] });
  writeFileSync(join(main.dataDir, "credentials/ipinfo_token"), "hidden with a space");
  const { problems } = await reload(main, "rate = 0\n");
  expect(problems).toEqual([
    expect.stringMatching(/ipinfo_token must be exactly what the publisher gave you/),
  ]);
  expect(main.err).not.toContain("hidden");
});

test("settings taken over at SIGHUP or at a start are in the audit trail, secrets only as changed", async () => {
  const main = await start(1);
  const { dataDir, token } = main;
  const trail = async () => {
    const store = await openStore(join(dataDir, "inkling.db"));
    const { items } = await store.overrides.audit({ limit: 100 }, { action: "settings-changed" });
    await store.close();
    return items.map(({ actor, way, before, after }) => ({ actor, way, before, after }));
  };
  const noted = join(dataDir, `settings/${main.port}.json`);
  await until(() => existsSync(noted));
  expect(await trail()).toEqual([]);
  mkdirSync(join(dataDir, "credentials"));
  writeFileSync(join(dataDir, "credentials/ipinfo_token"), "token-hidden");
  await reload(main, 'rate = 5\ntrusted_proxies = ["10.0.0.0/8"]\n');
  const first = {
    actor: "SIGHUP",
    way: "file",
    before: { ipinfo_token: null, rate: 0, trusted_proxies: [] },
    after: { ipinfo_token: "changed", rate: 5, trusted_proxies: ["10.0.0.0/8"], host: hostname() },
  };
  expect(await trail()).toEqual([first] as never);
  await reload(main, 'rate = 5\ntrusted_proxies = ["10.0.0.0/8"]\n'); // nothing differs
  await reload(main, 'rate = 5\ntrusted_proxies = ["10.0.0.0/8"]\nport = 0\n'); // refused
  expect(await trail()).toHaveLength(1);
  expect(statSync(noted).mode & 0o777).toBe(0o600);
  expect(readFileSync(noted, "utf8")).not.toContain("hidden");
  await main.kill();
  // Another secret and another rate; the earlier flag is gone.
  writeFileSync(join(dataDir, "credentials/ipinfo_token"), "other-hidden");
  writeFileSync(join(dataDir, "inkling.toml"), "rate = 7\n");
  const again = async () => {
    const unset = { INKLING_RATE: "", INKLING_LOG_LEVEL: "", INKLING_WORKERS: "1" };
    server = new ServerProgram({ dataDir, token, env: { ...unset, INKLING_PORT: String(main.port) } });
    await until(() => server!.events("listening").length > 0);
  };
  await again();
  const second = {
    actor: "start",
    way: "file",
    before: { admin_port: main.adminPort, ipinfo_token: "set", rate: 5, trusted_proxies: ["10.0.0.0/8"] },
    after: {
      admin_port: server!.adminPort,
      ipinfo_token: "changed",
      rate: 7,
      trusted_proxies: [],
      host: hostname(),
    },
  };
  await until(async () => (await trail()).length === 2);
  expect(await trail()).toEqual([second, first] as never);
  expect(JSON.stringify(await trail())).not.toContain("hidden");
});

test("a settings file or credential that is empty or gone is refused, and the next reload takes what is there", async () => {
  const main = await start(1);
  const file = join(main.dataDir, "inkling.toml");
  const full = 'rate = 900000\nburst = 900000\nlog_level = "info"\n';
  expect(await reload(main, full)).toMatchObject({ event: "settings-reloaded" });
  const refused = (path: string, state: string) => ({
    event: "settings-refused",
    problems: [expect.stringContaining(`${path} is ${state}, but it had settings when it was last read`)],
    effect: "no setting changes",
  });
  expect(await reload(main, "")).toMatchObject(refused(file, "empty"));
  expect(await reload(main, " \n")).toMatchObject(refused(file, "empty"));
  expect(await reload(main, () => rmSync(file))).toMatchObject(refused(file, "gone"));
  // Nothing in the file has changed.
  expect(await reload(main, full)).toMatchObject({ event: "settings-reloaded", changed: [] });

  const credential = join(main.dataDir, "credentials/ipinfo_token");
  mkdirSync(join(main.dataDir, "credentials"));
  writeFileSync(credential, "token-hidden");
  expect(await reload(main, full)).toMatchObject({ changed: ["ipinfo_token"] });
  writeFileSync(credential, "");
  expect(await reload(main, full)).toMatchObject(refused(credential, "empty"));
  rmSync(credential);
  expect(await reload(main, full)).toMatchObject(refused(credential, "gone"));
  writeFileSync(credential, "token-hidden");
  expect(await reload(main, full)).toMatchObject({ event: "settings-reloaded", changed: [] });
});
