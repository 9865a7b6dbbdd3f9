// Tests which refused keys are logged when an update is activated.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { parseNewKey } from "@inkling/store/keys/key-input";
import type { KeyUpdate, TokenRecord } from "@inkling/store/keys/key-table";
import { Keyring } from "@inkling/store/keys/keyring";
import { RevokedFile } from "@inkling/store/keys/revoked-file";
import { keyUpdate } from "../../../../test/harness/key-updates.ts";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { ActiveKeys } from "./active-keys.ts";

const TOKEN = {
  hash: "0".repeat(64),
  key: { ...parseNewKey({ name: "a" }, 0), id: "key_a", hint: "", createdAt: 0, revokedAt: undefined },
  validUntil: undefined,
};

test.each([
  ["also in the database, after the update was read", true, []],
  ["only here", false, [["keys-revoked-here", 1]]],
])("a key that is revoked %s", async (_where, isRevoked, logged) => {
  const keyring = new Keyring();
  const file = new RevokedFile(join(temporaryFolder(), "revoked"));
  const events: unknown[] = [];
  const services = {
    settings: { checkMs: 600_000 },
    keyring,
    keyCells: { take: (update: KeyUpdate) => keyring.replace(update) },
    log: { error: (event: string, fields: { keys?: number }) => void events.push([event, fields.keys]) },
    serving: { publish: () => {} },
  };
  const activeKeys = new ActiveKeys(services as never, file);
  const activate = (tokens: readonly TokenRecord[]) => activeKeys.activate(keyUpdate("1", tokens));
  activeKeys.follow({ refresh: async () => activate(isRevoked ? [] : [TOKEN]) });
  file.add([{ id: "key_a", at: 0, author: "test" }]);
  activate([TOKEN]);
  await Bun.sleep(0);
  expect(events).toEqual(logged);
  await activeKeys.stop();
});
