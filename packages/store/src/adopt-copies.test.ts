import { expect, test } from "bun:test";
import { join } from "node:path";
import { isEmptyStamp } from "@inkling/release-store";
import { temporaryFolder } from "../../../test/harness/temporary-folder.ts";
import { adoptCopies } from "./adopt-copies.ts";
import { DatabaseHistory, type HistoryEvent } from "./history.ts";
import { parseNewKey } from "./keys/key-input.ts";
import { openStore } from "./store.ts";

const ADA = { actor: "ada", way: "cli" } as const;
const OVERRIDE = {
  kind: "address",
  value: "203.0.113.9",
  flag: "is_proxy",
  verdict: false,
  note: "",
  author: "",
  expiresAt: undefined,
} as const;

/**
 * Loses a database with a key and an override, and adopts their copies into a new one.
 * @returns the new database's history as a server finds it when it reads the database after each step
 */
async function adoptInSteps(hasKeys: boolean) {
  const folder = temporaryFolder();
  const lost = await openStore(`sqlite://${join(folder, "lost.db")}`);
  await lost.createKey(parseNewKey({ name: "shop" }, 0));
  await lost.overrides.put([OVERRIDE], ADA);
  const events: HistoryEvent[] = [];
  let store = lost;
  const history = new DatabaseHistory({
    path: join(folder, "history.json"),
    read: (before, since) => store.readHistory(before, since),
    now: Date.now,
    onEvent: (event) => events.push(event),
  });
  await history.review();
  const { tokens } = await lost.loadKeys();
  const { overrides } = await lost.overrides.load();
  await lost.close();
  await Bun.sleep(2); // entries of the new database must be later than the known one

  store = await openStore(`sqlite://${join(folder, "new.db")}`);
  const { adopt, record } = store.overrides;
  const { adoptKeys } = store;
  const steps: string[] = [];
  const reviewed = async <T>(step: string, result: Promise<T>): Promise<T> => {
    const value = await result;
    steps.push(step);
    await history.review();
    return value;
  };
  store.overrides.record = (...given) => reviewed("confirmation", record.apply(store.overrides, given));
  store.overrides.adopt = (...given) => reviewed("overrides", adopt.apply(store.overrides, given));
  store.adoptKeys = (...given) => reviewed("keys", adoptKeys.apply(store, given));
  const written = await adoptCopies(store, { tokens: hasKeys ? tokens : [], overrides }, ADA);
  await history.review();
  const isEmpty = isEmptyStamp(await store.readKeyStamp());
  await store.close();
  return { written, events, steps, isEmpty };
}

test("a server that reads the database between two steps of an adoption does not find that it went back", async () => {
  expect(await adoptInSteps(true)).toEqual({
    written: { keys: 1, overrides: 1 },
    events: [],
    steps: ["confirmation", "overrides", "keys"],
    isEmpty: false,
  });
});

test("after overrides alone are adopted, the database no longer counts as empty", async () => {
  expect(await adoptInSteps(false)).toEqual({
    written: { keys: 0, overrides: 1 },
    events: [],
    steps: ["confirmation", "overrides"],
    isEmpty: false,
  });
});
