// Tests what a server takes over from a data folder of an earlier version (ba0a7277), with that version's bytes.

import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StoreError } from "@inkling/store/error";
import { RevokedFile } from "@inkling/store/keys/revoked-file";
import { openStore } from "@inkling/store/store";
import { temporaryFolder } from "../../../../test/harness/release.ts";
import { storeEarlierEntries, takeEarlierRevocations } from "./earlier-folder.ts";

const AT = Date.parse("2026-11-28T08:00:00Z");

function setUp() {
  const dataDir = temporaryFolder();
  const file = new RevokedFile(join(dataDir, "revoked"));
  const events: { event: string }[] = [];
  const write = (event: string, fields = {}) => void events.push({ event, ...fields });
  const path = (name: string) => join(dataDir, name);
  const lines = () =>
    readFileSync(file.path, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  return { dataDir, file, path, lines, events, log: { info: write, error: write } };
}

/** 128 slots of 512 bytes: spaces, with a line feed at the end. */
function slots(...entries: readonly object[]): Buffer {
  const slot = (text: string) => `${text.padEnd(511)}\n`;
  const used = new Map(entries.map((entry, i) => [i * 40 + 3, JSON.stringify(entry)]));
  return Buffer.from(Array.from({ length: 128 }, (_, i) => slot(used.get(i) ?? "")).join(""));
}

const history = (wentBack: object | null) => ({
  format: "inkling-database-history",
  version: 1,
  mark: { sequence: 7, at: AT, subject: "key_cccccccccccccccc" },
  revoked: [{ id: "key_cccccccccccccccc", at: AT - 1 }],
  ended: [{ hash: "0".repeat(64), at: AT - 1 }],
  wentBack,
});

test("revocations in slots and in the history become lines, before anything else, and the files go", () => {
  const { dataDir, file, path, lines, events, log } = setUp();
  const pending = { at: AT, actor: "ada", way: "api" };
  writeFileSync(
    path("revocations"),
    slots(
      { id: "key_aaaaaaaaaaaaaaaa", ...pending, state: "applied" },
      { id: "key_bbbbbbbbbbbbbbbb", ...pending, actor: "bea", state: "requested" },
    ),
  );
  writeFileSync(path("database-history.json"), `${JSON.stringify(history({ at: AT, from: 9, to: 7 }))}\n`);
  takeEarlierRevocations(dataDir, file, log);
  const at = "2026-11-28T08:00:00.000Z";
  expect(lines()).toEqual([
    { id: "key_aaaaaaaaaaaaaaaa", at, author: "ada" },
    { id: "key_bbbbbbbbbbbbbbbb", at, author: "bea" },
    { id: "key_cccccccccccccccc", at: "2026-11-28T07:59:59.999Z", author: "unknown" },
  ]);
  expect(readdirSync(dataDir)).toEqual(["revoked"]);
  expect(events.map(({ event }) => event)).toEqual(["earlier-tokens-valid", "earlier-revocations-taken"]);
  takeEarlierRevocations(dataDir, file, log);
  expect([lines().length, events.length]).toEqual([3, 2]);
});

test("a folder without revocations: the files go without a word, and no list is made", () => {
  const { dataDir, file, path, events, log } = setUp();
  writeFileSync(path("revocations"), slots());
  writeFileSync(path("database-history.json"), JSON.stringify({ ...history(null), revoked: [] }));
  takeEarlierRevocations(dataDir, file, log);
  expect([readdirSync(dataDir), events]).toEqual([[], []]);
});

test("revocations that cannot be written stop the start, and the files stay", () => {
  const { dataDir, file, path, log } = setUp();
  writeFileSync(
    path("revocations"),
    slots({ id: "key_aaaaaaaaaaaaaaaa", at: AT, actor: "ada", state: "applied" }),
  );
  mkdirSync(file.path);
  expect(() => takeEarlierRevocations(dataDir, file, log)).toThrow(
    /^cannot take over the revocations of .*EISDIR/,
  );
  expect(existsSync(path("revocations"))).toBe(true);
});

test("waiting audit entries are stored with their times, or said and kept", async () => {
  const { dataDir, path, events, log } = setUp();
  mkdirSync(path("audit-waiting"));
  const entry = {
    actor: "ada",
    way: "api",
    action: "release-rolled-back",
    subject: "data",
    before: { current: "b", pinned: null },
    after: { current: "a", pinned: "a", host: "one" },
  };
  for (const n of [2, 1])
    writeFileSync(path(`audit-waiting/${AT + n}-x.json`), JSON.stringify({ at: AT + n, ...entry }, null, 2));
  writeFileSync(path("audit-waiting/.tmp-1.2-3-x.json"), "{");
  const away = { record: () => Promise.reject(new StoreError("UNREACHABLE", "gone", "look there")) };
  await storeEarlierEntries(away, dataDir, log);
  expect(events).toEqual([expect.objectContaining({ event: "earlier-entries-wait", reason: "gone" })]);
  expect(readdirSync(path("audit-waiting"))).toHaveLength(3);

  const store = await openStore("sqlite://:memory:");
  await storeEarlierEntries(store.audit, dataDir, log);
  expect(events.at(-1)).toEqual({ event: "earlier-entries-stored", entries: 2 } as never);
  expect(existsSync(path("audit-waiting"))).toBe(false);
  const { items } = await store.audit.list({ limit: 10 });
  const { actor, way, ...rest } = entry;
  const stored = { author: actor, source: way, ...rest };
  expect(items).toMatchObject([
    { at: AT + 2, sequence: 2, ...stored },
    { at: AT + 1, sequence: 1, ...stored },
  ]);
  await store.close();
});
