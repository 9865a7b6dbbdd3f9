// Tests the downgrade in docs/updates.md: this version finds a database that a newer one has written.

import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
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

const [, steps = "", backup = ""] =
  /### Put back the database[\s\S]*?```sh\ncd \S+\n([\s\S]*?)\nrunuser .* inkling restore (\S+)\n```/.exec(
    readFileSync(join(ROOT, "docs/updates.md"), "utf8"),
  ) ?? [];

test("the documented steps bring an older version back, with the keys of the backup", async () => {
  expect(backup).toEndWith(".backup");
  const first = await start({});
  const { dataDir, token } = first;
  const env = { ...process.env, INKLING_DATA_DIR: dataDir };
  const run = (...args: string[]) => inkling(args, { cwd: dataDir, env });
  const file = join(temporaryFolder(), "before-upgrade.backup");
  expect((await run("keys", "create", "--name", "before")).code).toBe(0);
  expect((await run("backup", file)).code).toBe(0);
  first.child.kill("SIGTERM");
  await first.child.exited;
  const database = new Database(join(dataDir, "inkling.db"));
  database.run("INSERT INTO inkling_migrations (id, name, applied_at) VALUES (1000, 'future', 0)");
  database.close();
  const refused = await run("restore", file, "--force");
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('docs/updates.md, "Downgrade"') });
  expect(Bun.spawnSync(["sh", "-ec", steps], { cwd: dataDir }).exitCode).toBe(0);
  expect(await run("restore", file)).toMatchObject({ code: 0, out: expect.stringContaining("Restored") });
  expect((await run("keys", "list")).out).toContain("before");
  expect(existsSync(join(dataDir, "newer/inkling.db"))).toBe(true);
  await start({ dataDir, token }); // answers with the key as before
});
