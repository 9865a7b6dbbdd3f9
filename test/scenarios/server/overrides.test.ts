// Tests overrides over real sockets: two server processes with one database, continuous lookups, new releases,
// restarts, and a database that becomes unavailable.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { NO_FLAGS } from "@inkling/contract";
import { openStore } from "../../../packages/store/src/store.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { Postgres } from "../../harness/postgres.ts";
import {
  SMALL_NETWORK,
  smallDomain,
  smallFlag,
  smallRelease,
  temporaryFolder,
} from "../../harness/release.ts";
import { ServerProgram } from "../../harness/server-program.ts";
import { freshToken } from "../../harness/tokens.ts";
import { until } from "../../harness/until.ts";

const TOKEN = freshToken();
const ADDRESS = "81.2.69.142";
const CLEAN = NO_FLAGS;
const flagged = (n: number) => ({ ...CLEAN, [smallFlag(n)]: true });

let postgres: Postgres;
const running: ServerProgram[] = [];
beforeAll(async () => {
  postgres = await Postgres.create();
});
afterEach(() => Promise.all(running.splice(0).map((server) => server.stop())));
afterAll(() => postgres?.close());

function start(dataDir: string, databaseUrl: string): Promise<ServerProgram> {
  const env = { INKLING_DATABASE_URL: databaseUrl, INKLING_WORKERS: "1" };
  const server = new ServerProgram({ dataDir, token: TOKEN, env });
  running.push(server);
  return server.ready();
}

const send = ({ port }: ServerProgram, path: string) =>
  fetch(`http://127.0.0.1:${port}/v1/${path}`, { headers: { Authorization: `Bearer ${TOKEN}` } });
const flagsOf = async (server: ServerProgram) =>
  (await send(server, `ip-intel/reputation/${ADDRESS}`)).json();
const disposable = async (server: ServerProgram, address: string) =>
  ((await (await send(server, `user-intel/email/${address}`)).json()) as { disposable: boolean }).disposable;

const same = (a: unknown, b: unknown) => Bun.deepEquals(a, b);

const BACKENDS: readonly [name: string, address: (dataDir: string) => Promise<string>][] = [
  ["sqlite", async (dataDir) => `sqlite://${join(dataDir, "inkling.db")}`],
  ["postgres", () => postgres.freshDatabase()],
];

describe.each(BACKENDS)("two processes on %s", (_, addressOf) => {
  async function setUp() {
    const folders = [temporaryFolder(), temporaryFolder()];
    for (const folder of folders) smallRelease(folder, 0);
    const databaseUrl = await addressOf(folders[0]!);
    const store = await openStore(databaseUrl);
    const adminToken = (await store.adminToken.create({ author: "test", source: "cli" }))!;
    await store.close();
    const servers = [await start(folders[0]!, databaseUrl), await start(folders[1]!, databaseUrl)] as const;
    const admin = async (server: ServerProgram, method: string, path: string, body?: unknown) => {
      const response = await fetch(`http://127.0.0.1:${server.adminPort}/admin/v1/${path}`, {
        method,
        headers: { Authorization: `Bearer ${adminToken}` },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, document: (await response.json()) as { id: string } };
    };
    return { folders, databaseUrl, servers, admin };
  }

  test("an address loses its flag in both at once, while lookups run; no lookup fails or has another answer", async () => {
    const { servers, admin } = await setUp();
    const log: string[][] = [[], []];
    let isDone = false;
    const load = servers.map(async (server, i) => {
      while (!isDone) {
        const response = await send(server, `ip-intel/reputation/${ADDRESS}`);
        log[i]!.push(`${response.status} ${await response.text()}`);
      }
    });
    await until(async () => log.every((lines) => lines.length > 20));
    const off = { value: SMALL_NETWORK, flag: smallFlag(0), verdict: false, note: "our own" };
    const made = await admin(servers[0], "POST", "overrides", off);
    expect(made.status).toBe(201);
    expect(await flagsOf(servers[0])).toEqual(CLEAN); // the override is applied before the response is sent
    await until(async () => same(await flagsOf(servers[1]), CLEAN));
    await admin(servers[1], "DELETE", `overrides/${made.document.id}`);
    expect(await flagsOf(servers[1])).toEqual(flagged(0));
    await until(async () => same(await flagsOf(servers[0]), flagged(0)));
    isDone = true;
    await Promise.all(load);
    for (const lines of log) {
      const runs = lines.filter((line, i) => line !== lines[i - 1]);
      const [yes, no] = [flagged(0), CLEAN].map((flags) => `200 ${JSON.stringify(flags)}`);
      expect(runs).toEqual([yes!, no!, yes!]);
    }
  });

  test("a domain and an email address", async () => {
    const { servers, admin } = await setUp();
    const listed = smallDomain(0);
    await admin(servers[0], "POST", "overrides", {
      value: listed,
      flag: "disposable",
      verdict: false,
      note: "x",
    });
    await admin(servers[1], "POST", "overrides", {
      value: `jane@${listed}`,
      flag: "disposable",
      verdict: true,
      note: "x",
    });
    for (const server of servers) {
      await until(async () => !(await disposable(server, `jim@mail.${listed}`)));
      await until(() => disposable(server, `Jane%2Bshop@${listed}`));
    }
  });

  test("overrides outlive new releases and restarts", async () => {
    const { folders, databaseUrl, servers, admin } = await setUp();
    const off = { value: ADDRESS, flag: smallFlag(1), verdict: false, note: "our own" };
    await admin(servers[0], "POST", "overrides", off);
    const { id } = smallRelease(folders[0]!, 1);
    await until(async () => (await send(servers[0], "status")).headers.get("inkling-data-version") === id);
    expect(await flagsOf(servers[0])).toEqual(CLEAN);
    expect(await servers[0].stop()).toBe(0);
    const again = await start(folders[0]!, databaseUrl);
    expect(await flagsOf(again)).toEqual(CLEAN);
  });
});

test("a server that starts while PostgreSQL is unreachable has keys and overrides, and applies them at once", async () => {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 0);
  const databaseUrl = await postgres.freshDatabase();
  const first = await start(dataDir, databaseUrl);
  const store = await openStore(databaseUrl);
  const forced = { flag: smallFlag(0), verdict: false } as const;
  const target = { kind: "address", value: ADDRESS, note: "x", author: "x", expiresAt: undefined } as const;
  await store.overrides.put([{ ...target, ...forced }], { author: "x", source: "cli" });
  await store.close();
  await until(async () => same(await flagsOf(first), CLEAN));
  await postgres.stop();
  expect(await flagsOf(first)).toEqual(CLEAN);
  const second = await start(dataDir, databaseUrl);
  const metrics = await (await fetch(`http://127.0.0.1:${second.adminPort}/metrics`)).text();
  expect(metrics).toContain("\ninkling_overrides 1\n");
  expect(await flagsOf(second)).toEqual(CLEAN);
  await postgres.start();
  const answers = new Set<string>();
  await until(async () => {
    const response = await send(second, `ip-intel/reputation/${ADDRESS}`);
    answers.add(`${response.status} ${await response.text()}`.replace(/"request_id":"\w+"/, ""));
    return response.status === 200;
  });
  expect([...answers].filter((answer) => answer.startsWith("200"))).toEqual([`200 ${JSON.stringify(CLEAN)}`]);
});
