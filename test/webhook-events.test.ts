// webhook-events.test.ts: tests what servers notice and report to webhooks: changed verdicts, held feeds, old
// feeds, quotas.

import { afterEach, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type EventLog, WEBHOOK_EVENT_NAMES, type WebhookData } from "@inkling/contract";
import type { FeedReport } from "@inkling/engine";
import { Releases } from "../packages/server/src/releases/releases.ts";
import { startServer } from "../packages/server/src/run/server.ts";
import { domainVerdicts, WebhookEvents } from "../packages/server/src/webhooks/events.ts";
import { parseNewKey } from "../packages/store/src/keys/key-input.ts";
import { parseNewOverride } from "../packages/store/src/overrides/override.ts";
import { overridesOf } from "../packages/store/src/overrides/record.ts";
import { openStore } from "../packages/store/src/store.ts";
import { fetch } from "./harness/checked-fetch.ts";
import { decisionRow } from "./harness/decision-rows.ts";
import { eventLog } from "./harness/logged-events.ts";
import { tried } from "./harness/recorded-rows.ts";
import { SMALL_NETWORK, smallDomain, smallRelease, temporaryFolder } from "./harness/release.ts";
import { testServerOptions } from "./harness/server-options.ts";
import { until } from "./harness/until.ts";
import { startReceiver, verified } from "./harness/webhook-receiver.ts";

const BY = { author: "ada", source: "cli" } as const;
const EVERY = new Set(WEBHOOK_EVENT_NAMES);

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** @param disposable undefined if there was no data */
const decision = (
  id: string,
  ref: string | null,
  domain: string,
  disposable: boolean | undefined,
  at = Date.now(),
) =>
  decisionRow(0, at, {
    id: `asm_${id.repeat(16)}`,
    ref,
    email_domain: domain,
    facts: JSON.stringify({ "email.domain": domain, "email.disposable": disposable }),
  });

test("a verdict that a release or an override changes is told once for each decision, by one host, and again when it changes back", async () => {
  const dataDir = temporaryFolder();
  const first = smallRelease(dataDir, 1);
  const store = await openStore("sqlite://:memory:");
  cleanUps.push(() => store.close());
  const wanted = { url: "https://example.com/", events: ["decision.changed"], allowPrivate: false } as const;
  const { webhook } = await store.webhooks.add(wanted, BY);
  const releases = new Releases({
    dataDir,
    now: Date.now,
    verify: async () => {},
    allowMissing: true,
    log: eventLog([]),
    onChange: () => {},
  });
  cleanUps.push(() => releases.stop());
  await releases.start();
  const overrides = { current: overridesOf([]) };
  await store.decisions.add([
    decision("a", "user-1", smallDomain(2), false),
    decision("b", null, smallDomain(1), true),
    decision("c", "user-3", "gmail.com", false),
    decision("d", "user-4", smallDomain(2), false),
    decision("e", "user-5", "no-data.example", undefined),
  ]);
  let looks = 0;
  const services = { store, releases, overrides, log: { error: () => {} }, now: Date.now };
  const lookUp = domainVerdicts(services);
  const host = () => {
    const events = new WebhookEvents(services, 0, (domains) => {
      looks++;
      return lookUp(domains);
    });
    cleanUps.push(() => events.stop());
    return events;
  };
  const events = host();
  /** @returns the id, ref, domain and verdicts of each message */
  const told = async (by = events) => {
    await by.find(EVERY);
    await by.comparing;
    const claimed = await store.deliveries.claim(webhook.id, 100);
    const messages = claimed.map(({ body }) => JSON.parse(body).data as WebhookData<"decision.changed">);
    const lines = messages.map(({ id, ref, domain, before, after }) =>
      [id[4], ref, domain, before.disposable, after.disposable].join(" "),
    );
    return { lines: lines.sort(), messages };
  };
  expect((await told()).lines).toEqual([]);
  const second = smallRelease(dataDir, 2);
  await releases.check();
  await until(() => releases.current?.manifest.id === second.id);
  const changed = await told();
  expect(changed.lines).toEqual([
    `a user-1 ${smallDomain(2)} false true`,
    `b  ${smallDomain(1)} true false`,
    `d user-4 ${smallDomain(2)} false true`,
  ]);
  expect(changed.messages.map(({ data_version }) => data_version)).toEqual(Array(3).fill(second.id));
  expect(first.id).not.toBe(second.id);
  const other = host();
  expect((await told(other)).lines).toEqual([]);
  const override = { value: smallDomain(2), flag: "disposable", verdict: false, note: "ours" };
  await store.overrides.put([parseNewOverride(override, { now: Date.now(), author: "ada" })], BY);
  overrides.current = overridesOf((await store.overrides.load()).overrides);
  const overridden = await told();
  expect(overridden.messages[0]!.evidence).toMatchObject([{ feed: "override", effect: "removes" }]);
  expect(overridden.lines).toEqual([
    `a user-1 ${smallDomain(2)} true false`,
    `d user-4 ${smallDomain(2)} true false`,
  ]);
  // The host that found all this stops. The next host looks everything up again, and has nothing to add.
  await events.stop();
  const before = looks;
  expect((await told(other)).lines).toEqual([]);
  expect(looks).toBe(before + 1);
});

