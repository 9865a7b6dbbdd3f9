// Tests the downgrade in docs/backup.md: this version finds a database that a newer one has written.

import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { inkling } from "../../harness/inkling.ts";
import { ROOT } from "../../harness/project-files.ts";
import { GEOLOCATE } from "../../harness/release.ts";
import { ServerProgram } from "../../harness/server-program.ts";
import { temporaryFolder } from "../../harness/temporary-folder.ts";
import { until } from "../../harness/until.ts";

const servers: ServerProgram[] = [];
afterAll(() => Promise.all(servers.map((server) => server.kill())));

async function start(options: ConstructorParameters<typeof ServerProgram>[0]): Promise<ServerProgram> {
  const server = new ServerProgram(options);
  servers.push(server);
  await until(async () => (await server.status(GEOLOCATE)) === 200);
  return server;
}

const [, flag = ""] =
  /### Put back the database[\s\S]*?```sh\ninkling restore (\S+) FILE +# as root\n```/.exec(
    readFileSync(join(ROOT, "docs/backup.md"), "utf8"),
  ) ?? [];

test("the documented steps bring an older version back, with the keys of the backup, and forth again", async () => {
  expect(flag).toBe("--force");
  const first = await start({});
  const { dataDir, token } = first;
  const env = { ...process.env, INKLING_DATA_DIR: dataDir };
  const run = (...args: string[]) => inkling(args, { cwd: dataDir, env });
  const file = join(temporaryFolder(), "before-upgrade.backup");
  expect((await run("keys", "create", "--name", "before")).code).toBe(0);
  expect((await run("backup", file)).code).toBe(0);
  expect((await run("keys", "create", "--name", "since")).code).toBe(0);
  first.child.kill("SIGTERM");
  await first.child.exited;
  const path = join(dataDir, "inkling.db");
  const database = new Database(path);
  database.run("INSERT INTO inkling_migrations (id, name, applied_at) VALUES (1000, 'future', 0)");
  database.close();
  const list = await run("keys", "list");
  expect(list).toMatchObject({ code: 1, err: expect.stringContaining("`inkling restore --force FILE`") });
  const refused = await run("restore", file);
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("use `--force` to replace it") });
  expect(await run("restore", flag, file)).toMatchObject({
    code: 0,
    out: expect.stringContaining(`The old data is kept in ${path}.before.`),
  });
  const { out } = await run("keys", "list");
  expect([out.includes("before"), out.includes("since")]).toEqual([true, false]);
  const second = await start({ dataDir, token }); // answers with the key as before
  second.child.kill("SIGTERM");
  await second.child.exited;

  renameSync(`${path}.before`, path);
  const newer = new Database(path);
  newer.run("DELETE FROM inkling_migrations WHERE id = 1000"); // this version plays the newer one
  newer.close();
  expect((await run("keys", "list")).out).toContain("since");
});
