// builder.test.ts: tests the rule builder in a real Chromium: an analyst builds a rule, previews it, publishes it in
// shadow, reads its hits, and makes it live, without typing the rules' language.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { launchBrowser } from "../harness/browser.ts";
import { fetch } from "../harness/checked-fetch.ts";
import { smallRelease, temporaryFolder } from "../harness/release.ts";
import { until } from "../harness/until.ts";
import {
  ConsoleBrowser,
  type ConsoleServer,
  confirm,
  readRuleset,
  startConsole,
  waitForMessage,
  writeRuleset,
} from "./console-server.ts";

/** An address in Britain that release 4 flags as a proxy. */
const PROXY = "81.2.69.142";

let server: ConsoleServer;
let tabs: ConsoleBrowser;
let page: Page;
let key: string;

const post = async (url: string, token: string, body: object) => {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return (await response.json()) as { token: string; action: string; rule: string | null };
};
const assess = (event: string, ip: string) => post(`${server.api}/v1/assess`, key, { event, ip });
const builder = () => page.getByRole("region", { name: "Rule builder" });
const button = (name: string) => builder().getByRole("button", { name, exact: true });
const field = (name: string) => builder().getByLabel(name, { exact: true });
const clause = (name: string) => builder().getByRole("group", { name, exact: true });
const checked = (text: string) => page.getByRole("status").filter({ hasText: text }).waitFor();
const open = async () => {
  await tabs.go(page, "lookup");
  await tabs.go(page, "rules");
  await field("Rule").waitFor();
};

beforeAll(async () => {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 4, [], [], true);
  server = await startConsole(dataDir, { decisions: true });
  tabs = new ConsoleBrowser(await launchBrowser(), server);
  page = await tabs.logIn(await tabs.open());
  const created = await post(`${server.origin}/admin/v1/keys`, server.token, {
    name: "x",
    scopes: ["assess"],
  });
  key = created.token;
  await assess("sign_up", PROXY);
  await assess("login", PROXY);
  await assess("sign_up", "8.8.8.8");
  await until(async () => {
    await tabs.go(page, "lookup");
    await tabs.go(page, "decisions");
    return (await page.getByRole("table", { name: "Decisions" }).locator("tbody tr").count()) === 3;
  });
});
afterAll(async () => {
  await tabs?.browser.close();
  await server?.stop();
});

test("it shows the starter rules, moves them, and says what it cannot show", async () => {
  await open();
  expect(await field("Name").inputValue()).toBe("no-hosting-sign-ups");
  expect(await clause("Condition 3").getByLabel("Fact").inputValue()).toBe("ip.services");
  expect(await clause("Condition 3").getByLabel("Operator").inputValue()).toBe("lacks");
  await clause("Condition 3").getByText("services that operators publish for the network: cdn").waitFor();
  await field("Rule").selectOption({ label: "5. credential-stuffing (shadow)" });
  expect(await clause("Condition 3").getByLabel("Times").inputValue()).toBe("3");
  expect(await clause("Condition 3").getByLabel("Other fact").inputValue()).toBe("history.network_logins_1h");
  expect(await page.getByRole("button", { name: "Discard changes" }).count()).toBe(0); // the text is unchanged
  await field("Place").selectOption({ label: "2. before tor-sign-ups" });
  await checked("0 live rules, 5 in shadow; 5 of 5 examples pass");
  expect(await field("Name").inputValue()).toBe("credential-stuffing");
  const names = (await readRuleset(page)).match(/^name = ".*"$/gm)!.slice(0, 3);
  expect(names.join()).toBe(
    'name = "no-hosting-sign-ups",name = "credential-stuffing",name = "tor-sign-ups"',
  );
  await writeRuleset(page, (await readRuleset(page)).replace("_logins_1h'", "_logins_1h + 1.0'"));
  await builder().getByText("The builder cannot show this rule: its condition contains").waitFor();
  await builder().getByText("3 * history.network_logins_1h + 1").waitFor();
  expect(await field("Name").count()).toBe(0);
  await page.getByRole("button", { name: "Discard changes" }).click();
});

