// channel-status.test.ts: tests which servers `inkling channel status` shows.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { currentName, type HostReport } from "@inkling/data";
import { SQL } from "bun";
import { runHere } from "../../../packages/cli/src/program.testing.ts";
import { openStore } from "../../../packages/store/src/store.ts";
import { Postgres } from "../../harness/postgres.ts";
import { smallRelease, temporaryFolder } from "../../harness/release.ts";

let postgres: Postgres;
beforeAll(async () => {
  postgres = await Postgres.create();
});
afterAll(async () => {
  await postgres?.close();
});

const REPORT: HostReport = {
  ...{ name: "", version: "0.1.0", at: new Date().toISOString(), ready: true, reasons: [], warnings: [] },
  ...{ release: null, pinned: false, refused: null, channel: null },
  ...{ requests_per_second: 0, clock_offset_seconds: 0 },
};

test("shows the servers of the database that follow the channel, and says which are not shown", async () => {
  const url = await postgres.freshDatabase();
  await (await openStore(url)).close(); // creates the tables
  await using sql = new SQL(url, { max: 1 });
  const folder = temporaryFolder();
  const builder = join(folder, "builder");
  const init = await runHere(["channel", "init", "key.pem", "--json"], { env: {}, cwd: folder });
  const env: Record<string, string> = {
    INKLING_CHANNEL: join(folder, "store"),
    INKLING_CHANNEL_SIGNING_KEY: JSON.parse(init.out).private_key_file,
    INKLING_DATABASE_URL: url,
  };
  const channel = (...args: string[]) =>
    runHere(["channel", ...args, "--data-dir", builder], { env, cwd: folder });
  smallRelease(builder, 1);
  const old = currentName(builder)!;
  smallRelease(builder, 2);
  const name = currentName(builder)!;
  expect((await channel("publish")).code).toBe(0);

  const at = REPORT.at;
  const on = (release: string, fault: string | null = null, channel = "stable") => ({
    release: { name: release, created_at: at },
    channel: { name: channel, version: 1, release, fault },
  });
  const report = async (host: string, change: Partial<HostReport>, secondsAgo = 0) =>
    sql`INSERT INTO inkling_hosts (id, run, sequence, contact_at, late_at, late_since, report)
      VALUES (${host}, 'r', 1, (extract(epoch from now()) * 1000)::bigint - ${secondsAgo * 1_000}, 0, 0,
        ${JSON.stringify({ ...REPORT, name: host, ...change })})`;
  await report("web-1:8080", on(name));
  await report("web-2:8080", on(old, "unreachable"));
  await report("web-3:8080", { ...on(old), pinned: true });
  await report("web-4:8080", { ...on(name), ready: false, reasons: ["the database is unreachable"] });
  await report("web-5:8080", on(name), 60);
  await report("canary-1:8080", on(name, null, "canary"));
  await report("builds-itself:8080", {});
  const { out, code } = await channel("status");
  expect(code).toBe(0);
  expect(out.slice(out.indexOf("  servers:"))).toBe(
    [
      "  servers: 1 of 5 in this database use it and are ready; servers with another database are not shown",
      `    web-2:8080: ready, ${old}; cannot follow the channel: unreachable`,
      `    web-3:8080: ready, ${old} (pinned)`,
      `    web-4:8080: not ready, ${name}`,
      `    web-5:8080: silent, ${name}`,
      "",
    ].join("\n"),
  );
  const { servers } = JSON.parse((await channel("status", "--json")).out);
  expect(servers).toHaveLength(5);
  expect(servers[1]).toEqual({
    ...{ name: "web-2:8080", state: "ready", release: old, pinned: false, current: false },
    fault: "unreachable",
  });

  await postgres.stop();
  const without = await channel("status", "--json");
  expect(without).toMatchObject({ code: 0, err: expect.stringContaining("cannot read the servers: ") });
  expect(JSON.parse(without.out)).toMatchObject({ release: { name }, servers: null });
  await postgres.start();
  delete env.INKLING_DATABASE_URL;
  expect((await channel("status")).out).toContain("  servers: not shown, because");
});
