import { describe, expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ReaderOrder, ReaderReport } from "../../../../test/harness/key-reader.ts";
import { keyUpdate, tokensOf } from "../../../../test/harness/key-updates.ts";
import { eventLog, type LoggedEvent } from "../../../../test/harness/logged-events.ts";
import { randomBelow } from "../../../../test/harness/random.ts";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { freshToken } from "../../../../test/harness/tokens.ts";
import { type LiveKeysOptions, liveKeys } from "../live-keys.ts";
import type { Store } from "../store.ts";
import { type Key, NAME_FROM_SETTINGS, rowFromKey } from "./key.ts";
import { keyCopy, keyCopyText, readKeyCopy } from "./key-copy.ts";
import { parseNewKey } from "./key-input.ts";
import { KeyTable, type KeyUpdate, type TokenRecord } from "./key-table.ts";
import { Keyring } from "./keyring.ts";
import { hashToken } from "./token.ts";

const NOW = Date.parse("2026-06-01T12:00:00Z");

function key(id: string, change: Partial<Key> = {}): Key {
  return {
    ...parseNewKey({ name: id }, NOW),
    id,
    hint: "",
    createdAt: NOW,
    revokedAt: undefined,
    ...change,
  };
}

/** A store in memory. Every token in `tokens` is active. */
class FakeStore implements Pick<Store, "readKeyStamp" | "loadKeys"> {
  readonly database = { label: "a database" };
  tokens = new Map<string, { key: Key; validUntil?: number }>();
  stamp = "1";
  isUnreachable = false;
  stampReads = 0;
  loads = 0;
  gate: Promise<void> = Promise.resolve();
  isWaiting = false;

  add(id: string, change: Partial<Key> = {}, validUntil?: number): string {
    const token = freshToken();
    this.tokens.set(token, { key: key(id, change), ...(validUntil === undefined ? {} : { validUntil }) });
    return token;
  }

  async readKeyStamp(): Promise<string> {
    this.stampReads++;
    this.isWaiting = true;
    await this.gate;
    this.isWaiting = false;
    if (this.isUnreachable) throw new Error("database is unreachable");
    return this.stamp;
  }

  async loadKeys(): Promise<KeyUpdate> {
    this.loads++;
    await Promise.resolve();
    if (this.isUnreachable) throw new Error("database is unreachable");
    const tokens = [...this.tokens].map(([token, { key: of, validUntil }]) => ({
      hash: hashToken(token),
      key: { ...of },
      validUntil,
    }));
    return keyUpdate(this.stamp, tokens);
  }
}

async function setUp(store: FakeStore, options: Partial<LiveKeysOptions> = {}) {
  const clock = { now: NOW };
  const keyring = new Keyring();
  const loader = liveKeys({ store, keyring, now: () => clock.now, ...options });
  await loader.refresh();
  return { keyring, loader, clock };
}

/** Returns the id of the key that a token stands for, or the error code. */
function answer(keyring: Keyring, token: string, now = NOW): string {
  const result = keyring.authenticate(`Bearer ${token}`, now);
  return result.ok ? result.key.id : result.code;
}

