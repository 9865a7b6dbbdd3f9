// webhooks.test.ts: tests the console's page of webhooks: every action, and its appearance in each state.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { launchBrowser } from "../harness/browser.ts";
import { smallRelease, temporaryFolder } from "../harness/release.ts";
import { type Receiver, startReceiver, verified } from "../harness/webhook-receiver.ts";
import {
  ConsoleBrowser,
  type ConsoleServer,
  confirm,
  DEVICES,
  expectGoodLooks,
  startConsole,
  textOf,
  waitForMessage,
} from "./console-server.ts";

let server: ConsoleServer;
let tabs: ConsoleBrowser;
let receiver: Receiver;

beforeAll(async () => {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  receiver = startReceiver((n) => new Response(null, { status: n === 1 ? 500 : 200 }));
  server = await startConsole(dataDir);
  tabs = new ConsoleBrowser(await launchBrowser(), server);
});
afterAll(async () => {
  await tabs?.browser.close();
  await server?.stop();
  receiver?.stop();
});

const ID = "whk_0123456789abcdef";
const at = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
const webhook = (over: object = {}) => ({
  id: ID,
  url: `https://alerts.with-a-very-long-name.example/a/path/of/${"many/".repeat(9)}parts?and=a,query`,
  events: ["decision.changed", "feed.held", "data.stale", "key.quota_reached"],
  allow_private: false,
  author: "ada",
  created_at: at(-90),
  old_secret_until: null,
  disabled_at: null,
  recent: { deliveries: 0, failed: 0, last_attempt: null },
  ...over,
});
const FAILING = {
  deliveries: 100,
  failed: 60,
  last_attempt: {
    at: at(-1),
    event: "data.stale",
    outcome: "failed",
    status: 500,
    reason: "the receiver returned 500",
  },
};
const delivery = (n: number, over: object) => ({
  id: `msg_${String(n).padStart(16, "0")}`,
  event: "decision.changed",
  state: "delivered",
  created_at: at(-n),
  attempts: 1,
  next_attempt_at: null,
  last_attempt: { at: at(-n), outcome: "delivered", status: 204, reason: null },
  ...over,
});
const failed = { at: at(-1), outcome: "failed", status: 503, reason: "the receiver returned 503" };
const DELIVERIES = [
  delivery(1, { state: "waiting", attempts: 0, next_attempt_at: at(0), last_attempt: null }),
  delivery(2, { state: "waiting", attempts: 6, next_attempt_at: at(5), last_attempt: failed }),
  delivery(3, {}),
  delivery(70, {
    state: "ended",
    attempts: 10,
    last_attempt: { ...failed, status: null, reason: "x ".repeat(90) },
  }),
];

test("add, shown once, test, rotate, deliveries, remove", async () => {
  const page = await tabs.logIn(await tabs.open());
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  await tabs.go(page, "webhooks");
  await page.getByText("No webhooks yet").waitFor();
  await page.getByLabel("URL", { exact: true }).fill(receiver.url);
  await button("Add webhook").click();
  await page.getByRole("alert").filter({ hasText: "must begin with https://" }).waitFor();
  await page.getByLabel(/^data\.stale/).uncheck();
  await page.getByLabel(/allow plain http/).check();
  await button("Add webhook").click();
  const secret = await page.locator("code.token").innerText();
  expect(secret).toMatch(/^whsec_/);
  const row = page.getByRole("row").nth(1);
  expect((await row.innerText()).replace(/\s+/g, " ")).toMatch(
    /active private allowed none decision\.changed, feed\.held, key\.quota_reached .*by ada/,
  );
  await page.getByRole("link", { name: "Open this webhook" }).click();
  await page.getByText("Nothing was sent in the last 7 days.").waitFor();
  expect(await textOf(page)).not.toContain(secret);
  await button("Send a test message").click();
  await waitForMessage(page, "The receiver accepted the test message.");
  expect(verified(secret, receiver.received[0]!)).toMatchObject({ type: "webhook.test" });
  await button("Send a test message").click();
  await waitForMessage(page, "The test message was not delivered: the receiver returned 500.");
  await page.getByRole("table").getByText("the receiver returned 500").waitFor();
  expect((await page.getByRole("table").innerText()).replace(/\s+/g, " ")).toMatch(
    /given up 1 the receiver returned 500 .*delivered 1 returned 200/,
  );
  await confirm(page, "Rotate the secret", "Rotate");
  const next = await page.locator("code.token").innerText();
  await page.getByText("two secrets").waitFor();
  await button("Send a test message").click();
  await page.getByRole("row").nth(3).waitFor();
  for (const each of [secret, next]) verified(each, receiver.received[2]!);
  await confirm(page, "Remove this webhook", "Remove");
  await waitForMessage(page, "Removed.");
  await page.getByText("No webhooks yet").waitFor();
  await page.context().close();
  expect(tabs.faults).toEqual([]);
});

describe.each(DEVICES)("on a $device", ({ device, viewport }) => {
  const answer = (page: Page, path: string, json: unknown) =>
    page.route(`**/admin/v1/${path}`, (route) => route.fulfill({ json }));

  test("the list, one webhook, one that is disabled", async () => {
    const page = await tabs.logIn(await tabs.open({ viewport, bypassCSP: true }));
    const list = [
      webhook(),
      webhook({ id: "whk_1", old_secret_until: at(9) }),
      webhook({ id: "whk_2", disabled_at: at(-2) }),
      webhook({ id: "whk_3", recent: FAILING }),
    ];
    await answer(page, "webhooks", { webhooks: list });
    await answer(page, `webhooks/${ID}`, webhook({ disabled_at: at(-2), allow_private: true }));
    await answer(page, `webhooks/${ID}/deliveries**`, { deliveries: DELIVERIES, next_cursor: null });
    await tabs.go(page, "webhooks");
    await page.getByText("two secrets").waitFor();
    await page.getByText("failing").waitFor();
    await page.getByText("60 of 100 failed").waitFor();
    await expectGoodLooks(page, "webhooks", device);
    await tabs.go(page, `webhooks/${ID}`);
    await page.getByText("The receiver returned 410").waitFor();
    await page.getByText("given up").waitFor();
    await expectGoodLooks(page, "webhook", device);
    await answer(page, `webhooks/${ID}/enable`, webhook());
    await answer(page, `webhooks/${ID}`, webhook());
    await page.getByRole("button", { name: "Enable", exact: true }).click();
    await waitForMessage(page, "Enabled.");
    await page.getByText("active").waitFor();
    await page.context().close();
  });
});

test("no script failed, and no other host was requested", () => expect(tabs.faults).toEqual([]));
