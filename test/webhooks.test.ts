// webhooks.test.ts: tests the webhook queue in both databases. One host of a group sends each message once, and again
// after failures and restarts. Also tests what servers report.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { WEBHOOK_WAITS_SECONDS, type WebhookMessage } from "@inkling/contract";
import { WebhookSender } from "../packages/server/src/webhooks/sender.ts";
import { type Dropped, LEASE_MS, type QueuedEvent } from "../packages/store/src/deliveries.ts";
import { openStore, type Store } from "../packages/store/src/store.ts";
import { Postgres } from "./harness/postgres.ts";
import { temporaryFolder } from "./harness/temporary-folder.ts";
import { until } from "./harness/until.ts";
import { type Received, type Receiver, startReceiver, verified } from "./harness/webhook-receiver.ts";

const BY = { author: "ada", source: "cli" } as const;
const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 5, 1, 12);

let postgres: Postgres;
const cleanUps: (() => unknown)[] = [];
beforeAll(async () => {
  postgres = await Postgres.create();
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
afterAll(() => postgres?.close());

const held = (n: number): QueuedEvent => ({
  key: `feed.held/${n}`,
  message: {
    type: "feed.held",
    data: { feed: String(n), sets: "is_abuser", reason: "too many", hint: "accept it" },
  },
});
const stale: QueuedEvent = {
  key: "data.stale/tor",
  message: {
    type: "data.stale",
    data: { feed: "tor", sets: "is_tor_exit", state: "stale", age_seconds: 9 },
  } satisfies WebhookMessage,
};

describe.each(["SQLite", "PostgreSQL"])("on %s", (kind) => {
  const freshDatabase = async () =>
    kind === "SQLite" ? `sqlite://${join(temporaryFolder(), "inkling.db")}` : postgres.freshDatabase();

  /** Hosts share a clock that the tests set. */
  async function group(url?: string) {
    const database = url ?? (await freshDatabase());
    const clock = { now: START };
    const lines: { event: string; [field: string]: unknown }[] = [];
    const open = async () => {
      const store = await openStore(database, { now: () => clock.now });
      cleanUps.push(() => store.close());
      return store;
    };
    const line = (event: string, fields = {}) => void lines.push({ event, ...fields });
    const host = (store: Store) => {
      const sender = new WebhookSender({
        store,
        log: { info: line, error: line },
        version: "1.2.3",
        now: Date.now, // the verifier compares with the real time
        pollMs: 5,
      });
      sender.start();
      cleanUps.push(() => sender.stop());
      return sender;
    };
    return { database, clock, lines, open, host, store: await open() };
  }
  const receiving = (...args: Parameters<typeof startReceiver>): Receiver => {
    const receiver = startReceiver(...args);
    cleanUps.push(receiver.stop);
    return receiver;
  };
  const addTo = async (store: Store, url: string, events: WebhookMessage["type"][] = ["feed.held"]) => {
    const { webhook, secret } = await store.webhooks.add({ url, events, allowPrivate: true }, BY);
    return { id: webhook.id, secret };
  };
  const deliveries = async (store: Store, id: string) =>
    (await store.deliveries.list(id, { limit: 100 })).items;
  const idsOf = (received: readonly Received[]) => received.map(({ headers }) => headers["webhook-id"]);

  test("an event goes once to each webhook that subscribes to it, whoever finds it and however often", async () => {
    const { store, host } = await group();
    const [a, b] = [receiving(), receiving()];
    const first = await addTo(store, a.url);
    await addTo(store, b.url, ["data.stale"]);
    host(store);
    expect(await store.deliveries.queue([held(1), stale])).toEqual({ queued: 2, dropped: [] });
    expect(await store.deliveries.queue([held(1), stale])).toEqual({ queued: 0, dropped: [] });
    await until(() => a.received.length > 0 && b.received.length > 0);
    await until(async () => (await store.deliveries.state()).waiting === 0);
    expect(a.received.map((one) => verified(first.secret, one))).toEqual([
      { type: "feed.held", timestamp: new Date(START).toISOString(), data: held(1).message.data },
    ] as never);
    expect(b.received.map(({ body }) => JSON.parse(body).type)).toEqual(["data.stale"]);
    expect(await deliveries(store, first.id)).toMatchObject([
      { state: "delivered", attempts: 1, last: { outcome: "delivered", status: 200 } },
    ]);
  });

  test("500 and then 200: again after 5 s, with the same id and another timestamp; a restart keeps the queue", async () => {
    const { store, host, clock, open, lines } = await group();
    const receiver = receiving((n) => new Response(null, { status: n === 0 ? 500 : 200 }));
    const { id, secret } = await addTo(store, receiver.url);
    await store.deliveries.queue([held(1)]);
    const sender = host(store);
    await until(async () => (await deliveries(store, id))[0]?.last !== undefined);
    await sender.stop();
    expect(await deliveries(store, id)).toMatchObject([
      { state: "waiting", attempts: 1, dueAt: START + 5_000, last: { outcome: "failed", status: 500 } },
    ]);
    expect(lines).toEqual([
      {
        event: "webhook-failed",
        webhook: id,
        type: "feed.held",
        attempts: 1,
        retry_in_s: 5,
        delivery: idsOf(receiver.received)[0],
        reason: "the receiver returned 500",
      },
    ] as never);
    host(await open());
    clock.now += 5_000;
    await until(() => receiver.received.length >= 2);
    expect(new Set(idsOf(receiver.received)).size).toBe(1);
    for (const one of receiver.received) verified(secret, one);
    await until(async () => (await deliveries(store, id))[0]?.state === "delivered");
  });

  test("every wait of the schedule, then it is given up and listed", async () => {
    const { store, clock } = await group();
    const { id } = await addTo(store, "http://127.0.0.1:9/");
    await store.deliveries.queue([held(1)]);
    const failed = { outcome: "failed", status: undefined, reason: "no" } as const;
    for (const [i, wait] of [...WEBHOOK_WAITS_SECONDS, undefined].entries()) {
      const [claimed, ...more] = await store.deliveries.claim(id, 9);
      expect([claimed?.attempts, more]).toEqual([i + 1, []]);
      expect(await store.deliveries.settle(claimed!, failed)).toBe(wait as never);
      if (wait === undefined) break;
      clock.now += wait * 1_000 - 1;
      expect(await store.deliveries.dueWebhooks()).toEqual([]);
      clock.now += 1;
      expect(await store.deliveries.dueWebhooks()).toEqual([id]);
    }
    expect(await deliveries(store, id)).toMatchObject([{ state: "ended", attempts: 10 }]);
    const { now } = clock;
    for (; clock.now <= now + 7 * DAY_MS; clock.now += DAY_MS) await store.retention.now();
    expect(await store.retention.expire(30)).toMatchObject({ deliveries: 1 });
    expect(await deliveries(store, id)).toEqual([]);
  });

  test("410 disables a webhook until an operator enables it, ends what waits for it, and is in the audit trail", async () => {
    const { store, host, lines } = await group();
    const receiver = receiving(() => new Response(null, { status: 410 }));
    const { id } = await addTo(store, receiver.url);
    await store.deliveries.queue(Array.from({ length: 20 }, (_, n) => held(n)));
    host(store);
    await until(async () => (await store.webhooks.find(id))?.disabledAt !== undefined);
    await until(async () => (await store.deliveries.state()).waiting === 0);
    expect(lines.filter(({ event }) => event === "webhook-disabled")).toEqual([
      { event: "webhook-disabled", webhook: id },
    ]);
    expect(await store.deliveries.queue([held(99)])).toEqual({ queued: 0, dropped: [] });
    expect(receiver.received.length).toBeLessThan(20);
    const [entry] = (await store.audit.list({ limit: 1 })).items;
    expect(entry).toMatchObject({ action: "webhook-disabled", author: "inkling", subject: id });
    expect(await store.webhooks.enable(id, BY)).toMatchObject({ id, disabledAt: undefined });
    await store.deliveries.queue([held(100)]);
    // The response to this message disabled it again, or the response to a message that was under way when
    // the webhook was enabled.
    const disabled = async () =>
      (await store.audit.list({ limit: 9 }, { action: "webhook-disabled" })).items.length;
    await until(async () => (await disabled()) >= 2);
  });

  test("after a rotation both secrets sign until the overlap ends; no answer, entry or list has a secret", async () => {
    const { store, host, clock } = await group();
    const receiver = receiving();
    const { id, secret } = await addTo(store, receiver.url);
    const rotated = (await store.webhooks.rotate(id, START + 3_600_000, BY))!;
    host(store);
    await store.deliveries.queue([held(1)]);
    await until(() => receiver.received.length >= 1);
    for (const each of [secret, rotated.secret]) verified(each, receiver.received[0]!);
    clock.now += 3_600_000;
    await store.deliveries.queue([held(2)]);
    await until(() => receiver.received.length >= 2);
    verified(rotated.secret, receiver.received[1]!);
    expect(() => verified(secret, receiver.received[1]!)).toThrow();
    const shown = JSON.stringify([
      await store.webhooks.list(),
      await store.webhooks.find(id),
      await deliveries(store, id),
      (await store.audit.list({ limit: 9 })).items,
    ]);
    expect(shown).toContain("webhook-rotated");
    expect(shown).not.toContain("whsec_");
    for (const each of [secret, rotated.secret]) expect(shown).not.toContain(each.slice("whsec_".length, -1));
  });

  test("a host that ends in the middle of an attempt: the message comes again with the same id, after the lease", async () => {
    const { store, clock, open } = await group();
    const { id } = await addTo(store, "http://127.0.0.1:9/");
    await store.deliveries.queue([held(1)]);
    const [lost] = await store.deliveries.claim(id, 9); // its host is killed now
    expect(await store.deliveries.claim(id, 9)).toEqual([]);
    clock.now += LEASE_MS;
    const second = await open();
    const [again] = await second.deliveries.claim(id, 9);
    expect(again).toMatchObject({ id: lost!.id, body: lost!.body, attempts: 2 });
    // A late result from the lost host changes nothing.
    await store.deliveries.settle(lost!, { outcome: "failed", status: 500, reason: "late" });
    expect(await deliveries(store, id)).toMatchObject([{ attempts: 2, state: "waiting", last: undefined }]);
    await second.deliveries.settle(again!, { outcome: "delivered", status: 200, reason: undefined });
    expect(await deliveries(store, id)).toMatchObject([{ state: "delivered" }]);
  });

  test("a process that is killed while a receiver has its message: it comes again, the same", async () => {
    const { store, database, clock, host } = await group();
    clock.now = Date.now();
    const receiver = receiving((n) => (n === 0 ? new Promise<Response>(() => {}) : new Response("ok")));
    const { id, secret } = await addTo(store, receiver.url);
    await store.deliveries.queue([held(1)]);
    const child = Bun.spawn(
      [process.execPath, join(import.meta.dir, "webhook-sender-process.ts"), database],
      {
        stderr: "inherit",
      },
    );
    await until(() => receiver.received.length >= 1);
    child.kill("SIGKILL");
    await child.exited;
    expect(await deliveries(store, id)).toMatchObject([{ state: "waiting", attempts: 1, last: undefined }]);
    clock.now = Date.now() + LEASE_MS; // the process used the real time
    host(store);
    await until(() => receiver.received.length >= 2);
    const [first, second] = receiver.received.map((one) => [verified(secret, one), idsOf([one])]);
    expect(second).toEqual(first!);
    await until(async () => (await deliveries(store, id))[0]?.state === "delivered");
  });

  test("a host that stops in order gives back what it has begun", async () => {
    const { store, host } = await group();
    const hanging = Promise.withResolvers<Response>();
    const receiver = receiving((n) => (n === 0 ? hanging.promise : new Response("ok")));
    const { id } = await addTo(store, receiver.url);
    await store.deliveries.queue([held(1)]);
    const first = host(store);
    await until(() => receiver.received.length >= 1);
    await first.stop();
    expect(await deliveries(store, id)).toMatchObject([{ state: "waiting", attempts: 0 }]);
    host(store);
    await until(() => receiver.received.length >= 2);
    expect(new Set(idsOf(receiver.received)).size).toBe(1);
    hanging.resolve(new Response("late"));
  });

  test("two hosts send each message once", async () => {
    const { store, host, open } = await group();
    const receiver = receiving(async () => {
      await Bun.sleep(2);
      return new Response("ok");
    });
    const { id } = await addTo(store, receiver.url);
    const events = Array.from({ length: 100 }, (_, n) => held(n));
    const hosts = [host(store), host(await open())];
    for (let at = 0; at < events.length; at += 10) await store.deliveries.queue(events.slice(at, at + 10));
    await until(async () => {
      const { items } = await store.deliveries.list(id, { limit: 1_000 });
      return items.filter(({ state }) => state === "delivered").length === events.length;
    });
    expect(receiver.received).toHaveLength(events.length);
    expect(new Set(idsOf(receiver.received)).size).toBe(events.length);
    const sent = hosts.map(({ attempts }) => attempts.get("delivered")!);
    expect(sent[0]! + sent[1]!).toBe(events.length);
  });

  test("a slow receiver delays no other one", async () => {
    const { store, host } = await group();
    const hanging = Promise.withResolvers<void>();
    const slow = receiving(() => hanging.promise.then(() => new Response("ok")));
    const quick = receiving();
    await addTo(store, slow.url);
    await addTo(store, quick.url);
    await store.deliveries.queue(Array.from({ length: 30 }, (_, n) => held(n)));
    host(store);
    await until(() => quick.received.length >= 30);
    expect(slow.received.length).toBeLessThanOrEqual(4);
    hanging.resolve();
  });

  test("a webhook whose queue is full drops and counts; the others get everything", async () => {
    const { store } = await group();
    const dead = await addTo(store, "http://127.0.0.1:9/");
    const many = Array.from({ length: 10_050 }, (_, n) => held(n));
    let queued = 0;
    const dropped: Dropped[] = [];
    for (let at = 0; at < many.length; at += 1_050) {
      const done = await store.deliveries.queue(many.slice(at, at + 1_050));
      queued += done.queued;
      dropped.push(...done.dropped);
    }
    expect([queued, dropped.length, dropped[0]]).toEqual([
      10_000,
      50,
      { key: held(10_000).key, webhook: dead.id },
    ]);
    await addTo(store, "http://127.0.0.1:9/");
    const more = await store.deliveries.queue([held(20_000)]);
    expect(more).toEqual({ queued: 1, dropped: [{ key: held(20_000).key, webhook: dead.id }] });
  });

  test("the health of a webhook is that of its newest attempted deliveries", async () => {
    const { store, host } = await group();
    const receiver = receiving((n) => new Response(null, { status: n < 3 ? 200 : 500 }));
    const { id } = await addTo(store, receiver.url);
    expect(await store.deliveries.health(id)).toEqual({ deliveries: 0, failed: 0, last: undefined });
    await store.deliveries.queue(Array.from({ length: 5 }, (_, n) => held(n)));
    host(store);
    await until(async () => (await store.deliveries.health(id)).deliveries === 5);
    expect(await store.deliveries.health(id)).toMatchObject({ deliveries: 5, failed: 2 });
  });

  test("finished deliveries are kept up to a limit for each webhook", async () => {
    const { store } = await group();
    const [busy, quiet] = [
      await addTo(store, "http://127.0.0.1:9/"),
      await addTo(store, "http://127.0.0.1:9/", ["data.stale"]),
    ];
    await store.deliveries.queue([...Array.from({ length: 1_010 }, (_, n) => held(n)), stale]);
    for (const { id } of [busy, quiet]) {
      for (const claimed of await store.deliveries.claim(id, 1_010))
        await store.deliveries.settle(claimed, { outcome: "delivered", status: 200, reason: undefined });
    }
    await store.deliveries.forget();
    const count = async (id: string) => (await store.deliveries.list(id, { limit: 1_100 })).items.length;
    expect([await count(busy.id), await count(quiet.id)]).toEqual([1_000, 1]);
  });

  test("one host at a time holds the watch", async () => {
    const { store, open, clock } = await group();
    const other = await open();
    const take = (from: Store, holder: string) => from.deliveries.takeWatch(holder, 60_000);
    expect(await Promise.all([take(store, "a"), take(other, "a")])).toEqual([true, true]);
    expect(await take(other, "b")).toBe(false);
    clock.now += 60_000;
    expect([await take(other, "b"), await take(store, "a")]).toEqual([true, false]);
    await other.deliveries.leaveWatch("b");
    expect(await take(store, "a")).toBe(true);
  });
});