test("a keyring that follows updates answers as one that gets all keys; so does a copy that was appended to", () => {
  const below = randomBelow(1);
  const tokens = Array.from({ length: 30 }, freshToken);
  const path = join(temporaryFolder(), "keys.json");
  const followed = new Keyring();
  const onFailure = (reason: string) => expect(reason).toBeUndefined();
  const copy = keyCopy({ path, now: () => NOW, onFailure }, () => followed.table);
  let before: TokenRecord[] = [];
  let [changes, appended, size] = [0, 0, 0];
  followed.replace(keyUpdate("0", before));
  for (let stamp = 1; stamp <= 400; stamp++) {
    // up to two tokens for each of 15 keys
    const changed = new Set<string>();
    const next = Array.from({ length: 15 }, (_, i) => `key_${String(i).padStart(16, "0")}`).flatMap(
      (id, i) => {
        const same = before.filter((token) => token.key.id === id);
        if (below(10) > 2) return same;
        changed.add(id);
        const changedKey = key(id, { rate: 1 + below(2) });
        const own = [tokens[i]!, tokens[i + 15]!].filter(() => below(10) > 2);
        return own.map((token) => ({ hash: hashToken(token), key: changedKey, validUntil: undefined }));
      },
    );
    const now = next.filter((token) => changed.has(token.key.id));
    const removed = [...changed].filter((id) => !now.some((token) => token.key.id === id));
    const update = keyUpdate(String(stamp), now, String(stamp - 1), removed);
    followed.replace(update);
    copy.save({ version: update.stamp, value: update });
    const whole = new Keyring();
    whole.replace(keyUpdate(update.stamp, next));
    for (const token of tokens) {
      const header = `Bearer ${token}`;
      expect(followed.authenticate(header, NOW)).toEqual(whole.authenticate(header, NOW));
    }
    expect(followed.state.keys).toBe(whole.state.keys);
    for (const of of new Set(next.map((token) => token.key.id)))
      expect(followed.find(of)).toEqual(whole.find(of)!);
    changes += changed.size;
    if (statSync(path).size > size) appended++;
    size = statSync(path).size;
    before = next;
  }
  const sorted = (all: readonly TokenRecord[]) => all.toSorted((a, b) => (a.hash < b.hash ? -1 : 1));
  const text = readFileSync(path, "utf8");
  expect(sorted(tokensOf(readKeyCopy(`${text}["key_cut`)))).toEqual(sorted(before));
  expect(changes).toBeGreaterThan(1_000);
  expect(appended).toBeGreaterThan(100);
});

test("a table keeps the cells of its keys when it grows, and when it drops dead lines", () => {
  const keyring = new Keyring();
  const token = (id: string, rate: number) => ({
    hash: hashToken(id),
    key: key(id, { rate }),
    validUntil: undefined,
  });
  const ids = Array.from({ length: 500 }, (_, i) => `key_${i}`);
  keyring.replace(
    keyUpdate(
      "0",
      ids.map((id) => token(id, 1)),
    ),
    (id) => ids.indexOf(id),
  );
  const { table } = keyring;
  for (let rate = 2; rate <= 4; rate++)
    keyring.replace(
      keyUpdate(
        String(rate - 1),
        ids.slice(1).map((id) => token(id, rate)),
        String(rate - 2),
      ),
    );
  expect(keyring.table).not.toBe(table);
  expect(ids.map((id) => keyring.cells.get(id))).toEqual(ids.map((_, i) => i));
  expect(ids.map((id) => keyring.find(id)?.rate)).toEqual(ids.map((_, i) => (i === 0 ? 1 : 4)));
  keyring.replace(keyUpdate("removed", [], "3", [ids[7]!]));
  expect([keyring.find(ids[7]!), keyring.cells.get(ids[7]!), keyring.state.keys]).toEqual([
    undefined,
    undefined,
    499,
  ]);
  expect(() => keyring.replace(keyUpdate("later", [], "unknown"))).toThrow("follows other keys");
});

test("another thread's table has every change at once, and new memory once it is sent", () => {
  const hashOf = (id: string) => hashToken(`token of ${id}`);
  const token = (id: string) => ({ hash: hashOf(id), key: key(id), validUntil: undefined });
  const ids = Array.from({ length: 40 }, (_, i) => `key_${i}`);
  const keyring = new Keyring();
  keyring.replace(keyUpdate("0", [token("key_0")]));
  keyring.replace(keyUpdate("1", [token("key_1")], "0"), () => 7);
  const { memory } = keyring.table;
  const other = KeyTable.from(memory);
  const has = (id: string) => other.findByToken(hashOf(id))?.key.id;
  keyring.replace(keyUpdate("2", [token("key_2")], "1", ["key_0"]));
  expect([has("key_0"), has("key_1"), has("key_2"), other.cellOf("key_1")]).toEqual([
    undefined,
    "key_1",
    "key_2",
    7,
  ]);
  keyring.replace(keyUpdate("3", ids.map(token), "2"));
  expect(keyring.table.memory.slots).not.toBe(memory.slots);
  expect([has("key_1"), has("key_39")]).toEqual(["key_1", undefined]);
  const next = KeyTable.from(keyring.table.memory);
  expect(ids.map((id) => next.findByToken(hashOf(id))?.key.id)).toEqual(ids);
});

