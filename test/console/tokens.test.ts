// tokens.test.ts: tests the console's page of admin tokens: every action, its appearance, and what a read-only session
// cannot do.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { launchBrowser } from "../harness/browser.ts";
import { fetch } from "../harness/checked-fetch.ts";
import { smallRelease, temporaryFolder } from "../harness/release.ts";
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

beforeAll(async () => {
  const dataDir = temporaryFolder();
  for (const n of [1, 2]) smallRelease(dataDir, n);
  server = await startConsole(dataDir);
  tabs = new ConsoleBrowser(await launchBrowser(), server);
});
afterAll(async () => {
  await tabs?.browser.close();
  await server?.stop();
});

const admin = async (method: string, path: string, body?: object, token = server.token) => {
  const response = await fetch(`${server.origin}/admin/v1/${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, document: (await response.json()) as Record<string, unknown> };
};
const create = async (name: string, role: string) =>
  String((await admin("POST", "admin-tokens", { name, role })).document.token);

async function logInWith(token: string, options = {}): Promise<Page> {
  const page = await tabs.open(options);
  await page.getByLabel("Admin token").fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("button", { name: "Log out" }).waitFor();
  return page;
}

test("create, shown once, sign in with it, revoke: its session ends", async () => {
  const page = await tabs.logIn(await tabs.open());
  await page.getByRole("banner").getByText("ada", { exact: true }).waitFor();
  await tabs.go(page, "tokens");
  await page.getByText("No named admin tokens yet").waitFor();
  const button = page.getByRole("button", { name: "Create token" });
  await page.getByLabel("Name").fill("Bob");
  await button.click();
  await page.getByRole("alert").filter({ hasText: "must have 1 to 63 lower-case" }).waitFor();
  await page.getByLabel("Name").fill("bob");
  await page.getByLabel("Role").selectOption("read");
  await page.getByLabel("Expires").selectOption("30");
  await button.click();
  const token = await page.locator("code.token").innerText();
  const row = async () => (await page.getByRole("row").nth(1).innerText()).replace(/\s+/g, " ");
  expect(await row()).toMatch(/^bob ink_admin_\w{4}… read active .*by ada never in /);
  const bob = await logInWith(token);
  await bob.getByRole("banner").getByText("bob, role read").waitFor();
  await page.reload();
  await page.getByRole("row").nth(1).waitFor();
  expect(await textOf(page)).not.toContain(token);
  expect(await row()).toContain(new Date().toISOString().slice(0, 10)); // the day of its last use
  await confirm(page, "Revoke bob", "Revoke");
  await waitForMessage(page, "Revoked.");
  await page.getByText("No named admin tokens yet").waitFor();
  await bob.goto(`${server.origin}/#/keys`);
  await bob.getByText("Your session has ended. Log in again.").waitFor();
  for (const each of [page, bob]) await each.context().close();
});

const WHY = "This needs the role admin; your admin token has the role read.";
const WHY_ANALYST = "This needs the role analyst; your admin token has the role read.";

test("a read-only session looks up, and has no button in use that changes anything", async () => {
  const id = String((await admin("POST", "keys", { name: "shop" })).document.id);
  await admin("POST", "webhooks", { url: "https://example.com/hook", events: ["data.stale"] });
  await admin("POST", "overrides", { value: "81.2.69.142", flag: "is_proxy", verdict: false, note: "x" });
  for (const text of ["", "[weights]\n"]) await admin("POST", "rulesets", { text, note: "" });
  const page = await logInWith(await create("eve", "read"));
  const disabled = async (hash: string) => {
    await tabs.go(page, hash);
    return page.locator("main button:disabled").allInnerTexts();
  };
  expect(await disabled("tokens")).toEqual(["Revoke", "Create token"]);
  await page.getByText(WHY).waitFor();
  expect(await disabled("keys")).toEqual(["Create key"]);
  expect(await disabled(`keys/${id}`)).toEqual(["Rotate", "Revoke", "Save"]);
  expect(await disabled("overrides")).toEqual(["Edit", "Remove", "Add", "Import"]);
  expect(await disabled("webhooks")).toEqual(["Add webhook"]);
  expect(await disabled("data")).toEqual(expect.arrayContaining(["Update now", "Roll back", "Pin", "Use"]));
  expect(await disabled("rules")).toEqual(["Roll back"]);
  await tabs.go(page, "lookup/81.2.69.142");
  await page.getByText("your override").first().waitFor();
  const set = page.getByRole("button", { name: /^(Set|Clear|Edit|Remove) / });
  await set.first().waitFor();
  for (const button of await set.all()) {
    expect(await button.isDisabled()).toBe(true);
    expect(await button.getAttribute("title")).toBe(WHY_ANALYST);
  }
  expect(await disabled("audit")).toEqual([]);
  await page.getByRole("row").nth(1).waitFor();
  await page.context().close();
});

test("an analyst changes overrides and labels, and nothing else", async () => {
  const page = await logInWith(await create("bea", "analyst"));
  await page.getByRole("banner").getByText("bea, role analyst").waitFor();
  const disabled = async (hash: string) => {
    await tabs.go(page, hash);
    return page.locator("main button:disabled").allInnerTexts();
  };
  expect(await disabled("overrides")).toEqual([]);
  expect(await disabled("rules")).toEqual(["Roll back"]);
  await page.getByRole("button", { name: "Add a rule" }).click();
  await page.getByRole("button", { name: "Publish this ruleset" }).click();
  const dialog = page.getByRole("dialog", { name: "Publish this ruleset" });
  await dialog.getByText("The role analyst may change only shadow rules").waitFor();
  await dialog.getByRole("button", { name: "Publish" }).click();
  await waitForMessage(page, "Ruleset 3 is active.");
  expect(await disabled("calibration")).toEqual(["Apply the suggested weights"]);
  const apply = page.getByRole("button", { name: "Apply the suggested weights" });
  expect(await apply.getAttribute("title")).toBe(
    "This needs the role admin; your admin token has the role analyst.",
  );
  expect(await disabled("keys")).toEqual(["Create key"]);
  expect(await disabled("tokens")).toContain("Create token");
  expect(await disabled("webhooks")).toEqual(["Add webhook"]);
  await page.getByText("This needs the role admin; your admin token has the role analyst.").waitFor();
  await page.context().close();
});

test("an admin token that has a name does all, and the audit page has its name", async () => {
  const page = await logInWith(await create("carol", "admin"));
  await tabs.go(page, "keys");
  await page.getByLabel("Name").fill("checkout");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.locator("code.token").waitFor();
  await tabs.go(page, "audit");
  await page.getByLabel("Author").fill("carol");
  await page.getByLabel("Author").press("Enter");
  await page.getByLabel("Source").selectOption("console");
  const rows = page.getByRole("row");
  await rows.filter({ hasText: "admin API" }).first().waitFor({ state: "detached" });
  expect((await rows.nth(1).innerText()).replace(/\s+/g, " ")).toMatch(
    /carol console key created .*checkout/,
  );
  await page.context().close();
});

describe.each(DEVICES)("on a $device", ({ device, viewport }) => {
  test("the list, read only", async () => {
    const page = await logInWith(await create(`reader-${device}`, "read"), { viewport, bypassCSP: true });
    await tabs.go(page, "tokens");
    await expectGoodLooks(page, "tokens", device);
    await page.context().close();
  });
});

test("no script failed, and no other host was requested", () => expect(tabs.faults).toEqual([]));
