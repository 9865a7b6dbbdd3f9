// Tests the list of keys while the database is unreachable.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DATA_FOLDER } from "@inkling/data";
import { openStore, parseNewKey } from "@inkling/store";
import { keyCopyText } from "@inkling/store/keys/key-copy";
import { freePort } from "../../../../test/harness/ports.ts";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { runHere } from "../program.testing.ts";

async function copyOf(dataDir: string, names: readonly string[]): Promise<void> {
  const store = await openStore(`sqlite://${join(temporaryFolder(), "other.db")}`);
  for (const name of names) await store.createKey(parseNewKey({ name, quota: 1_000 }, 0));
  writeFileSync(join(dataDir, DATA_FOLDER.keys), keyCopyText(await store.loadKeys()));
  await store.close();
}

const list = (dataDir: string, ...flags: string[]) => {
  const env = {
    INKLING_DATA_DIR: dataDir,
    INKLING_DATABASE_URL: `postgres://inkling@127.0.0.1:${freePort()}/inkling`,
  };
  return runHere(["keys", "list", ...flags], { env, cwd: dataDir });
};

test("the keys of this host's copy, without usage", async () => {
  const dataDir = temporaryFolder();
  await copyOf(dataDir, ["shop", "blog"]);
  const text = await list(dataDir);
  expect(text.code).toBe(0);
  expect(text.out).toMatch(/\bshop +live\b.* \? +1,000\/day +\? /);
  expect(text.err).toMatch(
    /^warning: .*These are the active keys that this host last read, without usage\nhint: /,
  );
  const json = JSON.parse((await list(dataDir, "--json")).out);
  expect(json).toHaveLength(2);
  expect(json[0]).toMatchObject({ lookups_today: null, last_used_at: null, refused_today: null });
});

test("without a copy, the database's error", async () => {
  const { out, err, code } = await list(temporaryFolder());
  expect([out, code]).toEqual(["", 1]);
  expect(err).toMatch(/^inkling: .*\nhint: /);
});
