// Tests webhooks over the admin API: what is refused, where a secret appears, and what a test message reports.

import { afterAll, expect, test } from "bun:test";
import { MAX_WEBHOOKS } from "@inkling/contract";
import { adminServer, closeAdminServers } from "../../../../test/harness/admin-server.ts";
import { startReceiver, verified } from "../../../../test/harness/webhook-receiver.ts";

afterAll(closeAdminServers);

const HOOK = { url: "https://example.com/hook", events: ["data.stale", "decision.changed"] };

test("added, listed, rotated, removed: the secret is in two answers only", async () => {
  const { ask, store } = await adminServer();
  const added = await ask("POST", "webhooks", HOOK);
  const { id, secret, ...shown } = added.document;
  expect([added.status, added.headers.get("location")]).toEqual([201, `/admin/v1/webhooks/${id}`]);
  expect(shown).toEqual({
    url: HOOK.url,
    events: ["decision.changed", "data.stale"],
    allow_private: false,
    author: "admin API",
    created_at: "2026-06-01T12:00:00.000Z",
    old_secret_until: null,
    disabled_at: null,
  });
  expect(Buffer.from(secret.replace(/^whsec_/, ""), "base64")).toHaveLength(32);
  const rotated = await ask("POST", `webhooks/${id}/rotate`, { overlap_seconds: 3_600 });
  expect(rotated.document).toMatchObject({ id, old_secret_until: "2026-06-01T13:00:00.000Z" });
  expect(rotated.document.secret).not.toBe(secret);
  expect((await store.webhooks.signing(id))!.secrets).toEqual([rotated.document.secret, secret]);
  const answers = [
    await ask("GET", "webhooks"),
    await ask("GET", `webhooks/${id}`),
    await ask("GET", "audit"),
  ];
  expect(answers[0]!.document.webhooks).toHaveLength(1);
  expect(JSON.stringify(answers.map(({ document }) => document))).not.toContain("whsec_");
  expect((await ask("DELETE", `webhooks/${id}`)).document).toMatchObject({
    id,
    ...shown,
    old_secret_until: expect.any(String),
  });
  for (const [method, path] of [
    ["GET", `webhooks/${id}`],
    ["DELETE", `webhooks/${id}`],
    ["POST", `webhooks/${id}/test`],
    ["POST", `webhooks/${id}/enable`],
    ["GET", `webhooks/${id}/deliveries`],
  ] as const) {
    const { status, code } = await ask(method, path);
    expect([method, path, status, code]).toEqual([method, path, 404, "WEBHOOK_NOT_FOUND"]);
  }
});

test.each([
  [{ ...HOOK, url: "http://example.com/" }, 422, "WEBHOOK_URL_REFUSED", "url: must begin with https://"],
  [
    { ...HOOK, url: "https://10.0.0.1/" },
    422,
    "WEBHOOK_URL_REFUSED",
    /^url: its address is private and not public/,
  ],
  [{ ...HOOK, events: [] }, 400, "BODY_INVALID", "events: must contain at least one event"],
  [{ ...HOOK, events: ["rumour"] }, 400, "BODY_INVALID", /^events: must be some of decision\.changed, /],
  [{ ...HOOK, secret: "whsec_AAAA" }, 400, "BODY_INVALID", /secret/],
  [{ events: ["data.stale"] }, 400, "BODY_INVALID", "`url` is required"],
])("%j is %d %s", async (body, status, code, problem) => {
  const { ask, store } = await adminServer();
  const answer = await ask("POST", "webhooks", body);
  expect([answer.status, answer.code]).toEqual([status, code]);
  expect(answer.document.problems[0]).toMatch(problem);
  expect(await store.webhooks.list()).toEqual([]);
});

test("there is a maximum", async () => {
  const { ask, store } = await adminServer();
  const by = { author: "ada", source: "cli" } as const;
  for (let n = 0; n < MAX_WEBHOOKS; n++)
    await store.webhooks.add({ url: HOOK.url, events: ["data.stale"], allowPrivate: false }, by);
  expect(await ask("POST", "webhooks", HOOK)).toMatchObject({ status: 409, code: "WEBHOOKS_FULL" });
});

test("a test message is sent once, whatever the webhook subscribes to, and is among its deliveries", async () => {
  const { ask } = await adminServer({ now: Date.now });
  const receiver = startReceiver((n) => new Response(null, { status: n === 0 ? 200 : 503 }));
  try {
    const body = { ...HOOK, url: receiver.url, allow_private: true };
    const { id, secret } = (await ask("POST", "webhooks", body)).document;
    const first = (await ask("POST", `webhooks/${id}/test`)).document;
    expect(first).toEqual({ delivery: expect.any(String), outcome: "delivered", status: 200, reason: null });
    expect(verified(secret, receiver.received[0]!)).toMatchObject({
      type: "webhook.test",
      data: { webhook: id },
    });
    const second = (await ask("POST", `webhooks/${id}/test`)).document;
    expect(second).toMatchObject({ outcome: "failed", status: 503, reason: "the receiver returned 503" });
    const page = async (query: string) => (await ask("GET", `webhooks/${id}/deliveries?${query}`)).document;
    const { deliveries } = await page("");
    expect(deliveries).toHaveLength(2);
    const of = (delivery: string) => deliveries.find((one: { id: string }) => one.id === delivery);
    expect(of(first.delivery)).toMatchObject({ event: "webhook.test", state: "delivered", attempts: 1 });
    expect(of(second.delivery)).toMatchObject({
      state: "ended",
      next_attempt_at: null,
      last_attempt: { status: 503 },
    });
    const { next_cursor } = await page("limit=1");
    expect((await page(`limit=1&cursor=${next_cursor}`)).deliveries).toEqual([deliveries[1]]);
  } finally {
    receiver.stop();
  }
});
