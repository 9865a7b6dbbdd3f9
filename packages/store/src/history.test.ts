// Tests which keys and tokens remain revoked while the database goes back, is confirmed, and goes back again.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { temporaryFolder } from "../../../test/harness/temporary-folder.ts";
import { DatabaseHistory, type HistoryEvent, type HistoryReading, readRemembered } from "./history.ts";
import type { KeySnapshot } from "./keys/keyring.ts";

const NOW = Date.parse("2026-06-01T12:00:00Z");
const NOTHING = { revoked: [], ended: [] };
const REVOKED = { id: "key_0123456789abcdef", at: NOW - 1_000 };
const ENDED = { hash: "0123", at: NOW - 1_000 };

const entry = (sequence: number) => ({ sequence, at: NOW + sequence, subject: "x" });
const reading = (over: Partial<HistoryReading>): HistoryReading => ({
  last: entry(1),
  hasMark: true,
  confirmed: undefined,
  restored: undefined,
  takenBack: NOTHING,
  ...NOTHING,
  ...over,
});
/** A database that lost the known entry. */
const older = (over: Partial<HistoryReading> = {}) => reading({ last: entry(1), hasMark: false, ...over });
const confirmed = (over: Partial<HistoryReading> = {}) =>
  reading({ last: entry(9), confirmed: entry(9), ...over });

/** Compares one reading after the other. @returns the types of the events of each reading */
async function review(...readings: readonly HistoryReading[]) {
  const events: HistoryEvent["type"][][] = [];
  let current = readings[0]!;
  const path = join(temporaryFolder(), "database-history.json");
  const history = new DatabaseHistory({
    path,
    read: async () => current,
    now: () => NOW,
    onEvent: ({ type }) => events.at(-1)!.push(type),
  });
  for (const one of readings) {
    current = one;
    events.push([]);
    await history.review();
  }
  return { events, history, path };
}

const BEFORE = reading({ last: entry(5), revoked: [REVOKED], ended: [ENDED] });
const BOTH = { revoked: [REVOKED], ended: [ENDED] };
const BACK_TWICE: HistoryEvent["type"][][] = [[], ["went-back"], ["confirmed"], ["went-back"]];

/** A snapshot in which the revoked key and the ended token are valid. */
const SNAPSHOT = {
  stamp: "s",
  tokens: [
    { hash: ENDED.hash, key: { id: "key_other" } },
    { hash: "4567", key: { id: REVOKED.id } },
  ],
} as unknown as KeySnapshot; // all that is read
/** What is left of it while both are refused. */
const [token] = SNAPSHOT.tokens;
const LEFT = [{ ...token, validUntil: ENDED.at }];

test("what an older database makes valid again is refused until it is confirmed", async () => {
  const back = await review(BEFORE, older({ takenBack: BOTH }));
  expect(back.events).toEqual([[], ["went-back"]]);
  expect(back.history.revoked).toEqual([REVOKED.id]);
  expect(back.history.withoutRevoked(SNAPSHOT).tokens).toEqual(LEFT as never);

  const again = await review(BEFORE, older({ takenBack: BOTH }), confirmed({ takenBack: BOTH }), older());
  expect(again.events).toEqual(BACK_TWICE);
  expect(again.history.withoutRevoked(SNAPSHOT)).toEqual(SNAPSHOT);
});

test("what a confirmed database does not contain is refused in the next database", async () => {
  const { events, history } = await review(BEFORE, older(), confirmed(), older({ takenBack: BOTH }));
  expect(events).toEqual(BACK_TWICE);
  expect(history.revoked).toEqual([REVOKED.id]);
  expect(history.withoutRevoked(SNAPSHOT).tokens).toEqual(LEFT as never);
});

test("a revoked key that the database does not have is remembered in the file", async () => {
  const { history, path } = await review(reading({}));
  await history.remember("key_lost");
  await history.review();
  expect(readRemembered(path)?.revoked).toEqual([{ id: "key_lost", at: NOW }]);
});