test("a thread that looks up keys while they change, and while the memory grows, misses none", async () => {
  const tokens = ["first", "second", "third"];
  const of = (name: string, id: string, rate: number) => ({
    hash: hashToken(name),
    key: key(id, { rate }),
    validUntil: undefined,
  });
  const keyring = new Keyring();
  let stamp = 0;
  const change = (records: ReturnType<typeof of>[]) =>
    keyring.replace(keyUpdate(String(++stamp), records, stamp === 1 ? undefined : String(stamp - 1)));
  change(tokens.map((token, i) => of(token, `key_${i}`, 1)));
  const thread = new Worker(new URL("../../../../test/harness/key-reader.ts", import.meta.url).href);
  const report = () =>
    new Promise<ReaderReport>((resolve, reject) => {
      thread.onmessage = ({ data }) => resolve(data);
      thread.onerror = ({ message }) => reject(new Error(message));
    });
  let sent = keyring.table.memory;
  thread.postMessage({ memory: sent, tokens } satisfies ReaderOrder);
  const before = await report();
  for (let turn = 1; turn <= 300; turn++) {
    change([
      ...tokens.map((token, i) => of(token, `key_${i}`, turn)),
      ...Array.from({ length: 20 }, (_, i) => of(`${turn} ${i}`, `key_${turn}_${i}`, 1)),
    ]);
    const { memory } = keyring.table;
    if (memory.slots !== sent.slots) thread.postMessage({ memory, tokens } satisfies ReaderOrder);
    sent = memory;
    await Bun.sleep(0);
  }
  thread.postMessage("end" satisfies ReaderOrder);
  const { lookups, missed } = await report();
  thread.terminate();
  expect(lookups).toBeGreaterThan(before.lookups);
  expect(missed).toBe(0);
});

test("a token that a later line took from its key is unknown, and one that it kept is known in between", () => {
  const hashes = [hashToken("kept"), hashToken("taken")];
  const of = (hash: string) => ({ hash, key: key("key_a"), validUntil: undefined });
  const table = new KeyTable(keyUpdate("1", hashes.map(of)));
  table.append(keyUpdate("2", [of(hashes[0]!)], "1"));
  expect(hashes.map((hash) => table.findByToken(hash)?.key.id)).toEqual(["key_a", undefined]);
});

test("a refused key is unknown until the file that refuses it is changed", () => {
  const keyring = new Keyring();
  const [token, other] = [freshToken(), freshToken()];
  const of = (id: string, text: string) => ({ hash: hashToken(text), key: key(id), validUntil: undefined });
  keyring.replace(keyUpdate("1", [of("key_a", token), of("key_b", other)]));
  expect(answer(keyring, token)).toBe("key_a");
  keyring.refused = new Set(["key_a"]);
  expect([answer(keyring, token), answer(keyring, other)]).toEqual(["KEY_INVALID", "key_b"]);
  expect([keyring.find("key_a"), keyring.state.keys]).toEqual([undefined, 1]);
});