test("a change is told although newer decisions used it, and an override for one email address is no change", async () => {
  const store = await openStore("sqlite://:memory:");
  cleanUps.push(() => store.close());
  const wanted = { url: "https://example.com/", events: ["decision.changed"], allowPrivate: false } as const;
  const { webhook } = await store.webhooks.add(wanted, BY);
  const listed = new Set<string>();
  const release = { name: "1", manifest: { id: "1", missing: [], feeds: [] } };
  const releases = { current: release as never, feeds: [], open: () => undefined };
  const start = Date.parse("2026-06-01T00:00:00Z");
  let now = start;
  const overrides = { current: overridesOf([]) };
  const services = { store, releases, overrides, log: { error: () => {} }, now: () => now };
  const events = new WebhookEvents(services, 0, async (domains) =>
    domains.map((domain) => ({ valid: true, disposable: listed.has(domain), providers: [] })),
  );
  cleanUps.push(() => events.stop());
  const told = async () => {
    await events.find(EVERY);
    await events.comparing;
    return (await store.deliveries.claim(webhook.id, 100))
      .map(({ body }) => JSON.parse(body).data.id[4])
      .sort();
  };
  await store.decisions.add([
    decision("a", null, "busy.example", false, start - 120_000),
    decision("b", null, "gmail.com", false, start - 130_000),
    decision("c", null, "gmail.com", true, start - 120_000), // an override for this address
  ]);
  expect(await told()).toEqual([]);
  now = start + 1;
  expect(await told()).toEqual([]);
  listed.add("busy.example");
  await store.decisions.add([decision("d", null, "busy.example", true, start + 2)]);
  now = start + 3;
  releases.current = { ...release, name: "2" } as never;
  expect(await told()).toEqual(["a"]);
});

test("without data on disposable domains nothing is told: its verdicts mean nothing", async () => {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1, ["disposable"]);
  const store = {
    deliveries: {
      takeWatch: async () => true,
      leaveWatch: async () => {},
      queue: () => Promise.reject(new Error("nothing is to be queued")),
      toldVerdicts: async () => new Map(),
    },
    usage: { readExhausted: async () => [] },
    decisions: {
      async *domainsSince() {
        yield [{ domain: "example.com", newest: decisionRow(1, 0) as never }];
      },
      list: () => Promise.reject(new Error("nothing is to be read")),
    },
  };
  const services = {
    store: store as never,
    releases: {
      current: { name: "n", manifest: { id: "1", missing: ["disposable"], feeds: [] } } as never,
      feeds: [],
      open: () => undefined,
    },
    overrides: { current: overridesOf([]) },
    log: { error: () => {} },
    now: Date.now,
  };
  const events = new WebhookEvents(services, 0, () =>
    Promise.reject(new Error("nothing is to be looked up")),
  );
  for (let n = 0; n < 2; n++) {
    await events.find(EVERY); // the next call throws a failure of the comparison
    await events.comparing;
  }
  await events.stop();
});

