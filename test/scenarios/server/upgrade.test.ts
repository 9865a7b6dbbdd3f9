// upgrade.test.ts: tests the upgrade of a database that an earlier version wrote. earlier-database.json has that
// version's rows, and its tokens, as its program wrote them.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { openStore } from "@inkling/store";
import { Database } from "../../../packages/store/src/database.ts";
import { MIGRATIONS } from "../../../packages/store/src/migrations.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { inkling } from "../../harness/inkling.ts";
import { Postgres } from "../../harness/postgres.ts";
import { startGroupHost } from "../../harness/server.ts";
import { temporaryFolder } from "../../harness/temporary-folder.ts";
import { until } from "../../harness/until.ts";
import earlier from "./earlier-database.json" with { type: "json" };

/** The newest step of the version that wrote the rows: today's first. */
const STEP = MIGRATIONS[0]!.id;
const TABLES: Readonly<Record<string, readonly object[]>> = earlier.tables;
const { live, sandbox, revoked, root, read, write } = earlier.tokens;

let postgres: Postgres;
const closers: (() => unknown)[] = [];
beforeAll(async () => {
  postgres = await Postgres.create();
});
afterAll(async () => {
  for (const close of closers.reverse()) await close();
  await postgres.close();
});

const URLS: Readonly<Record<string, () => Promise<string>>> = {
  SQLite: async () => `sqlite://${join(temporaryFolder(), "inkling.db")}`,
  PostgreSQL: () => postgres.freshDatabase(),
};

/** Writes the database as the earlier version left it. @returns its URL */
async function earlierDatabase(backend: string): Promise<string> {
  const url = await URLS[backend]!();
  const database = new Database(url, {}, { migrations: MIGRATIONS.slice(0, 1) });
  const names = ["inkling_keys", ...Object.keys(TABLES).filter((name) => name !== "inkling_keys")];
  for (const name of names) await database.run((sql) => sql`INSERT INTO ${sql(name)} ${sql(TABLES[name]!)}`);
  await database.close();
  return url;
}

describe.each(Object.keys(URLS))("a database of an earlier version on %s", (backend) => {
  test("is upgraded when a server starts, which reports it; keys, tokens, overrides and rules are as before", async () => {
    const url = await earlierDatabase(backend);
    const host = await startGroupHost(url);
    closers.push(() => host.server.stop());
    const newest = MIGRATIONS.at(-1)!.id;
    expect(host.events("database-upgraded")).toMatchObject([{ from: STEP, to: newest }]);
    await until(async () => (await host.status(live)) === 200);
    expect([await host.status(sandbox), await host.status(revoked)]).toEqual([422, 401]);
    const reputation = await fetch(`${host.origin}/v1/ip-intel/reputation/81.2.69.142`, {
      headers: { Authorization: `Bearer ${live}` },
    });
    expect(await reputation.json()).toMatchObject({ is_tor_exit: true });
    const admin = (token: string, method = "GET") =>
      fetch(`http://127.0.0.1:${host.server.adminPort}/admin/v1/keys`, {
        method,
        headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
        ...(method === "POST" && { body: '{"name":"later"}' }),
      }).then(({ status }) => status);
    for (const [token, statuses] of [
      [root, [200, 201]],
      [read, [200, 403]],
      [write, [200, 201]],
    ] as const)
      expect([await admin(token), await admin(token, "POST")]).toEqual([...statuses]);

    const store = await openStore(url);
    closers.push(() => store.close());
    const { overrides } = await store.overrides.load();
    expect(overrides.map(({ flag, verdict }) => [flag, verdict]).sort()).toEqual([
      ["disposable", false],
      ["is_tor_exit", true],
    ]);
    const rows = await store.database.run(
      (sql) => sql`SELECT ref, action, outcome FROM inkling_decisions ORDER BY ref`,
    );
    expect([...rows]).toEqual([
      { ref: "user-1", action: "deny", outcome: "fraud" },
      { ref: "user-2", action: "allow", outcome: null },
    ]);
    const [webhook] = await store.database.run((sql) => sql`SELECT events FROM inkling_webhooks`);
    expect(webhook.events).toBe("decision.changed feed.held data.stale key.quota_reached");
    const [ruleset] = await store.database.run((sql) => sql`SELECT number, text FROM inkling_rulesets`);
    expect(Number(ruleset.number)).toBe(1);
    const key = (await store.listKeys()).find(({ name }) => name === "checkout")!;
    const usage = await store.usage.readByDay(key.id, "2000-01-01", "2999-12-31");
    const ofRows = TABLES.inkling_usage as readonly { key_id: string; lookup: string; count: number }[];
    for (const { lookup, count } of ofRows.filter((row) => !row.lookup.startsWith("country:")))
      expect(usage.find((row) => row.lookup === lookup)?.count).toBeGreaterThanOrEqual(count);
  });

  test("is upgraded by any command, which says so once, and changes nothing the second time", async () => {
    const url = await earlierDatabase(backend);
    const cwd = temporaryFolder();
    const env = { ...process.env, INKLING_DATA_DIR: cwd, INKLING_DATABASE_URL: url };
    const list = () => inkling(["keys", "list", "--json"], { cwd, env });
    const [first, second] = [await list(), await list()];
    const said = `from version ${STEP} to ${MIGRATIONS.at(-1)!.id}.\n`;
    expect([first.code, first.err]).toEqual([0, expect.stringContaining(said)]);
    expect(second).toEqual({ code: 0, out: first.out, err: "" });
    expect(JSON.parse(first.out)).toHaveLength(3);
  });
});
