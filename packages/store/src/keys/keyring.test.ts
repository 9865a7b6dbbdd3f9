import { describe, expect, test } from "bun:test";
import { randomBelow } from "../../../../test/harness/random.ts";
import { freshToken } from "../../../../test/harness/tokens.ts";
import { type Key, NAME_FROM_SETTINGS } from "./key.ts";
import { parseNewKey } from "./key-input.ts";
import { comparedTo, Keyring, type KeySnapshot } from "./keyring.ts";
import { type KeySource, type LiveKeysOptions, liveKeys } from "./live-keys.ts";
import { changeLine, keySnapshotText, readKeySnapshot } from "./snapshot.ts";
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
class FakeStore implements KeySource {
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
    if (this.isUnreachable) throw new Error("database is away");
    return this.stamp;
  }

  async loadKeys(): Promise<KeySnapshot> {
    this.loads++;
    await Promise.resolve();
    if (this.isUnreachable) throw new Error("database is away");
    const tokens = [...this.tokens].map(([token, { key: of, validUntil }]) => ({
      hash: hashToken(token),
      key: { ...of },
      validUntil,
    }));
    return { stamp: this.stamp, tokens };
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

test("a keyring that follows differences answers as one that gets all keys; so does a copy that was appended to", () => {
  const below = randomBelow(1);
  const tokens = Array.from({ length: 30 }, freshToken);
  const followed = new Keyring();
  let before: KeySnapshot = { stamp: "0", tokens: [] };
  followed.replace(before);
  let copy = keySnapshotText(before);
  let changes = 0;
  for (let stamp = 1; stamp <= 400; stamp++) {
    // up to two tokens for each of 15 keys
    const next = tokens.flatMap((token, i) => {
      if (below(10) < 3) return [];
      const id = `key_${String(i % 15).padStart(16, "0")}`;
      const same = before.tokens.find(({ hash }) => hash === hashToken(token));
      if (same !== undefined && below(10) > 0) return [same];
      return [{ hash: hashToken(token), key: key(id, { rate: 1 + below(2) }), validUntil: undefined }];
    });
    const after = comparedTo(before, { stamp: String(stamp), tokens: next });
    changes += after.delta!.keyIds.size;
    followed.replace(after);
    const whole = new Keyring();
    whole.replace({ stamp: after.stamp, tokens: after.tokens });
    for (const token of tokens) {
      const header = `Bearer ${token}`;
      expect(followed.authenticate(header, NOW)).toEqual(whole.authenticate(header, NOW));
    }
    expect(followed.state.keys).toBe(whole.state.keys);
    copy += changeLine(after)!.text;
    before = after;
  }
  const sorted = (all: KeySnapshot["tokens"]) => all.toSorted((a, b) => (a.hash < b.hash ? -1 : 1));
  expect(sorted(readKeySnapshot(`${copy}{"from":"400","cut`).tokens)).toEqual(sorted(before.tokens));
  expect(changes).toBeGreaterThan(1_000);
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

  test("a changed key is a new object, an unchanged one stays the same", async () => {
    const store = new FakeStore();
    const tokens = [store.add("key_a"), store.add("key_b")];
    const { keyring, loader } = await setUp(store);
    const before = [keyring.find("key_a"), keyring.find("key_b")];
    store.tokens.set(tokens[0]!, { key: key("key_a", { rate: 5 }) });
    store.stamp = "2";
    await loader.refresh();
    expect(keyring.find("key_a")).not.toBe(before[0]!);
    expect(keyring.find("key_b")).toBe(before[1]!);
    const result = keyring.authenticate(`Bearer ${tokens[0]}`, NOW);
    expect(result.ok && result.key.rate).toBe(5);
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
        const changes: unknown[] = [];
        let adopted = 0;
        const { keyring, loader } = await setUp(store, {
          beforeFirstLoad: async () => void adopted++,
          onStoreChange: (error) => changes.push(error?.name),
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
        expect(changes).toEqual(["Error", "EmptyDatabaseError"]);
        store.tokens = known;
        store.stamp = "1";
        await loader.refresh();
        expect([changes.at(-1), keyring.state.failures]).toEqual([undefined, 0]);
        expect(adopted).toBe(2); // the store may be a different database now
      },
    );

    test("also where it is exchanged between two reads", async () => {
      const store = new FakeStore();
      const token = store.add("key_a");
      const { keyring, loader, clock } = await setUp(store);
      clock.now += 600_000;
      store.loadKeys = async () => ({ stamp: "new", tokens: [] });
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
      const { keyring, loader } = await setUp(store, { beforeFirstLoad: async () => void adopted++ });
      store.tokens = new Map();
      store.stamp = "new";
      await loader.refresh();
      expect([answer(keyring, token), keyring.state.failures, adopted]).toEqual(["KEY_INVALID", 0, 2]);
    });
  });

  describe("while the store is away", () => {
    test("known keys stay in force; state and callback report it", async () => {
      const store = new FakeStore();
      const used = store.add("key_a");
      const unused = store.add("key_b");
      const changes: (string | undefined)[] = [];
      const { keyring, loader } = await setUp(store, {
        onStoreChange: (error) => changes.push(error?.message),
      });
      answer(keyring, used);
      store.isUnreachable = true;
      await loader.refresh();
      await loader.refresh();
      expect([answer(keyring, used), answer(keyring, unused)]).toEqual(["key_a", "key_b"]);
      expect(keyring.state).toMatchObject({ loaded: true, failures: 2, lastError: "database is away" });
      store.isUnreachable = false;
      await loader.refresh();
      expect(keyring.state).toMatchObject({ failures: 0, lastError: undefined });
      expect(changes).toEqual(["database is away", undefined]);
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
      const beforeFirstLoad = async () => {
        if (++tries < 3) throw new Error("not yet");
      };
      const { keyring, loader } = await setUp(store, { beforeFirstLoad });
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
    const onSnapshot = (snapshot: KeySnapshot) => {
      seen.push(snapshot.stamp);
      if (snapshot.stamp === "2" && refusals++ < 2) throw new Error("no memory");
    };
    const { keyring, loader } = await setUp(store, { onSnapshot });
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