test("a server tells of a held copy, of an old feed and of a quota that is used up, once each", async () => {
  const dataDir = temporaryFolder();
  const feed: FeedReport = {
    id: "tor",
    sets: "is_tor_exit",
    source: "fetched",
    state: "loaded",
    entries: 3,
    sha256: "a".repeat(64),
    fetched_at: "2026-01-01T00:00:00.000Z",
    licence: "",
  };
  smallRelease(dataDir, 1, [], [feed]);
  const databaseUrl = `sqlite://${join(dataDir, "inkling.db")}`;
  const store = await openStore(databaseUrl);
  cleanUps.push(() => store.close());
  const receiver = startReceiver();
  cleanUps.push(receiver.stop);
  const wanted = { url: receiver.url, events: WEBHOOK_EVENT_NAMES, allowPrivate: true };
  const { secret } = await store.webhooks.add(wanted, BY);
  const { key, token } = await store.createKey(parseNewKey({ name: "shop", quota: 2 }, Date.now()));
  const start = () => startServer({ ...testServerOptions(dataDir), databaseUrl, checkMs: 20 });
  const server = await start();
  cleanUps.push(() => server.stop());
  const types = () => receiver.received.map((one) => (verified(secret, one) as { type: string }).type).sort();
  const dataOf = (type: string) =>
    receiver.received.map(({ body }) => JSON.parse(body)).find((one) => one.type === type)?.data;

  const held = { sha256: "b".repeat(64), why: "is_abuser: 3.7% of IPv4" };
  const report = { format: 1, at: new Date().toISOString(), feeds: [{ ...feed, stale: true, held }] };
  writeFileSync(join(dataDir, "feeds/report.json"), JSON.stringify(report));
  await until(() => receiver.received.length >= 2);
  expect(types()).toEqual(["data.stale", "feed.held"]);
  expect(dataOf("feed.held")).toEqual({
    feed: "tor",
    sets: "is_tor_exit",
    reason: held.why,
    hint: "inkling data update --accept tor@bbbbbbbbbbbb",
  });
  expect(dataOf("data.stale")).toMatchObject({ feed: "tor", sets: "is_tor_exit", state: "stale" });

  const lookUp = () =>
    fetch(`http://127.0.0.1:${server.port}/v1/ip-intel/geolocate/${SMALL_NETWORK.replace("0/24", "142")}`, {
      headers: { Authorization: `Bearer ${token}` },
    });
  for (const status of [200, 200, 429]) expect((await lookUp()).status).toBe(status);
  await until(() => receiver.received.length >= 3);
  const day = new Date().toISOString().slice(0, 10);
  expect(dataOf("key.quota_reached")).toEqual({ key: key.id, name: "shop", quota: 2, day });
  const metrics = await (await fetch(`http://127.0.0.1:${server.adminPort}/metrics`)).text();
  expect(metrics).toContain('inkling_webhook_attempts_total{outcome="delivered"} 3');
  const library = "standardwebhooks";
  tried(import.meta.path, library, library, "verifying the signatures of delivered webhooks");

  // Another start finds the same, and reports nothing again.
  await server.stop();
  const again = await start();
  cleanUps.push(() => again.stop());
  await store.deliveries.queue([
    { key: "last", message: { type: "feed.held", data: { ...dataOf("feed.held"), feed: "last" } } },
  ]);
  await until(() => receiver.received.length >= 4);
  await until(async () => (await store.deliveries.state()).waiting === 0);
  expect(types()).toEqual(["data.stale", "feed.held", "feed.held", "key.quota_reached"]);
  expect(readFileSync(join(dataDir, "feeds/report.json"), "utf8")).toContain(held.why);
});

test("a condition that a full webhook missed is told once there is room, and reported as dropped once", async () => {
  const store = await openStore("sqlite://:memory:");
  cleanUps.push(() => store.close());
  const wanted = { url: "https://example.com/", events: ["feed.held"], allowPrivate: false } as const;
  const [full, other] = [await store.webhooks.add(wanted, BY), await store.webhooks.add(wanted, BY)];
  const filler = (n: number) => ({
    key: `filler ${n}`,
    message: { type: "feed.held", data: { feed: `${n}` } as never } as const,
  });
  await store.webhooks.disable(other.webhook.id);
  await store.deliveries.queue(Array.from({ length: 10_000 }, (_, n) => filler(n)));
  await store.webhooks.enable(other.webhook.id, BY);
  const reported: number[] = [];
  const log: Pick<EventLog, "error"> = {
    error: (_, { dropped } = {}) => void reported.push(Number(dropped)),
  };
  const releases = {
    current: undefined,
    feeds: [{ id: "f1", held: { why: "too much", sha256: "b".repeat(64) } }] as never,
    open: () => undefined,
  };
  const overrides = { current: overridesOf([]) };
  const events = new WebhookEvents({ store, releases, overrides, log, now: Date.now }, 0, async () => []);
  const heldOf = async (id: string) =>
    (await store.deliveries.claim(id, 20_000)).filter(({ body }) => JSON.parse(body).data.feed === "f1")
      .length;
  const only = new Set(["feed.held"] as const);
  await events.find(only);
  await events.find(only);
  expect([reported, await heldOf(other.webhook.id)]).toEqual([[1], 1]);
  const [claimed] = await store.deliveries.list(full.webhook.id, { limit: 1 }).then(({ items }) => items);
  await store.deliveries.settle(
    { ...claimed!, body: "" },
    { outcome: "delivered", status: 200, reason: undefined },
  );
  await events.find(only);
  expect([await heldOf(full.webhook.id), await heldOf(other.webhook.id)]).toEqual([1, 0]);
});
