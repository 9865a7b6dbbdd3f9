// Tests overrides in memory: what a check of the store changes, what keeps working without the store, and what a
// restart restores. Also tests the file that carries overrides from one installation to another.

import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DATA_FOLDER, EMPTY_HINT } from "@inkling/data";
import type { Override } from "@inkling/engine";
import { eventLog, type LoggedEvent } from "../../../test/harness/logged-events.ts";
import { temporaryFolder } from "../../../test/harness/temporary-folder.ts";
import { liveOverrides } from "./live-overrides.ts";
import { exportFile, importedOverrides, overrideFile, readSnapshot, snapshotText } from "./overrides/file.ts";
import type { OverrideInputError } from "./overrides/override.ts";
import type { LoadedOverrides } from "./overrides.ts";

const folder = temporaryFolder;

function override(id: string, over: Partial<Override> = {}): Override {
  return {
    id,
    kind: "address",
    value: "81.2.69.142",
    flag: "is_tor_exit",
    verdict: false,
    note: "our office",
    author: "ada",
    createdAt: 1_000,
    expiresAt: undefined,
    removedAt: undefined,
    ...over,
  };
}

const DATABASE = { label: "a database" };

class FakeStore {
  overrides: Override[] = [];
  version = 1;
  isUnreachable = false;
  isEmpty = false;
  stampReads = 0;
  loads = 0;

  set(...overrides: Override[]): void {
    this.overrides = overrides;
    this.version++;
  }
  async readStamp(): Promise<string> {
    this.stampReads++;
    if (this.isUnreachable) throw new Error("unreachable");
    return this.isEmpty ? "new" : String(this.version);
  }
  async load(): Promise<LoadedOverrides> {
    this.loads++;
    if (this.isUnreachable) throw new Error("unreachable");
    if (this.isEmpty) return { stamp: "new", overrides: [] };
    return { stamp: String(this.version), overrides: this.overrides };
  }
}

async function setUp(store = new FakeStore(), dataDir = folder()) {
  const events: LoggedEvent[] = [];
  const clock = { now: 0 };
  const book = liveOverrides({
    store: { overrides: store, database: DATABASE },
    dataDir,
    now: () => clock.now,
    refreshMs: 1_000_000,
    log: eventLog(events),
  });
  await book.start();
  return { store, dataDir, book, events, clock, ids: () => book.current.all.map(({ id }) => id) };
}

