import { expect, test } from "bun:test";
import { parseNewKey } from "@inkling/store/keys/key-input";
import { Keyring } from "@inkling/store/keys/keyring";
import { hashToken } from "@inkling/store/keys/token";
import { keyUpdate } from "../../../../test/harness/key-updates.ts";
import { temporaryFolder } from "../../../../test/harness/release.ts";
import { testServerOptions } from "../../../../test/harness/server-options.ts";
import { HeapCells } from "../limits/cell-memory.ts";
import { Log } from "../telemetry/log.ts";
import { KeyBroadcaster } from "./key-broadcaster.ts";
import { type Change, type Closers, closeAll, type ServerOptions } from "./options.ts";
import { openServices } from "./services.ts";

const raise = (error: unknown) => {
  throw error;
};

const NO_SINK = { record: () => expect.unreachable() };

function setUp(cells = 0) {
  const memory = new HeapCells(0);
  memory.reserve(cells);
  const keyring = new Keyring();
  return { memory, keyring, keys: new KeyBroadcaster(memory, keyring) };
}

/** @param from see {@link keyUpdate} */
function updateOf(stamp: string, ids: readonly string[], from?: string, removed: readonly string[] = []) {
  const tokens = ids.map((id) => {
    const key = { ...parseNewKey({ name: id }, 0), id, hint: "", createdAt: 0, revokedAt: undefined };
    return { hash: hashToken(id), key, validUntil: undefined };
  });
  return keyUpdate(stamp, tokens, from, removed);
}

const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `key_${from + i}`);

test("a cell goes to another key only when no worker uses it any more", () => {
  const { keyring, keys } = setUp();
  keys.take(updateOf("1", ["a", "b"]));
  const cell = keyring.cells.get("a");
  keys.take(updateOf("2", ["c"], "1", ["a"]));
  expect(keyring.cells.get("a")).toBeUndefined();
  expect(new Set([cell, ...["b", "c"].map(keyring.cells.get)]).size).toBe(3);
  const freed: string[] = [];
  keys.onFree = (keyId) => freed.push(keyId);
  keys.settle(1, NO_SINK, 0);
  expect(freed).toEqual([]);
  keys.settle(2, NO_SINK, 0);
  expect(freed).toEqual(["a"]);
  keys.take(updateOf("3", ["d"], "2"));
  expect(keyring.cells.get("d")).toBe(cell);
});

test("a key that comes back has its cell again, with what it used; so do all keys that are read again", () => {
  const { keyring, keys } = setUp();
  keys.take(updateOf("1", ["a", "b"]));
  keys.take(updateOf("2", [], "1", ["a"]));
  keys.take(updateOf("3", ["a", "c"], "2"));
  keys.take(updateOf("4", ["c", "d", "a"]));
  expect(["a", "c", "d"].map(keyring.cells.get)).toEqual([0, 2, 3]);
  keys.settle(3, NO_SINK, 0); // b was removed by change 4
  keys.take(updateOf("5", ["e"], "4"));
  expect(keyring.cells.get("e")).toBe(4);
});

test("a worker gets nothing, an update with cells, or all keys, depending on what it has", () => {
  const { keyring, keys } = setUp();
  keys.take(updateOf("1", ["a"]));
  expect(keys.since(0)).toEqual({ table: keyring.table });
  keys.take(updateOf("2", ["b"], "1", ["a"]));
  expect(keys.since(2)).toEqual({});
  expect(keys.since(1).update).toMatchObject({ from: "1", stamp: "2" });
  expect(keys.since(1).update?.cells).toEqual(
    new Map([
      ["a", undefined],
      ["b", 1],
    ]),
  );
  const worker = new Keyring();
  worker.replace(updateOf("1", ["a"]));
  const { update } = keys.since(1);
  worker.replace(update!, (keyId) => update!.cells.get(keyId));
  expect([worker.find("a"), worker.cells.get("b")]).toEqual([undefined, 1]);
  expect(keys.since(0)).toEqual({ table: keyring.table });
});

test("without memory for new keys the others go on, those that are gone end, and usage is collected", () => {
  const { memory, keyring, keys } = setUp(1_024);
  keys.take(updateOf("1", numbered(0, 1_000)));
  const cellOfLast = keyring.cells.get("key_999")!;
  const reserve = memory.reserve.bind(memory);
  memory.reserve = () => {
    throw new Error("ENOSPC: no space left on device");
  };
  const withoutCell = () =>
    [...keyring.table.ids()].filter((id) => keyring.table.cellOf(id) === undefined).length;
  expect(String(keys.take(updateOf("2", numbered(1_000, 1_100), "1", numbered(0, 10))))).toContain("ENOSPC");
  expect([keys.change, keyring.state.keys, withoutCell()]).toEqual([2, 1_090, 76]);
  expect(keyring.find("key_9")).toBeUndefined();
  expect(keyring.cells.get("key_999")).toBe(cellOfLast);
  expect(keyring.cells.get("key_1099")).toBeUndefined();
  const counted: string[] = [];
  const collect = () => keys.collect({ record: (keyId) => void counted.push(keyId) }, 0);
  memory.cells.count(cellOfLast, "geolocate", 0, 1);
  collect();
  expect(counted).toEqual(["key_999"]);

  memory.reserve = reserve;
  expect(keys.take(updateOf("3", [], "2"))).toBeUndefined();
  expect(withoutCell()).toBe(0);
  expect(keys.since(2)).toEqual({ table: keyring.table });
  expect(keyring.cells.get("key_1099")).toBeDefined();
});

/** Opens services that check nothing on their own. Tests call `refresh`. */
async function open(over: Partial<ServerOptions>, memory: HeapCells) {
  let written = "";
  const changes: Change[] = [];
  const log = new Log({ level: "error", write: (lines) => (written += lines), now: () => 0 });
  const options = { ...testServerOptions(temporaryFolder()), checkMs: 3_600_000, ...over };
  const serving = { publish: (change: Change) => void changes.push(change) };
  const closers: Closers = [];
  const services = await openServices(options, { log, memory, closers, serving });
  const events = (name: string) => written.split("\n").filter((line) => line.includes(`"event":"${name}"`));
  const publications = () => changes.filter((change) => change === "keys").length;
  return { services, events, publications, close: () => closeAll(closers, raise) };
}

test("without memory for new keys a revoked one ends all the same, and the database does not count as away", async () => {
  const memory = new HeapCells(0);
  const reserve = memory.reserve.bind(memory);
  memory.reserve = () => {
    throw new Error("ENOSPC: no space left on device");
  };
  const { services, events, publications, close } = await open({}, memory);
  const { store, keyLoader, keyring } = services;
  const { key } = await store.createKey(parseNewKey({ name: "first" }, 0));
  await keyLoader.refresh();
  expect(keyring.find(key.id)).toBeDefined();
  expect(keyring.cells.get(key.id)).toBeUndefined(); // without a cell, the key gets nothing

  const before = publications();
  await store.revokeKey(key.id);
  await keyLoader.refresh();
  expect(publications()).toBe(before + 1);
  expect(keyring.state.keys).toBe(0);
  expect(keyring.find(key.id)).toBeUndefined();
  expect(keyring.state.failures).toBe(0);
  expect(events("database-unreachable")).toEqual([]);
  expect(events("keys-without-memory")[0]).toContain("ENOSPC");

  memory.reserve = reserve;
  const second = await store.createKey(parseNewKey({ name: "second" }, 0));
  await keyLoader.refresh();
  expect(keyring.cells.get(second.key.id)).toBe(0);
  await close();
});
