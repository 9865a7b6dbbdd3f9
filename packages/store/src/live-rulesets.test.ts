// Tests what happens to the newest ruleset while the database is unreachable, and after a newer version published one.
// The suite of Live (data/src/live/live.test.ts) tests what all live values have in common.

import { expect, test } from "bun:test";
import { eventLog, type LoggedEvent } from "../../../test/harness/logged-events.ts";
import { temporaryFolder } from "../../../test/harness/temporary-folder.ts";
import { liveRulesets, RULESET_HINT, RulesetRefused } from "./live-rulesets.ts";
import { loadedRuleset, NO_RULESET, type PublishedRuleset } from "./rulesets/record.ts";

const ruleset = (number: number, text: string): PublishedRuleset => ({
  ...NO_RULESET,
  number,
  text,
  createdAt: 1,
});

function setUp(dataDir = temporaryFolder()) {
  const store = { newest: NO_RULESET, older: [] as PublishedRuleset[], isUnreachable: false };
  const events: LoggedEvent[] = [];
  const unreadable = new Set<string>();
  const read = <T>(value: T) =>
    store.isUnreachable ? Promise.reject(new Error("unreachable")) : Promise.resolve(value);
  const live = liveRulesets({
    store: {
      rulesets: {
        readStamp: () => read(loadedRuleset(store.newest).version),
        newest: () => read(store.newest),
        before: (number) => read(store.older.findLast((one) => one.number < number)),
      },
      database: { unreadable: { note: (_, id) => unreadable.add(id), forget: () => unreadable.clear() } },
    },
    dataDir,
    refreshMs: 1_000_000,
    log: eventLog(events),
  });
  return { store, events, unreadable, live, dataDir };
}

test("none, then the first, then the next one; each is reported once", async () => {
  const { store, events, live } = setUp();
  await live.start();
  expect([live.current.number, events]).toEqual([0, []]);
  store.newest = ruleset(1, "");
  await live.refresh();
  await live.refresh();
  store.newest = ruleset(2, 'on_missing = "deny"');
  await live.refresh();
  expect(live.current.text).toBe('on_missing = "deny"');
  expect(events).toEqual([
    { type: "ruleset-loaded", ruleset: 1, from: "database" },
    { type: "ruleset-loaded", ruleset: 2, from: "database" },
  ]);
  await live.stop();
});

test("another text under the same number, after a failover to an older replica, is loaded and reported", async () => {
  const { store, events, live } = setUp();
  store.newest = ruleset(1, "");
  await live.start();
  store.newest = ruleset(1, 'on_missing = "deny"');
  await live.refresh();
  await live.refresh();
  expect(live.current.text).toBe('on_missing = "deny"');
  expect(events.length).toBe(2);
  await live.stop();
});

test("a ruleset of a newer version is refused, and the one before stays; a rollback ends that", async () => {
  const { store, events, unreadable, live } = setUp();
  store.newest = ruleset(1, "");
  await live.start();
  store.newest = ruleset(2, "format = 2");
  await live.refresh();
  await live.refresh();
  expect(live.current.number).toBe(1);
  expect(live.state.error).toBeInstanceOf(RulesetRefused);
  expect(events.slice(1)).toEqual([
    {
      type: "ruleset-refused",
      ruleset: 2,
      reason:
        "this version of Inkling cannot use ruleset 2: line 1: format: this version of Inkling supports only format 1",
      hint: RULESET_HINT,
    },
  ]);
  expect([...unreadable]).toEqual(["2"]);
  store.newest = ruleset(3, "");
  await live.refresh();
  expect([live.current.number, live.state.error, unreadable.size]).toEqual([3, undefined, 0]);
  await live.stop();
});

test("a server that starts uses the newest ruleset that it can read, and says which it refuses", async () => {
  const { store, events, live } = setUp();
  store.older = [
    ruleset(1, 'on_missing = "allow"'),
    ruleset(2, 'on_missing = "deny"'),
    ruleset(3, "format = 2"),
  ];
  store.newest = ruleset(4, "format = 2");
  await live.start();
  expect(live.current.number).toBe(2);
  await live.refresh();
  expect([live.current.number, live.state.error]).toEqual([2, expect.any(RulesetRefused)]);
  expect(events.map(({ type }) => type)).toEqual(["ruleset-loaded", "ruleset-refused"]);
  await live.stop();
});

test("a start without the database decides by the copy", async () => {
  const first = setUp();
  first.store.newest = ruleset(4, 'on_missing = "allow"');
  await first.live.start();
  await first.live.stop();
  const { store, events, live } = setUp(first.dataDir);
  store.isUnreachable = true;
  await live.start();
  expect(live.current).toMatchObject({ number: 4, text: 'on_missing = "allow"' });
  expect(events).toEqual([{ type: "ruleset-loaded", ruleset: 4, from: "data folder" }]);
  await live.stop();
});