test("a rule is built, previewed, published in shadow, counted, and made live", async () => {
  await open();
  await button("Add a rule").click();
  await field("Name").fill("british-proxies");
  await button("Add a condition").click();
  await clause("Condition 2").getByLabel("Fact").selectOption("ip.country");
  await clause("Condition 2").getByLabel("Operator").selectOption({ label: "is one of" });
  await clause("Condition 2")
    .getByLabel("Value 1", { exact: true })
    .selectOption({ label: "GB: United Kingdom" });
  await clause("Condition 2").getByRole("button", { name: "Add a value" }).click();
  await clause("Condition 2").getByLabel("Value 2", { exact: true }).selectOption("IE");
  await button("Add a condition").click();
  await clause("Condition 3").getByLabel("Fact").selectOption("ip.is_tor_exit");
  await button("or … in condition 3").click();
  await clause("Condition 3, part 2").getByLabel("Fact").selectOption("ip.is_proxy");
  await field("Action").selectOption("deny");
  await builder().getByLabel("A person should review the visitor").check();
  await builder().getByLabel("If the score's action is stricter, it applies (at_least)").check();
  const rule = `[[rule]]
name = "british-proxies"
when = 'event == "sign_up" && ip.country in ["GB", "IE"] && (ip.is_tor_exit || ip.is_proxy)'
then = "deny"
mode = "shadow"
review = true
at_least = true
`;
  expect(await readRuleset(page)).toContain(rule);
  await checked("0 live rules, 6 in shadow; 5 of 5 examples pass");

  await page.getByRole("button", { name: "Replay the draft" }).click();
  const row = page
    .getByRole("table", { name: "Rules in the draft" })
    .getByRole("row", { name: "british-proxies" });
  expect((await row.innerText()).replace(/\s+/g, " ")).toMatch(
    /^british-proxies deny ?shadow 1 1 if it were live/,
  );

  await confirm(page, "Publish this ruleset", "Publish");
  await waitForMessage(page, "Ruleset 1 is active.");
  await until(async () => (await assess("sign_up", PROXY)).action === "allow");
  const line = page.locator(".cm-line[data-note]").last(); // the builder shows the rule in the text
  await until(async () => {
    await open();
    await field("Rule").selectOption({ label: "6. british-proxies (shadow)" });
    await line.waitFor();
    return /^24 h: 0 live, [1-9]\d* in shadow$/.test((await line.getAttribute("data-note"))!);
  });

  await field("Mode").selectOption("live");
  await checked("1 live rule, 5 in shadow");
  await field("Rule").selectOption({ index: 0 });
  await field("Mode").selectOption("live");
  await page.getByRole("button", { name: "Expect this result: a sign-up from a data centre" }).click();
  await checked("2 live rules, 4 in shadow; 5 of 5 examples pass");
  await confirm(page, "Publish this ruleset", "Publish");
  await waitForMessage(page, "Ruleset 2 is active.");
  await until(async () => (await assess("sign_up", PROXY)).rule === "british-proxies");
});

test("text and builder are two views of one draft; a text with a mistake is left alone", async () => {
  await open();
  await writeRuleset(
    page,
    '[facts]\nage = "number"\n[[rule]]\nname = "old"\nwhen = \'facts.age > 3\'\nthen = "deny"\nmode = "off"\n',
  );
  expect(await clause("Condition 1").getByLabel("Value").inputValue()).toBe("3");
  await clause("Condition 1").getByLabel("Value").fill("");
  await clause("Condition 1").getByLabel("Value").fill("2.5");
  expect(await readRuleset(page)).toContain("when = 'facts.age > 2.5'\n");
  await page.getByLabel("Ruleset", { exact: true }).focus();
  await page.keyboard.press("Control+z");
  await until(async () => (await clause("Condition 1").getByLabel("Value").inputValue()) === "3");
  await page.keyboard.press("Control+End");
  await page.keyboard.type("x");
  await builder().getByText("The text has a mistake.").waitFor();
  expect(await builder().getByRole("button").count()).toBe(0);
  await page.keyboard.press("Backspace");
  await field("Name").waitFor();
  await button("Remove this rule").click();
  await checked("0 live rules, 0 in shadow");
  expect(await readRuleset(page)).toBe('[facts]\nage = "number"\n');
});

test("the meaning of the fact under the pointer", async () => {
  await writeRuleset(page, "[[rule]]\nwhen = 'ip.kind'\n");
  const meaning = page.locator(".cm-fact", { hasText: "ip.kind: text\nthe network's kind" });
  await until(async () => {
    await page.mouse.move(0, 0); // a check of the text that ends later hides the meaning
    await page.locator(".cm-line span", { hasText: "'ip.kind'" }).hover();
    return meaning.waitFor({ timeout: 2_000 }).then(
      () => true,
      () => false,
    );
  });
  await page.getByRole("button", { name: "Discard changes" }).click();
});

test("no script failed, and no other host was requested", () => expect(tabs.faults).toEqual([]));
