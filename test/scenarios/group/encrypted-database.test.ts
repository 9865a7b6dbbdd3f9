// Tests the TLS connection to PostgreSQL as docs/configuration.md describes it, and what `inkling doctor` reports about
// a connection without TLS.

import { afterAll, expect, test } from "bun:test";
import { openStore, type Store } from "@inkling/store";
import { SQL } from "bun";
import { loadSettings } from "../../../packages/cli/src/config/settings.ts";
import { exposed } from "../../../packages/cli/src/runtime/doctor-checks.ts";
import { Postgres } from "../../harness/postgres.ts";
import { withPrograms } from "../../harness/programs.ts";
import { temporaryFolder } from "../../harness/release.ts";
import { until } from "../../harness/until.ts";

const closes: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closes.reverse()) await close();
});

withPrograms(
  "a server with the right certificate is talked to, others are not",
  ["openssl"],
  true,
  async () => {
    const postgres = await Postgres.create();
    closes.push(() => postgres.close());
    const certificate = await postgres.encrypt();
    const url = (await postgres.freshDatabase()).replace("127.0.0.1", "localhost");
    const stores: Store[] = [];
    closes.push(() => Promise.all(stores.map((store) => store.close())));

    const verified = `${url}?sslmode=verify-full&sslrootcert=${certificate}`;
    stores.push(await openStore(verified));
    expect(await stores[0]!.listKeys()).toEqual([]);
    await using sql = new SQL(url.replace(/\/\w+$/, "/postgres"), { max: 1 });
    const [{ ssl }] = await sql`SELECT bool_and(ssl) AS ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
    WHERE application_name = 'inkling'`;
    expect(ssl).toBe(true);

    // A new database host has a new certificate. If its file is replaced, the open store connects again.
    await postgres.encrypt();
    await until(() =>
      stores[0]!.listKeys().then(
        () => true,
        () => false,
      ),
    );

    // The certificate is for another name; its issuer is not trusted.
    expect(openStore(verified.replace("localhost", "127.0.0.1"))).rejects.toThrow(/altnames/);
    expect(openStore(`${url}?sslmode=verify-full`)).rejects.toThrow(/self.signed/);
  },
);

test.each([
  ["postgres://u@db.internal/inkling", "sslmode=disable to db.internal"],
  ["postgres://u@db.internal/inkling?sslmode=require", "the server's identity is not checked"],
  ["postgres://u@db.internal/inkling?sslmode=verify-full", undefined],
  ["postgres://u@localhost/inkling", undefined],
  ["sqlite://inkling.db", undefined],
])("doctor on %s: %s", (url, found) => {
  const env = { INKLING_DATABASE_URL: url };
  const { settings } = loadSettings({ env, flags: {}, cwd: temporaryFolder() });
  const note = { state: "note", found: expect.stringContaining(found ?? ""), fix: expect.any(String) };
  expect(exposed(settings)).toEqual(found === undefined ? undefined : (note as never));
});