test("a copy that version 0.1 wrote is read", () => {
  const row = (id: string, rate: number) => rowFromKey(key(id, { rate }));
  const token = (id: string, rate: number) => ({ hash: hashToken(id), key: row(id, rate) });
  const tokens = [
    { ...token("key_b", 1), validUntil: 5 },
    { ...token("key_b", 1), hash: hashToken("b") },
    token("key_c", 2),
  ];
  const copy = { format: "inkling-key-snapshot", version: 1, stamp: "2", tokens };
  const update = readKeyCopy(`${JSON.stringify(copy)}\n`);
  expect(update.stamp).toBe("2");
  const read = tokensOf(update).map(({ hash, validUntil, key: of }) => [of.id, of.rate, hash, validUntil]);
  expect(read).toEqual([
    ["key_b", 1, hashToken("key_b"), 5],
    ["key_b", 1, hashToken("b"), undefined],
    ["key_c", 2, hashToken("key_c"), undefined],
  ]);
});

describe("a line of the copy that is JSON, but not as the server writes it", () => {
  const tokens = ["key_a", "key_b", "key_c"].map((id) => ({
    hash: hashToken(id),
    key: key(id),
    validUntil: undefined,
  }));
  const text = Buffer.from(keyCopyText(new KeyTable(keyUpdate("1", tokens)))).toString();
  const [, , line = ""] = text.split("\n");
  const [id, ofKey, ...rest] = JSON.parse(line);
  const with_ = (...values: readonly unknown[]) => JSON.stringify([...values, ...rest]);

  test.each([
    ["spaces", JSON.stringify(JSON.parse(line), null, 1).replaceAll("\n", ""), true],
    ["an escape in the id", line.replace("key_", "\\u006bey_"), true],
    ["a list of tokens", with_(id, []), false],
    ["a number of tokens", with_(id, 5), false],
    ["a text of tokens", with_(id, ""), false],
    ["a removal with spaces", `[ "${id}" ]`, false],
    ["nothing", "[]", false],
    ["an id that is a number", with_(5, ofKey), false],
    ["an id with a quote", with_('key_"', ofKey), false],
    ["an id with a letter of two bytes", with_("key_é", ofKey), false],
  ])("%s", (_what, changed, isUsed) => {
    const table = new KeyTable(readKeyCopy(text.replace(line, changed)));
    const found = tokens.map(({ hash, key }) => [
      table.findByToken(hash)?.key.id,
      table.findById(key.id)?.key.id,
    ]);
    const one = (keyId: string, isThere = true) => (isThere ? [keyId, keyId] : [undefined, undefined]);
    expect(found).toEqual([one("key_a"), one("key_b", isUsed), one("key_c")]);
    expect(table.size).toBe(isUsed ? 3 : 2);
  });
});

test("a line of the copy that is not JSON is left out and counted; its text and the key's earlier line are not used", () => {
  const tokens = ["key_a", "key_b", "key_c"].map((id) => ({
    hash: hashToken(id),
    key: key(id),
    validUntil: undefined,
  }));
  const text = Buffer.from(keyCopyText(new KeyTable(keyUpdate("1", tokens)))).toString();
  const damaged = '["key_b",{"ink_live_secret\nink_live_secret\n';
  const read = (copy: string) => {
    const reasons: string[] = [];
    const update = readKeyCopy(copy, (reason) => reasons.push(reason));
    return { reasons, stamp: update.stamp, ids: tokensOf(update).map(({ key }) => key.id as string) };
  };
  expect(read(text)).toEqual({ reasons: [], stamp: "1", ids: ["key_a", "key_b", "key_c"] });
  expect(read(`${text}${damaged}`)).toEqual({
    reasons: ["2 lines are damaged, and left out"],
    stamp: "1",
    ids: ["key_a", "key_c"],
  });
  expect(() => readKeyCopy(`ink_live_secret ${text}`)).toThrow(/^not a key snapshot$/);
});

