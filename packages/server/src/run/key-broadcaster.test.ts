import { expect, test } from "bun:test";
import type { Key } from "@inkling/store/keys/key";
import { parseNewKey } from "@inkling/store/keys/key-input";
import type { KeySnapshot } from "@inkling/store/keys/keyring";
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

/** Creates keys numbered from `from` up to but not including `to`. */
function snapshotOf(from: number, to: number): KeySnapshot {
  const tokens = Array.from({ length: to - from }, (_, i) => {
    return { hash: "", validUntil: undefined, key: { id: `key_${from + i}` } as Key };
  });
  return { stamp: `${from} ${to}`, tokens };
}

test("without memory for new keys the others go on, those that are gone end, and usage is collected", () => {
  const memory = new HeapCells(0);
  const keys = new KeyBroadcaster(memory);
  keys.take(snapshotOf(0, 1000));
  const cellOfLast = keys.current.cells.get("key_999");
  const reserve = memory.reserve.bind(memory);
  memory.reserve = () => {
    throw new Error("ENOSPC: no space left on device");
  };
  expect(() => keys.take(snapshotOf(10, 1100))).toThrow("ENOSPC");
  const { snapshot, cells, change } = keys.current;
  expect({ change, known: snapshot?.tokens.length, cells: cells.size }).toEqual({
    change: 2,
    known: 1090,
    cells: 990,
  });
  expect(cells.has("key_9")).toBe(false);
  expect(cells.get("key_999")).toBe(cellOfLast);
  const counted: string[] = [];
  const collect = () => keys.collect({ record: (keyId) => void counted.push(keyId) }, 0);
  memory.cells.count(cellOfLast!, "geolocate", 0, 1);
  collect();
  expect(counted).toEqual(["key_999"]);

  memory.reserve = reserve;
  keys.take(snapshotOf(10, 1100));
  expect(keys.current.cells.size).toBe(1090);
  expect(Math.max(...keys.current.cells.values())).toBeLessThan(memory.cells.size);
  collect();
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
  const { store, keyLoader, keyring, keys } = services;
  const { key } = await store.createKey(parseNewKey({ name: "first" }, 0));
  await keyLoader.refresh();
  expect(keyring.find(key.id)).toBeDefined();
  expect([...keys.current.cells]).toEqual([]); // without a cell, the key gets nothing

  const before = publications();
  await store.revokeKey(key.id);
  await keyLoader.refresh();
  expect(publications()).toBe(before + 1);
  expect(keys.current.snapshot?.tokens).toEqual([]);
  expect(keyring.find(key.id)).toBeUndefined();
  expect(keyring.state.failures).toBe(0);
  expect(events("database-unreachable")).toEqual([]);
  expect(events("keys-without-memory")[0]).toContain("ENOSPC");

  memory.reserve = reserve;
  await store.createKey(parseNewKey({ name: "second" }, 0));
  await keyLoader.refresh();
  expect(keys.current.cells.size).toBe(1);
  await close();
});