describe("the book", () => {
  test("takes changes with the next look, and reads one row when there are none", async () => {
    const { store, book, ids } = await setUp();
    expect(ids()).toEqual([]);
    store.set(override("a"));
    await book.refresh();
    expect([ids(), book.state.from]).toEqual([["a"], "source"]);
    const before = book.current;
    for (let i = 0; i < 5; i++) await book.refresh();
    expect([book.current === before, store.loads]).toEqual([true, 2]);
    await book.stop();
  });

  test("rows changed by hand count after a minute", async () => {
    const { store, book, clock, ids } = await setUp();
    store.overrides = [override("a")];
    await book.refresh();
    expect(ids()).toEqual([]);
    clock.now += 60_000;
    await book.refresh();
    expect(ids()).toEqual(["a"]);
    await book.stop();
  });

  test("goes on with what it has while the store is unreachable", async () => {
    const { store, book, ids } = await setUp();
    store.set(override("a"));
    await book.refresh();
    store.isUnreachable = true;
    await book.refresh();
    expect([ids(), book.state.failures]).toEqual([["a"], 1]);
    store.isUnreachable = false;
    store.set();
    await book.refresh();
    expect([ids(), book.state.failures]).toEqual([[], 0]);
    await book.stop();
  });

  test("a restart while the store is unreachable has them from the data folder; the store has the last word", async () => {
    const first = await setUp();
    first.store.set(override("a"), override("b", { flag: "is_proxy", expiresAt: 5_000 }));
    await first.book.refresh();
    await first.book.stop();
    const store = new FakeStore();
    store.isUnreachable = true;
    const second = await setUp(store, first.dataDir);
    expect(second.book.current.all).toEqual(first.store.overrides);
    expect(second.book.state).toMatchObject({ from: "snapshot", failures: 1 });
    store.isUnreachable = false;
    store.version = first.store.version; // same stamp, other overrides: the copy is not used
    store.overrides = [override("c")];
    await second.book.refresh();
    expect([second.ids(), second.book.state.from]).toEqual([["c"], "source"]);
    await second.book.stop();
  });

  test("a store that is empty in the place of one with overrides leaves them in force, and their copy", async () => {
    const first = await setUp();
    first.store.set(override("a"), override("b", { expiresAt: 5_000 }));
    await first.book.refresh();
    first.store.isEmpty = true;
    for (let i = 0; i < 3; i++) await first.book.refresh();
    await first.book.stop();
    const empty = { type: "database-empty", database: "a database", overrides_in_copy: 2, hint: EMPTY_HINT };
    expect([first.ids(), first.book.state.failures, first.events.at(-1)]).toEqual([["a", "b"], 3, empty]);

    const copy = readFileSync(join(first.dataDir, DATA_FOLDER.overrides), "utf8");
    const { store, book, events, ids, dataDir } = await setUp(first.store, first.dataDir);
    expect([ids(), events.map(({ type }) => type), events[0]]).toEqual([
      ["a", "b"],
      ["database-empty", "overrides-loaded"],
      empty,
    ]);
    expect(readFileSync(join(dataDir, DATA_FOLDER.overrides), "utf8")).toBe(copy);
    store.isEmpty = false; // an override was added
    store.set(override("c"));
    await book.refresh();
    expect([ids(), book.state.failures]).toEqual([["c"], 0]);
    await book.stop();
  });

  test("a store that never had an override is no other one, nor where all have expired", async () => {
    const store = new FakeStore();
    store.isEmpty = true;
    const { book, clock, events } = await setUp(store);
    expect([book.state.from, book.state.failures]).toEqual(["source", 0]);
    store.isEmpty = false;
    store.set(override("b", { expiresAt: 5_000 }));
    await book.refresh();
    store.isEmpty = true;
    clock.now = 5_000;
    await book.refresh();
    expect([book.current.all.length, book.state.failures]).toEqual([0, 0]);
    expect(events.map(({ type }) => type)).not.toContain("database-empty");
    await book.stop();
  });

  test("the copy is for this user and group only, and no other file is left", async () => {
    const { store, book, dataDir } = await setUp();
    store.set(override("a"));
    await book.refresh();
    expect(readdirSync(dataDir)).toEqual([DATA_FOLDER.overrides]);
    expect(statSync(join(dataDir, DATA_FOLDER.overrides)).mode & 0o777).toBe(0o640);
    await book.stop();
  });

  const damaged: [string, string][] = [
    ["cut short", '{"format":"inkling-override-snap'],
    ["another file", '{"format":"x"}'],
    ["empty", ""],
    ["of a newer version", snapshotText({ stamp: "1", overrides: [] }).replace('"version":1', '"version":2')],
  ];
  test.each(damaged)(
    "a copy that is damaged (%s) is told, passed over, and written anew",
    async (_, text) => {
      const dataDir = folder();
      writeFileSync(join(dataDir, DATA_FOLDER.overrides), text);
      const store = new FakeStore();
      store.isUnreachable = true;
      const { book, events, ids } = await setUp(store, dataDir);
      expect([ids(), book.state.from]).toEqual([[], undefined]);
      expect(events.map(({ type }) => type)).toEqual(["overrides-copy-failed"]);
      store.isUnreachable = false;
      store.set(override("a"));
      await book.refresh();
      expect(readSnapshot(readFileSync(join(dataDir, DATA_FOLDER.overrides), "utf8")).overrides).toEqual([
        override("a"),
      ]);
      await book.stop();
    },
  );

  test("a copy that cannot be written is reported once, and tried again", async () => {
    const dataDir = folder();
    mkdirSync(join(dataDir, DATA_FOLDER.overrides, "in the way"), { recursive: true });
    const { store, book, events, ids } = await setUp(new FakeStore(), dataDir);
    store.set(override("a"));
    for (let i = 0; i < 3; i++) await book.refresh();
    expect(ids()).toEqual(["a"]);
    expect(events.filter(({ type }) => type === "overrides-copy-failed")).toHaveLength(1);
    rmSync(join(dataDir, DATA_FOLDER.overrides), { recursive: true });
    await book.refresh();
    expect(readdirSync(dataDir)).toEqual([DATA_FOLDER.overrides]);
    await book.stop();
  });

  test("looks in the background until it is stopped", async () => {
    const store = new FakeStore();
    const book = liveOverrides({
      store: { overrides: store, database: DATABASE },
      dataDir: folder(),
      refreshMs: 2,
    });
    await book.start();
    store.set(override("a"));
    while (book.current.all.length === 0) await Bun.sleep(1);
    await book.stop();
    const reads = store.stampReads;
    await Bun.sleep(10);
    expect(store.stampReads).toBe(reads);
  });
});