describe("keyring and its loader", () => {
  test("knows keys in force, and nothing else", async () => {
    const store = new FakeStore();
    const token = store.add("key_a");
    const { keyring } = await setUp(store);
    const rows: [string, string, string][] = [
      ["a key", token, "key_a"],
      ["the same again, from memory", token, "key_a"],
      ["with spaces", `   ${token}`, "key_a"],
      ["unknown", freshToken(), "KEY_INVALID"],
      ["wrong checksum", `${token.slice(0, -1)}${token.endsWith("0") ? "1" : "0"}`, "KEY_INVALID"],
      ["empty", "", "KEY_MISSING"],
      ["a name of every object", "constructor", "KEY_INVALID"],
      ["the hash itself", hashToken(token), "KEY_INVALID"],
      ["very long", token.repeat(1_000), "KEY_INVALID"],
    ];
    for (const [name, sent, want] of rows) expect([name, answer(keyring, sent)]).toEqual([name, want]);
    expect(keyring.find("key_a")?.name).toBe("key_a");
    expect(keyring.state).toMatchObject({ loaded: true, keys: 1, failures: 0, checkedAt: NOW });
  });

  test("a key ends with its expiry, a replaced token with its overlap, whichever is first", async () => {
    const store = new FakeStore();
    const tokens = {
      expiry: store.add("key_a", { expiresAt: NOW + 10 }),
      overlap: store.add("key_b", {}, NOW + 20),
      both: store.add("key_c", { expiresAt: NOW + 10 }, NOW + 20),
    };
    const { keyring } = await setUp(store);
    const at = (now: number) => Object.values(tokens).map((token) => answer(keyring, token, now));
    expect(at(NOW + 9)).toEqual(["key_a", "key_b", "key_c"]);
    expect(at(NOW + 10)).toEqual(["KEY_EXPIRED", "key_b", "KEY_EXPIRED"]);
    expect(at(NOW + 20)).toEqual(["KEY_EXPIRED", "KEY_EXPIRED", "KEY_EXPIRED"]);
  });

  test("a token that is expired when first seen is KEY_EXPIRED each time", async () => {
    const store = new FakeStore();
    const token = store.add("key_a", { expiresAt: NOW });
    const { keyring } = await setUp(store);
    expect([answer(keyring, token), answer(keyring, token)]).toEqual(["KEY_EXPIRED", "KEY_EXPIRED"]);
  });

  test("a revoked key is unknown after the next check, although it was in use", async () => {
    const store = new FakeStore();
    const token = store.add("key_a");
    const { keyring, loader } = await setUp(store);
    expect(answer(keyring, token)).toBe("key_a");
    store.tokens.delete(token);
    store.stamp = "2";
    await loader.refresh();
    expect(answer(keyring, token)).toBe("KEY_INVALID");
    expect(keyring.find("key_a")).toBeUndefined();
  });

  test("a changed key is a new object, an unchanged one stays the same", () => {
    const keyring = new Keyring();
    const token = (id: string, change: Partial<Key> = {}) => {
      return { hash: hashToken(id), key: key(id, change), validUntil: undefined };
    };
    keyring.replace(keyUpdate("1", [token("key_a"), token("key_b")]));
    const before = [keyring.find("key_a"), keyring.find("key_b")];
    keyring.replace(keyUpdate("2", [token("key_a", { rate: 5 })], "1"));
    expect(keyring.find("key_a")).not.toBe(before[0]!);
    expect(keyring.find("key_b")).toBe(before[1]!);
    expect(keyring.find("key_a")?.rate).toBe(5);
  });

  test("two tokens of one key share it", async () => {
    const store = new FakeStore();
    const tokens = [store.add("key_a"), store.add("key_a", {}, NOW + 10)];
    const { keyring } = await setUp(store);
    const [first, second] = tokens.map((token) => keyring.authenticate(`Bearer ${token}`, NOW));
    expect(first?.ok && second?.ok && first.key === second.key).toBe(true);
    expect(keyring.state.keys).toBe(1);
  });

  test("a check without changes reads one row; after ten minutes everything is read, for rows changed by hand", async () => {
    const store = new FakeStore();
    store.add("key_a");
    const { loader, clock } = await setUp(store);
    for (let i = 0; i < 5; i++) await loader.refresh();
    expect([store.stampReads, store.loads]).toEqual([6, 1]);
    clock.now += 600_000;
    await loader.refresh();
    expect(store.loads).toBe(2);
  });

  test("checks never overlap", async () => {
    const store = new FakeStore();
    const { loader } = await setUp(store);
    await Promise.all([loader.refresh(), loader.refresh(), loader.refresh()]);
    expect(store.stampReads).toBe(2);
  });

  describe("a store that is empty in the place of one with keys", () => {
    test.each(["new", ""])(
      "leaves them in force, is reported, and adopts no key; stamp: %p",
      async (stamp) => {
        const store = new FakeStore();
        const token = store.add("key_a");
        const events: LoggedEvent[] = [];
        let adopted = 0;
        const { keyring, loader } = await setUp(store, {
          host: { prepare: async () => void adopted++ },
          isKeyChosen: true,
          log: eventLog(events),
        });
        const known = store.tokens;
        store.tokens = new Map();
        store.stamp = stamp;
        store.isUnreachable = true;
        await loader.refresh();
        store.isUnreachable = false;
        for (let i = 0; i < 3; i++) await loader.refresh();
        expect([answer(keyring, token), adopted]).toEqual(["key_a", 1]);
        expect(keyring.state).toMatchObject({ failures: 4, keys: 1 });
        expect(events.map(({ type }) => type)).toEqual([
          "database-unreachable",
          "database-empty",
          "chosen-key-not-created",
        ]);
        store.tokens = known;
        store.stamp = "1";
        await loader.refresh();
        expect([events.at(-1)?.type, keyring.state.failures]).toEqual(["database-back", 0]);
        expect(adopted).toBe(2); // the store may be a different database now
      },
    );

    test("also where it is exchanged between two reads", async () => {
      const store = new FakeStore();
      const token = store.add("key_a");
      const { keyring, loader, clock } = await setUp(store);
      clock.now += 600_000;
      store.loadKeys = async () => keyUpdate("new", []);
      await loader.refresh();
      expect([answer(keyring, token), keyring.state.failures]).toEqual(["key_a", 1]);
    });

    test("one that never had a key, as at the first start, is no other one", async () => {
      const store = new FakeStore();
      store.stamp = "new";
      const { keyring, loader } = await setUp(store);
      await loader.refresh();
      expect(keyring.state).toMatchObject({ loaded: true, failures: 0 });
    });

    test("nor is one that had none but the key from settings, which is made again", async () => {
      const store = new FakeStore();
      const token = store.add("key_a", { name: NAME_FROM_SETTINGS });
      let adopted = 0;
      const { keyring, loader } = await setUp(store, { host: { prepare: async () => void adopted++ } });
      store.tokens = new Map();
      store.stamp = "new";
      await loader.refresh();
      expect([answer(keyring, token), keyring.state.failures, adopted]).toEqual(["KEY_INVALID", 0, 2]);
    });
  });

  describe("while the store is unreachable", () => {
    test("known keys stay in force; state and log report it", async () => {
      const store = new FakeStore();
      const used = store.add("key_a");
      const unused = store.add("key_b");
      const events: LoggedEvent[] = [];
      const { keyring, loader } = await setUp(store, { log: eventLog(events) });
      answer(keyring, used);
      store.isUnreachable = true;
      await loader.refresh();
      await loader.refresh();
      expect([answer(keyring, used), answer(keyring, unused)]).toEqual(["key_a", "key_b"]);
      expect(keyring.state).toMatchObject({
        loaded: true,
        failures: 2,
        lastError: "database is unreachable",
      });
      store.isUnreachable = false;
      await loader.refresh();
      expect(keyring.state).toMatchObject({ failures: 0, lastError: undefined });
      expect(events).toEqual([
        { type: "database-unreachable", reason: "database is unreachable" },
        { type: "database-back" },
      ]);
    });

    test("since the start: keys are not loaded rather than invalid, except text that is no key", async () => {
      const store = new FakeStore();
      const token = store.add("key_a");
      store.isUnreachable = true;
      const { keyring, loader } = await setUp(store);
      expect(keyring.state.loaded).toBe(false);
      expect([answer(keyring, token), answer(keyring, "x")]).toEqual(["KEYS_NOT_LOADED", "KEY_INVALID"]);
      store.isUnreachable = false;
      await loader.refresh();
      expect(answer(keyring, token)).toBe("key_a");
    });

    test("what must come first is tried again until it succeeds, then never again", async () => {
      const store = new FakeStore();
      let tries = 0;
      const prepare = async () => {
        if (++tries < 3) throw new Error("not yet");
      };
      const { keyring, loader } = await setUp(store, { host: { prepare } });
      expect(keyring.state).toMatchObject({ loaded: false, lastError: "not yet" });
      for (let i = 0; i < 4; i++) await loader.refresh();
      expect([tries, keyring.state.loaded]).toEqual([3, true]);
    });
  });

  test("checks in the background until it is stopped", async () => {
    const store = new FakeStore();
    const keyring = new Keyring();
    const loader = liveKeys({ store, keyring, refreshMs: 2 });
    await loader.start();
    const token = store.add("key_a");
    store.stamp = "2";
    while (!keyring.authenticate(`Bearer ${token}`, NOW).ok) await Bun.sleep(1);
    store.isUnreachable = true;
    while (keyring.state.failures < 2) await Bun.sleep(1);
    store.isUnreachable = false;
    while (keyring.state.failures > 0) await Bun.sleep(1);
    await loader.stop();
    const reads = store.stampReads;
    await Bun.sleep(10);
    expect(store.stampReads).toBe(reads);
    expect(answer(keyring, token)).toBe("key_a");
  });

  test("stopped while a check is under way: waits for it, and begins no other", async () => {
    const store = new FakeStore();
    store.add("key_a");
    const loader = liveKeys({ store, keyring: new Keyring(), refreshMs: 1 });
    await loader.start();
    const gate = Promise.withResolvers<void>();
    store.gate = gate.promise;
    while (!store.isWaiting) await Bun.sleep(1);
    const stopped = loader.stop();
    gate.resolve();
    await stopped;
    const reads = store.stampReads;
    await Bun.sleep(10);
    expect(store.stampReads).toBe(reads);
  });

  test("a snapshot that is refused leaves the one before in force, and is tried again", async () => {
    const store = new FakeStore();
    const token = store.add("key_a");
    let refusals = 0;
    const seen: string[] = [];
    const keyring = new Keyring();
    const activate = (update: KeyUpdate) => {
      seen.push(update.stamp);
      if (update.stamp === "2" && refusals++ < 2) throw new Error("no memory");
      keyring.replace(update);
    };
    const { loader } = await setUp(store, { keyring, host: { activate } });
    store.tokens.clear();
    store.stamp = "2";
    await loader.refresh();
    await loader.refresh();
    expect(answer(keyring, token)).toBe("key_a");
    expect(keyring.state).toMatchObject({ failures: 2, lastError: "no memory" });
    await loader.refresh();
    expect(answer(keyring, token)).toBe("KEY_INVALID");
    expect(seen).toEqual(["1", "2", "2", "2"]);
    expect(keyring.state.failures).toBe(0);
  });

  test("more tokens than are remembered are still known", async () => {
    const store = new FakeStore();
    const tokens = Array.from({ length: 10_050 }, (_, i) => store.add(`key_${i}`));
    const { keyring } = await setUp(store);
    for (const round of [1, 2]) {
      const wrong = tokens.filter((token, i) => answer(keyring, token) !== `key_${i}`);
      expect([round, wrong]).toEqual([round, []]);
    }
  });
});
