import { expect, test } from "bun:test";
import { until } from "../../../../test/harness/until.ts";
import { LeaseClient } from "./lease-client.ts";
import type { LeaseState } from "./lease-state.ts";

/** The part of the state that an exchange needs: a key always needs a lease. */
const held = {
  replaceKeys: () => true,
  request: () => ({ confirmed: undefined, wishes: [1] }),
  giveBack: () => ({ confirmed: undefined, wishes: [] }),
  accept: () => {},
} as unknown as LeaseState;

test("begins no exchange once it leaves, not even that of keys that waited for a slow one", async () => {
  const log: string[] = [];
  const slow = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const client = new LeaseClient({
    held,
    source: {
      exchange: async () => {
        log.push("exchange");
        await slow.promise;
        return { hosts: 1, now: 0 } as never;
      },
      leave: async () => {
        log.push("leave");
        await left.promise;
      },
    },
  });
  const first = client.replaceKeys([], new Map());
  await Bun.sleep(0);
  const second = client.replaceKeys([], new Map());
  const stopped = client.stop();
  await Bun.sleep(0);
  expect(log).toEqual(["exchange"]); // the exchange may still write the row that leaving deletes
  slow.resolve();
  await Promise.all([first, second]);
  await Bun.sleep(0);
  left.resolve();
  await stopped;
  expect(log).toEqual(["exchange", "leave"]);
});

/** A client whose clock and database the test controls. */
function setUp() {
  const clock = { now: 0, acceptedAt: 0 };
  const reasons: (string | undefined)[] = [];
  const database = { exchange: async () => ({ hosts: 1, now: 0 }) as never };
  const client = new LeaseClient({
    held: {
      ...held,
      tick: () => {},
      silentMs: (now: number) => now - clock.acceptedAt,
      accept: (_: unknown, now: number) => (clock.acceptedAt = now),
    } as unknown as LeaseState,
    source: { exchange: () => database.exchange(), leave: async () => {} },
    elapsed: () => clock.now,
    onAlone: (reason) => reasons.push(reason),
  });
  client.start();
  return { client, clock, database, reasons };
}

test("the reason for lost contact is that of this incident, not of an earlier one", async () => {
  const { client, clock, database, reasons } = setUp();
  const answer = database.exchange;
  database.exchange = async () => {
    throw new Error("the disk is full");
  };
  await until(() => client.state.failures > 0);
  clock.now += 3_000;
  await until(() => reasons.length === 1);
  database.exchange = answer;
  await until(() => reasons.length === 2);
  clock.now += 31_000; // between two checks, as if the process had been stopped
  await until(() => reasons.length === 4);
  expect(reasons).toEqual([
    "the disk is full",
    undefined,
    "no exchange for 31 s: this process was paused or busy",
    undefined,
  ]);
  await client.stop();
});

test("a database that keeps an exchange waiting is the reason, not this process", async () => {
  const { client, clock, database, reasons } = setUp();
  await client.replaceKeys([], new Map());
  const slow = Promise.withResolvers<never>();
  database.exchange = () => slow.promise;
  const ticks = setInterval(() => (clock.now += 10), 5);
  await until(() => reasons.length === 1);
  clearInterval(ticks);
  expect(reasons).toEqual([expect.stringMatching(/^the database has not answered for \d s$/)]);
  slow.reject(new Error("stopped"));
  await client.stop();
});