describe("the file", () => {
  const NOW = 2_000_000_000_000;
  const CONTEXT = { now: NOW, author: "import" };
  const ALL = [
    override("a", { expiresAt: NOW + 1_000 }),
    override("b", { kind: "network", value: "81.2.69.0/24", verdict: true }),
    override("c", {
      kind: "domain",
      value: "mailinator.com",
      flag: "disposable",
      verdict: false,
    }),
    override("d", {
      kind: "email_hash",
      value: "0".repeat(64),
      flag: "disposable",
      verdict: true,
    }),
  ];
  const file = (over: object = {}) => ({ ...exportFile(ALL, NOW), ...over });
  const imported = (input: unknown, context = CONTEXT, force = false) =>
    importedOverrides(overrideFile.parse(input).overrides, context, force);
  function refusal(input: unknown): OverrideInputError | undefined {
    try {
      imported(input);
    } catch (error) {
      return error as OverrideInputError;
    }
    return undefined;
  }

  test("what is exported is read back: all but ids", () => {
    const { overrides, expired } = imported(JSON.parse(JSON.stringify(file())));
    const bare = ALL.map(({ id: _, removedAt: __, ...rest }) => rest);
    const byValue = (a: { value: string }, b: { value: string }) => (a.value < b.value ? -1 : 1);
    expect(overrides.toSorted(byValue)).toEqual(bare.toSorted(byValue));
    expect(expired).toBe(0);
  });

  test("two exports of the same overrides are the same, whatever their order", () => {
    expect(exportFile(ALL.toReversed(), NOW)).toEqual(exportFile(ALL, NOW));
  });

  test("what expired since the export is left out, and counted", () => {
    const later = { ...CONTEXT, now: NOW + 1_000 };
    expect(imported(file(), later)).toMatchObject({ expired: 1, overrides: { length: 3 } });
  });

  const row = (over: object) => ({ ...exportFile(ALL, NOW).overrides[0], ...over });
  const rows: [name: string, input: unknown, reason: RegExp][] = [
    ["a row that is none", file({ overrides: [1] }), /overrides\.0\./],
    ["a malformed value", file({ overrides: [row({}), row({ value: "x y" })] }), /overrides\.1\.value: /],
    ["a row that forces itself through", file({ overrides: [row({ force: true })] }), /force/],
    ["100 wrong rows", file({ overrides: Array(100).fill(row({ note: "" })) }), /and 80 more$/],
  ];
  test.each(rows)("refused as a whole: %s", (_, input, reason) => {
    expect(refusal(input)?.message).toMatch(reason);
    expect(refusal(input)?.code).toBe("INVALID");
  });

  test("a file of another format or version, or with an unknown field, is refused", () => {
    const messages = [{ format: "x" }, { version: 2 }, { more: 1 }].map(
      (over) => overrideFile.safeParse(file(over)).error?.issues[0]?.message,
    );
    expect(messages).toEqual([
      'must be "inkling-overrides"',
      "must be 1, because a newer version of Inkling wrote this file",
      expect.stringContaining("more"),
    ]);
  });

  test("equal rows, and opposite ones that have expired, are no contradiction", () => {
    const more = [row({}), row({ verdict: false, expires_at: "2001-01-01" })];
    const read = imported(file({ overrides: [...file().overrides, ...more] }));
    expect([read.overrides.length, read.expired]).toEqual([5, 1]);
  });

  test("wide networks need force, for the file as a whole", () => {
    const wide = file({
      overrides: [row({ value: "81.0.0.0/8", flag: "is_proxy", verdict: true })],
    });
    expect(refusal(wide)?.code).toBe("TOO_WIDE");
    expect(imported(wide, CONTEXT, true).overrides).toHaveLength(1);
    const expired = file({ overrides: [{ ...wide.overrides[0], expires_at: "2001-01-01" }] });
    expect(imported(expired)).toEqual({ overrides: [], expired: 1 });
    const mixed = refusal(file({ overrides: [wide.overrides[0], row({ value: "x y" })] }));
    expect(mixed?.code).toBe("INVALID");
  });
});
