import { expect, test } from "bun:test";
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
