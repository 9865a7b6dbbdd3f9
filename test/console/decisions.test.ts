// decisions.test.ts: tests what an operator does with decisions, in a real Chromium: assess a visitor, write rules,
// publish them, and check what they decided.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { STARTER_RULESET } from "@inkling/contract";
import type { Page } from "playwright-core";
import { launchBrowser } from "../harness/browser.ts";
import { fetch } from "../harness/checked-fetch.ts";
import { smallDomain, smallRelease, temporaryFolder } from "../harness/release.ts";
import { until } from "../harness/until.ts";
import {
  ConsoleBrowser,
  type ConsoleServer,
  confirm,
  readRuleset,
  startConsole,
  textOf,
  waitForMessage,
  writeRuleset,
} from "./console-server.ts";

/** An address that release 4 flags as a proxy. */
const PROXY = "81.2.69.142";

let server: ConsoleServer;
let tabs: ConsoleBrowser;
/** A page that is logged in. */
let page: Page;
const go = (hash: string) => tabs.go(page, hash);
const button = (name: string | RegExp) => page.getByRole("button", { name, exact: typeof name === "string" });
const rowsIn = async (page: Page, table: string) => {
  const rows = page.getByRole("table", { name: table, exact: true }).locator("tbody tr");
  return (await rows.allInnerTexts()).map((text) => text.replace(/\s+/g, " ").trim());
};
const rowsOf = (table: string) => rowsIn(page, table);
const admin = async (method: string, path: string, body?: object) => {
  const headers = { Authorization: `Bearer ${server.token}`, "Inkling-Author": "bob" };
  const json = body === undefined ? {} : { body: JSON.stringify(body) };
  return (await fetch(`${server.origin}/admin/v1/${path}`, { method, headers, ...json })).json();
};
/** Publishes without the console, as another person would. */
const publish = (text: string) => admin("POST", "rulesets", { text });

beforeAll(async () => {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 4, [], [], true);
  server = await startConsole(dataDir);
  tabs = new ConsoleBrowser(await launchBrowser(), server);
  page = await tabs.logIn(await tabs.open());
});
afterAll(async () => {
  await tabs?.browser.close();
  await server?.stop();
});

describe("assess", () => {
  const result = () => page.getByRole("heading", { name: "Facts" });
  const assess = async (fields: Readonly<Record<string, string>>) => {
    for (const [label, text] of Object.entries(fields)) await page.getByLabel(label).fill(text);
    await button("Assess").click();
  };

  test("action, reasons with weights, what would change it, facts, evidence; a link from a lookup", async () => {
    const visitor = { ip: PROXY, email: `info+a%b@${smallDomain(4)}` };
    await go("assess");
    await assess({ "IP address": PROXY, "Email address": visitor.email, "Expected country": "FR" });
    await page.getByRole("heading", { name: "deny decided by the score (no ruleset)" }).waitFor();
    for (const [label, value] of [
      ["IP address", visitor.ip],
      ["Email address", visitor.email],
      ["Event", "sign_up"],
    ] as const)
      expect([label, await page.getByRole("textbox", { name: label }).inputValue()]).toEqual([label, value]);
    expect(await rowsOf("Reasons")).toEqual([
      "proxy the address is a VPN or public proxy 0.35 no change score 0.94",
      "country_mismatch the address is in a different country than expected_country 0.25 no change score 0.95",
      "disposable the domain belongs to a disposable-email provider 0.90 challenge score 0.61",
      "role_account the mailbox belongs to a role, not a person 0.20 no change score 0.95",
    ]);
    // 1 - 0.65 * 0.75 * 0.1 * 0.8
    await page
      .getByRole("img", {
        name: "Score 0.96: proxy 0.35, country_mismatch 0.16, disposable 0.44, role_account 0.01",
      })
      .waitFor();
    expect(await rowsOf("Facts")).toContain('ip.country "GB" where the user is: ISO 3166-1 alpha-2');
    expect((await rowsOf("Facts")).join()).not.toContain("email.valid"); // no reason that applies reads it
    expect((await rowsOf("Evidence about the address"))[0]).toContain("sets Proxy or VPN");
    expect((await rowsOf("Evidence about the email address")).join()).toContain("role account");
    await page.getByRole("link", { name: `Look up ${visitor.email}` }).click();
    await page.getByText("Disposable email address").waitFor();
    await button("Assess this visitor").click();
    await page.getByRole("heading", { name: "deny decided by the score (no ruleset)" }).waitFor();
    expect(await page.getByRole("textbox", { name: "Email address" }).inputValue()).toBe(visitor.email);
    expect(page.url()).toEndWith("#/assess");
  });

  test("a visitor without reasons, one that is refused, and no visitor; none is in the address", async () => {
    await go("lookup");
    await go("assess");
    expect(await result().count()).toBe(0);
    await assess({ "IP address": "8.8.8.8" });
    await page.getByText("No reason to doubt this visitor.").waitFor();
    expect(page.url()).toEndWith("#/assess");
    await assess({ "IP address": "10.0.0.1" });
    await page
      .getByRole("alert")
      .filter({ hasText: /^10\.0\.0\.1 is / })
      .waitFor();
    await assess({ "IP address": "" });
    await page.getByRole("alert").waitFor({ state: "detached" });
    expect(await result().count()).toBe(0);
  });

  test("facts that the ruleset declares, the rule that decides, a review, and rules in shadow", async () => {
    await publish(`
      [facts]
      plan = "text"
      age = "number"
      vip = "boolean"
      tags = "list"
      [[rule]]
      name = "free-bots"
      when = 'facts.plan == "free" && facts.age < 2.5 && !facts.vip && has(facts.vip) && "bot" in facts.tags'
      then = "deny"
      review = true
      mode = "live"
      [[rule]]
      name = "any-proxy"
      when = "ip.is_proxy"
      then = "challenge"
      mode = "shadow"`);
    await go("lookup");
    await go("assess");
    await page.getByLabel("Fact vip").selectOption("false");
    await assess({ "IP address": PROXY, "Fact plan": "free", "Fact age": "2", "Fact tags": "a, bot" });
    await page.getByRole("heading", { name: "deny decided by rule free-bots (ruleset 1)" }).waitFor();
    const text = await textOf(page);
    expect(text).toContain("The rule asks for a manual review of this visitor.");
    expect(text).toContain("Without the rule free-bots, the action would be allow");
    expect(text).toContain("Rule any-proxy in shadow mode would decide challenge");
    expect(await rowsOf("Facts")).toEqual(
      expect.arrayContaining([
        'facts.tags ["a","bot"] sent by the caller',
        "facts.vip false sent by the caller",
      ]),
    );
  });

  test("a rule with at_least does not count as what decided if the score is stricter", async () => {
    await page.route("**/admin/v1/assess", async (route) => {
      const response = await route.fetch();
      const { decision, ...rest } = await response.json();
      const changed = { ...decision, action: "deny", rule: "any-proxy" };
      await route.fulfill({ response, json: { ...rest, decision: changed, rule_action: "challenge" } });
    });
    await go("lookup");
    await go("assess");
    await assess({ "IP address": PROXY });
    const name = "deny decided by the score, which is stricter than rule any-proxy (ruleset 1)";
    await page.getByRole("heading", { name }).waitFor();
    await page.unroute("**/admin/v1/assess");
  });

  test("missing data that decided is named", async () => {
    await page.route("**/admin/v1/assess", async (route) => {
      const response = await route.fetch();
      const { decision, ...rest } = await response.json();
      const changed = { ...decision, action: "challenge", degraded: ["is_abuser"] };
      const alternatives = [{ without: { on_missing: "challenge" }, score: 0, action: "allow" }];
      await route.fulfill({ response, json: { ...rest, alternatives, decision: changed } });
    });
    await go("lookup");
    await go("assess");
    await assess({ "IP address": "8.8.8.8" });
    await page
      .getByRole("heading", {
        name: "challenge decided by on_missing, because data is missing; the score would allow (ruleset 1)",
      })
      .waitFor();
    await page.getByText("No data for is_abuser: the visitor may be riskier").waitFor();
    await page.unroute("**/admin/v1/assess");
  });
});

describe("rules", () => {
  const area = () => page.getByLabel("Ruleset", { exact: true });
  const write = (text: string) => writeRuleset(page, text);
  const written = () => readRuleset(page);
  const selected = () => page.evaluate("getSelection().toString()");
  const checked = (text: string | RegExp) => page.getByRole("status").filter({ hasText: text }).waitFor();
  const open = async () => {
    await go("lookup");
    await go("rules");
    await area().waitFor();
  };

  test("mistakes as they are typed, a jump to each, and none published", async () => {
    await publish("");
    await open();
    await write(
      'on_missing = "deny"\n[[rule]]\nname = "a"\nwhen = \'event == "x" && ip.knd == "isp"\'\nthen = "deny"\nmode = "live"\n',
    );
    await checked("1 mistake");
    await button("line 4, column 25").click();
    await page.keyboard.press("Shift+Home");
    expect(await selected()).toBe('when = \'event == "x" && ');
    expect(await area().locator(".cm-lintRange-error").allTextContents()).toEqual(["ip.knd"]);
    await page.keyboard.press("F8");
    expect(await selected()).toBe("ip.knd");
    await button("Publish this ruleset").click();
    await page
      .getByRole("alert")
      .filter({ hasText: /^line 4, column 25/ })
      .waitFor();
    await button("Cancel").click();
    await write((await written()).replace("knd", "kind"));
    await checked("1 live rule, 0 in shadow; 0 of 0 examples pass");
  });

  test("a draft survives a reload, and is discarded when asked", async () => {
    const draft = await written();
    await page.reload();
    await checked("1 live rule");
    expect(await written()).toBe(draft);
    await button("Discard changes").click();
    await page.getByText("There is nothing to publish").waitFor();
    expect(await written()).toBe("");
    await page.reload();
    await page.getByText("There is nothing to publish").waitFor();
  });

  test("the starter ruleset, its examples, its changes, tried on a visitor, and published with a note", async () => {
    await button("Use the starter ruleset").click();
    await checked("0 live rules, 5 in shadow; 5 of 5 examples pass");
    const live = STARTER_RULESET.replace('mode = "shadow"', 'mode = "live"');
    await write(live);
    await checked("1 live rule, 4 in shadow; 4 of 5 examples pass");
    await page.getByText("expected allow and rules no-hosting-sign-ups; got challenge").waitFor();
    await write(live.replace('"hosting" }\naction = "allow"', '"hosting" }\naction = "challenge"'));
    await checked("1 live rule, 4 in shadow; 5 of 5 examples pass");
    await write(STARTER_RULESET.replace("challenge = 0.5", "challenge = 0.3"));
    await checked("0 live rules");
    const changes = page.getByLabel(/^Changes since ruleset/);
    expect(await changes.locator("ins").allInnerTexts()).toContain("+challenge = 0.3\n");
    await page.getByLabel("IP address").fill(PROXY);
    await button("Assess").click();
    await page.getByRole("heading", { name: "challenge decided by the score (draft)" }).waitFor();
    const [assessed, hasChanged] = [await written(), page.getByText("This result is from an earlier draft.")];
    expect(await hasChanged.count()).toBe(0);
    await write(`${assessed}# stricter`);
    await hasChanged.waitFor();
    await write(assessed);
    await hasChanged.waitFor({ state: "detached" });
    await button("Publish this ruleset").click();
    const dialog = page.getByRole("dialog", { name: "Publish this ruleset" });
    await dialog.getByText(/stored/).waitFor();
    await button("Cancel").click();
    expect((await rowsOf("History"))[0]).toStartWith("2 active");
    await button("Publish this ruleset").click();
    await page.getByLabel("Note").fill("stricter about proxies");
    await dialog.getByRole("button", { name: "Publish" }).click();
    await waitForMessage(page, "is active. All servers apply it within a second.");
    await page.getByText("There is nothing to publish").waitFor();
    const published = /^3 active .* ada stricter about proxies$/;
    await until(async () => published.test((await rowsOf("History"))[0]!));
  });

  test("a ruleset that somebody else publishes meanwhile is not overwritten unread", async () => {
    const mine = STARTER_RULESET.replace("deny = 0.85", "deny = 0.9");
    await write(mine);
    await publish('on_missing = "deny"\n');
    await confirm(page, "Publish this ruleset", "Publish");
    await waitForMessage(page, "Nothing was published");
    await page.getByText("bob published ruleset 4 after you started this draft.").waitFor();
    expect(await written()).toBe(mine);
    const changes = page.getByRole("region", { name: "Changes since ruleset 4" });
    expect(await changes.locator("del").allInnerTexts()).toContain('-on_missing = "deny"\n');
    await confirm(page, "Publish this ruleset", "Publish");
    await until(async () => (await rowsOf("History"))[0]!.startsWith("5 active"));
    expect(await page.getByText("after you started this draft").count()).toBe(0);
  });

  test("what a ruleset changed, and the way back to it by number", async () => {
    await page.getByRole("table", { name: "History" }).getByRole("link", { name: "4", exact: true }).click();
    const changes = page.getByRole("region", { name: "Changes in ruleset 4" });
    await changes.getByText('+on_missing = "deny"').waitFor();
    await page.getByRole("link", { name: "All rulesets" }).click();
    await confirm(page, "Roll back to ruleset 4", "Roll back");
    await waitForMessage(page, "Ruleset 6 is active, with the text of ruleset 4.");
    await until(async () => (await rowsOf("History"))[0]!.startsWith("6 active ruleset 4 again"));
    expect(await written()).toBe('on_missing = "deny"\n');
    expect(((await admin("GET", "rulesets?limit=1")) as { rulesets: unknown[] }).rulesets[0]).toMatchObject({
      number: 6,
      restores: 4,
      author: "ada",
    });
  });

  test("facts and their values are completed", async () => {
    await write("[[rule]]\nwhen = 'ip.k");
    await page.keyboard.press("Control+ ");
    await page.getByRole("option", { name: /^ip\.kind/ }).waitFor();
    await page.locator(".cm-completionInfo", { hasText: "the network's kind" }).waitFor();
    await page.waitForTimeout(100); // CodeMirror ignores Enter just after the list opened
    await page.keyboard.press("Enter");
    await page.keyboard.type(' == "ho');
    await page.getByRole("option", { name: "hosting" }).waitFor();
    await page.waitForTimeout(100);
    await page.keyboard.press("Enter");
    expect(await written()).toEndWith("when = 'ip.kind == \"hosting");
    await button("Discard changes").click();
  });

  test("the keyboard alone: Tab indents and is undone; Escape, then Tab, leaves", async () => {
    await area().focus();
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("Tab");
    expect(await written()).toStartWith("  on_missing");
    await page.keyboard.press("Control+z");
    expect(await written()).toStartWith("on_missing");
    // The focus is lost if the element that has it goes, so wait for what goes with the undone change.
    await page.getByRole("button", { name: "Discard changes" }).waitFor({ state: "detached" });
    await page.getByText("Checking …").waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    expect(await area().and(page.locator(":focus")).count()).toBe(0);
    await page.keyboard.press("Shift+Tab");
    await area().and(page.locator(":focus")).waitFor();
    await page.keyboard.press("Shift+Tab");
    expect(await area().and(page.locator(":focus")).count()).toBe(0);
  });
});

describe("what people decide", () => {
  const REVIEWED = 12;
  const LOGINS = 24;
  let stored: ConsoleServer;
  let own: ConsoleBrowser;
  let page: Page;
  const go = (hash: string) => own.go(page, hash);
  const stateOf = async (filter: string) => {
    const headers = { Authorization: `Bearer ${stored.token}` };
    const response = await fetch(`${stored.origin}/admin/v1/decisions?limit=100&${filter}`, { headers });
    const { decisions } = (await response.json()) as {
      decisions: { ref: string; outcome: string | null; outcome_note: string | null }[];
    };
    return decisions.map(({ ref, outcome, outcome_note }) => [ref, outcome, outcome_note]).sort();
  };

  beforeAll(async () => {
    const dataDir = temporaryFolder();
    smallRelease(dataDir, 4, [], [], true);
    stored = await startConsole(dataDir, { decisions: true });
    own = new ConsoleBrowser(tabs.browser, stored);
    const send = async (url: string, token: string, body: object) => {
      const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
      const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
      expect(response.ok).toBe(true);
      return (await response.json()) as { token: string };
    };
    const text = `
      [[rule]]
      name = "look-at-checkouts"
      when = 'event == "checkout" && ip.is_proxy'
      then = "challenge"
      review = true
      mode = "live"`;
    await send(`${stored.origin}/admin/v1/rulesets`, stored.token, { text });
    const key = { name: "x", scopes: ["assess"] };
    const { token } = await send(`${stored.origin}/admin/v1/keys`, stored.token, key);
    for (let i = 1; i <= REVIEWED; i++) {
      await send(`${stored.api}/v1/assess`, token, { event: "checkout", ip: PROXY, ref: `checkout-${i}` });
      await Bun.sleep(2); // decisions of one millisecond have no order
    }
    for (let i = 1; i <= LOGINS; i++)
      await send(`${stored.api}/v1/assess`, token, { event: "login", ip: PROXY, ref: `login-${i}` });
    await until(async () => (await stateOf("event=login")).length === LOGINS);
    page = await own.logIn(await own.open());
  });
  afterAll(() => stored?.stop());

  test("the review queue: ten decisions with one key each, undo, a note, and the count in the navigation", async () => {
    const status = (text: string) => page.getByRole("status").filter({ hasText: text }).waitFor();
    const count = (n: number) =>
      page
        .getByRole("listitem")
        .filter({ hasText: "Review" })
        .getByRole("img", { name: `${n} to look at`, exact: true })
        .waitFor();
    await page.getByText("12 decisions to review:").waitFor(); // the start page
    await count(12);
    await page.getByRole("link", { name: "Open the queue" }).click();
    await status("Decision 1 of 12. 12 without an outcome.");
    expect(await rowsIn(page, "Facts")).toEqual([
      expect.stringMatching(/^event "checkout"/),
      expect.stringMatching(/^ip\.is_proxy true/),
    ]);
    await page.getByRole("link", { name: "checkout-1", exact: true }).waitFor(); // the oldest
    for (let i = 1; i <= 10; i++) {
      await page.keyboard.press(i % 2 === 1 ? "f" : "l");
      await status(`Decision ${i + 1} of 12. ${12 - i} without an outcome.`);
    }
    await count(2);
    const labelled = Array.from({ length: 10 }, (_, i) => [
      `checkout-${i + 1}`,
      i % 2 === 0 ? "fraud" : "legitimate",
      null,
    ]);
    const none = ["checkout-11", "checkout-12"].map((ref) => [ref, null, null]);
    expect(await stateOf("event=checkout")).toEqual([...labelled, ...none].sort());
    await page.keyboard.press("u");
    await status("Decision 10 of 12. 3 without an outcome.");
    await page.keyboard.press("n");
    await page.keyboard.type("flu"); // letters that are shortcuts elsewhere
    await page.keyboard.press("Enter");
    await page.keyboard.press("f");
    await status("Decision 11 of 12. 2 without an outcome.");
    expect(await page.getByLabel("Note (n)").inputValue()).toBe("");
    expect(await stateOf("ref=checkout-10")).toEqual([["checkout-10", "fraud", "flu"]]);
    await page.keyboard.press("k");
    await page.getByRole("button", { name: "Fraud (f)", pressed: true }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await status("Decision 12 of 12. 2 without an outcome.");
    await page.keyboard.press("l");
    await status("This is the end of the queue. 1 without an outcome.");
    await page.keyboard.press("j"); // loads the queue again
    await status("Decision 1 of 1. 1 without an outcome.");
    await page.keyboard.press("f");
    await status("No decisions are waiting for review.");
    await page.keyboard.press("u"); // a decision of this queue
    await status("Decision 1 of 1. 1 without an outcome.");
    await page.keyboard.press("u"); // one that the queue no longer has
    await status("Decision 1 of 2. 2 without an outcome.");
    expect(await stateOf("event=checkout&outcome=none")).toEqual(none);
  });

  test("outcomes from a file, with a report of its lines", async () => {
    const lines = [
      "ref,outcome,at",
      ...Array.from({ length: 22 }, (_, i) => `login-${i + 1},${i < 20 ? "fraud" : "legitimate"}`),
      ...new Array(100).fill(""), // more than one request
      "login-1,perhaps",
      "nobody,fraud",
      '{"ref":"login-1","outcome":"fraud"}',
      "login-1,legitimate",
    ];
    await go("decisions");
    const load = async () => {
      const buffer = Buffer.from(lines.join("\r\n"));
      await page
        .getByLabel("File", { exact: true })
        .setInputFiles({ name: "o.csv", mimeType: "text/csv", buffer });
      await page.getByRole("button", { name: "Import", exact: true }).click();
    };
    await load();
    await page.getByText("Read 127 of 127 lines. Labelled 22 decisions; 4 lines with a problem.").waitFor();
    expect(await rowsIn(page, "Lines with a problem")).toEqual([
      expect.stringMatching(/^124 wrong .*outcome/),
      "125 unknown no stored decision has this ref",
      "126 already labelled already labelled fraud",
      "127 already labelled 1 of 1 kept another outcome; `replace` replaces it",
    ]);
    await page.getByLabel("Replace outcomes that differ").check();
    await load();
    await page.getByText("Read 127 of 127 lines. Labelled 1 decision; 25 lines with a problem.").waitFor();
    expect(await stateOf("event=login&outcome=legitimate")).toEqual(
      ["login-1", "login-21", "login-22"].map((ref) => [ref, "legitimate", null]),
    );
    await page.route("**/admin/v1/decisions/outcomes", (route) =>
      route.fulfill({ status: 503, json: { title: "The database is unreachable" } }),
    );
    await load();
    await page.getByRole("alert").filter({ hasText: "The database is unreachable" }).waitFor();
    await page.unroute("**/admin/v1/decisions/outcomes");
  });

  test("calibration: the precision of reasons and rules, and suggested weights that are published", async () => {
    await go("calibration");
    const of = async (table: string, name: string) =>
      (await rowsIn(page, table)).find((row) => row.startsWith(name));
    // 10 of the reviewed decisions and 22 logins are labelled
    expect(await of("Reasons", "proxy ")).toMatch(
      /^proxy the address is a VPN or public proxy 36 25 7 78% of 32 \d+% to \d+% 0\.35 0\.35 0\.\d\d$/,
    );
    expect(await of("Reasons", "disposable ")).toMatch(/ 0 0 0 no outcomes 0\.90 0\.90 too few labels$/);
    expect(await of("Rules", "look-at-checkouts")).toMatch(
      /^look-at-checkouts challenge 12 0 6 4 60% of 10 \d+% to \d+%$/,
    );
    await page.getByRole("button", { name: "Apply the suggested weights" }).click();
    const added = page.getByRole("region", { name: "Changes since ruleset 1" }).locator("ins");
    await added.first().waitFor();
    expect((await added.allInnerTexts()).join("")).toMatch(/\+\[weights\]\n\+proxy = 0\.\d+\n/);
    await page.getByRole("button", { name: "Publish this ruleset" }).click();
    const dialog = page.getByRole("dialog", { name: "Publish this ruleset" });
    await dialog.getByText(/36 stored decisions/).waitFor();
    await dialog.getByLabel("Note").fill("calibrated");
    await dialog.getByRole("button", { name: "Publish" }).click();
    await waitForMessage(page, "Ruleset 2 is active.");
    await page
      .getByRole("button", { name: "Apply the suggested weights" })
      .and(page.locator(":disabled"))
      .waitFor();
    const [, weight, suggested] = /(0\.\d\d) (0\.\d\d)$/.exec((await of("Reasons", "proxy "))!)!;
    expect(weight).toBe(suggested!);
    expect(weight).not.toBe("0.35");
  });

  test("no script failed, and no other host was requested", () => expect(own.faults).toEqual([]));
});

describe("decisions", () => {
  let stored: ConsoleServer;
  let own: ConsoleBrowser;
  let page: Page;
  const go = (hash: string) => own.go(page, hash);
  const row = () => page.getByRole("table", { name: "Decisions", exact: true }).locator("tbody tr");
  const rows = async () => {
    await page.locator("main .loading").first().waitFor({ state: "detached" });
    return (await row().allInnerTexts()).map((text) => text.replace(/\s+/g, " ").trim());
  };

  beforeAll(async () => {
    const dataDir = temporaryFolder();
    smallRelease(dataDir, 4, [], [], true);
    stored = await startConsole(dataDir, { decisions: true });
    own = new ConsoleBrowser(tabs.browser, stored);
    page = await own.logIn(await own.open());
    const send = async (url: string, token: string, body: object) => {
      const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
      const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
      return (await response.json()) as { token: string };
    };
    const { token } = await send(`${stored.origin}/admin/v1/keys`, stored.token, {
      name: "x",
      scopes: ["assess"],
    });
    for (const visitor of [
      { event: "sign_up", ip: PROXY, email: `a@${smallDomain(4)}`, ref: "user-1" },
      { event: "login", ip: PROXY, ref: "user-2" },
      { event: "login", ip: "8.8.8.8", ref: "user-1" },
    ]) {
      await send(`${stored.api}/v1/assess`, token, visitor);
      await Bun.sleep(2); // decisions of one millisecond have no order
    }
    await until(async () => {
      await go("lookup");
      await go("decisions");
      return (await rows()).length === 3;
    });
  });
  afterAll(() => stored?.stop());

  test("while they are off, how to turn them on", async () => {
    await page.getByRole("img", { name: /^Decisions per day/ }).waitFor();
    expect(await page.getByText("This server does not store decisions.").count()).toBe(0);
    const other = await tabs.logIn(await tabs.open()); // the other server stores none
    await tabs.go(other, "decisions");
    await other.getByText("This server does not store decisions.").waitFor();
    await other.getByText("decisions = true").waitFor();
  });

  test("a row is one line, and the list is before the chart", async () => {
    const heights = await row().evaluateAll((all) =>
      (all as { offsetHeight: number }[]).map((one) => one.offsetHeight),
    );
    expect(Math.max(...heights)).toBeLessThan(50);
    const cut = await row().evaluateAll((all) =>
      (all as { cells: { scrollWidth: number; clientWidth: number }[] }[]).map(
        ({ cells: [time] }) => time!.scrollWidth - time!.clientWidth,
      ),
    );
    expect(cut).toEqual([0, 0, 0]); // the whole time
    const top = async (name: "table" | "img") =>
      (await page.getByRole(name, { name: /^Decisions/ }).boundingBox())!.y;
    expect(await top("table")).toBeLessThan(await top("img"));
  });

  test("by day, and filtered", async () => {
    await page
      .getByRole("img", { name: /^Decisions per day \(UTC\)\. 3 in total, with a peak of 3 at .*\.$/ })
      .waitFor();
    expect(await rows()).toEqual([
      expect.stringMatching(/allow score 0\.00 login user-1 8\.8\.8\.0\/24 none$/),
      expect.stringMatching(/allow score 0\.35 login user-2 81\.2\.69\.0\/24, GB proxy$/),
      expect.stringMatching(
        /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d deny score 0\.94 sign_up user-1 disposable-4\.com, 81\.2\.69\.0\/24, GB proxy, disposable$/,
      ),
    ]);
    for (const [label, value, count] of [
      ["Action", "allow", 2],
      ["Reason", "proxy", 1],
      ["Outcome", "fraud", 0],
      ["Outcome", "none", 1],
      ["Time", "1", 1],
    ] as const) {
      await page.getByLabel(label, { exact: true }).selectOption(value);
      await until(async () => (await rows()).length === count);
    }
    await page.getByLabel("Event").fill("sign_up");
    await page.keyboard.press("Enter");
    await page.getByText("Nothing matches.").waitFor();
    await page.getByLabel("Outcome", { exact: true }).selectOption("");
    await page.getByLabel("Reason").selectOption("");
    await page.getByLabel("Action").selectOption("");
    await until(async () => (await rows()).length === 1);
    expect(page.url()).toEndWith("#/decisions?days=1&event=sign_up");
    await row().getByRole("link").first().click();
    await page.getByRole("link", { name: "All decisions" }).waitFor();
    await page.goBack();
    await until(async () => (await rows()).length === 1);
    expect(await page.getByLabel("Event").inputValue()).toBe("sign_up");
  });

  test("one decision: why, its facts, its outcome, others of the same ref", async () => {
    await go("decisions?action=deny");
    await row().getByRole("link").first().click();
    await page.getByRole("heading", { name: "deny decided by the score (no ruleset)" }).waitFor();
    expect(await rowsIn(page, "Facts")).toEqual([
      expect.stringMatching(/^ip\.is_proxy true/),
      expect.stringMatching(/^email\.disposable true/),
    ]);
    const others = page.getByRole("table", { name: "Other facts" });
    expect(await others.count()).toBe(0); // folded
    await page.getByText(/^\d+ other facts?$/).click();
    expect(await others.innerText()).toContain("disposable-4.com");
    await page.getByRole("button", { name: "Fraud" }).click();
    await page.getByRole("button", { name: "Fraud", pressed: true }).waitFor();
    await page.getByRole("button", { name: "Legitimate", pressed: false }).waitFor();
    await page.getByRole("link", { name: "user-1" }).click();
    await until(async () => (await rows()).length === 2);
    expect((await rows())[1]).toEndWith("fraud");
    for (const id of [`asm_${"1".repeat(16)}`, "asm_nope"]) {
      await go(`decisions/${id}`);
      await page.getByRole("alert").filter({ hasText: "No such decision" }).waitFor();
    }
    await go("decisions?network=81.2.0.0/16");
    await page.getByRole("alert").filter({ hasText: "a /24 (IPv4) or /48 (IPv6)" }).waitFor();
    expect(await textOf(page)).not.toContain("Search the server's log");
    expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
    await page.getByLabel("Network").fill("81.2.69.9"); // an address stands for its /24
    await page.keyboard.press("Enter");
    await until(async () => (await rows()).length === 2);
  });

  test("the search field leads from any id to the thing itself", async () => {
    type Answer = Readonly<Record<string, unknown>>;
    const api = async (path: string, body?: object) => {
      const headers = { Authorization: `Bearer ${stored.token}`, "Content-Type": "application/json" };
      const request =
        body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
      return (await fetch(`${stored.origin}/admin/v1/${path}`, request)).json() as Promise<Answer>;
    };
    const [decision] = (await api("decisions?ref=user-2")).decisions as [Answer];
    const [key] = (await api("keys")).keys as [Answer];
    const override = await api("overrides", {
      value: "192.88.10.0/24",
      flag: "is_proxy",
      verdict: true,
      note: "x",
    });
    const url = "http://127.0.0.1:9/hook";
    const hook = await api("webhooks", { url, events: ["feed.held"], allow_private: true });
    const ruleset = await api("rulesets", { text: "" });
    const release = (await api("data")).release as Answer;
    const main = page.locator("main");
    for (const [id, hash, shown] of [
      [decision.id, `decisions/${decision.id}`, "user-2"],
      [key.id, `keys/${key.id}`, key.hint],
      [override.id, `overrides/${override.id}`, "192.88.10.0/24"],
      [hook.id, `webhooks/${hook.id}`, url],
      [`ruleset ${ruleset.number}`, `rules/${ruleset.number}`, `Ruleset ${ruleset.number}`],
      [release.name, `data?release=${decision.data_version}`, release.name],
      [decision.data_version, `data?release=${decision.data_version}`, release.name],
      ["ipsum-3", "data/ipsum-3", "ipsum-3"],
    ]) {
      await go("start");
      await page.keyboard.press("/");
      await page.keyboard.type(String(id));
      await page.keyboard.press("Enter");
      await main.getByText(String(shown)).first().waitFor();
      expect(page.url()).toEndWith(`/#/${hash}`);
    }
    await page.keyboard.press("/"); // the field lost the focus
    await page.keyboard.type(String(decision.request_id));
    await page.keyboard.press("Enter");
    await main.getByRole("heading", { name: `Decisions with request ${decision.request_id}` }).waitFor();
    await main.getByRole("link", { name: "Decisions with request" }).click();
    await until(async () => (await rows()).length === 1);
    expect((await rows())[0]).toContain("user-2");
  });

  test("the search finds the decisions about a customer's email address", async () => {
    await go("start");
    await page.keyboard.press("/");
    const email = `A+tag@${smallDomain(4)}`; // the visitor sent it without the tag
    await page.keyboard.type(email);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: `Decisions with domain ${smallDomain(4)}` }).waitFor();
    await page.getByRole("heading", { name: `Decisions with mailbox ${email}` }).waitFor();
    await page.getByRole("link", { name: "Decisions with mailbox" }).click();
    await until(async () => (await rows()).length === 1);
    expect((await rows())[0]).toContain("user-1");
    await go(`lookup/${smallDomain(4)}`);
    await page.getByRole("heading", { name: `Decisions with domain ${smallDomain(4)}` }).waitFor();
    expect(await page.getByRole("heading", { name: /^Decisions with mailbox/ }).count()).toBe(0);
  });

  test("facts that name a network, an AS or a domain link to its page", async () => {
    await page.route("**/admin/v1/decisions/asm_*", async (route) => {
      const json = (await (await route.fetch()).json()) as { facts: object };
      const facts = { ...json.facts, "ip.asn": 20712, "ip.organization": "Andrews & Arnold" };
      await route.fulfill({ json: { ...json, facts } });
    });
    await go("decisions?action=deny");
    await row().getByRole("link").first().click();
    await page.getByText(/^\d+ other facts?$/).click();
    const facts = page.getByRole("table", { name: "Other facts" });
    await facts.waitFor();
    const links = await facts.getByRole("link").all();
    expect(
      await Promise.all(links.map(async (link) => [await link.innerText(), await link.getAttribute("href")])),
    ).toEqual([
      ['"81.2.69.0/24"', "#/lookup/81.2.69.0%2F24"],
      ['"disposable-4.com"', "#/lookup/disposable-4.com"],
      ["20712", "#/lookup/AS20712"],
      ['"Andrews & Arnold"', "#/lookup/AS20712"],
    ]);
    await page.unroute("**/admin/v1/decisions/asm_*");
  });

  test("a replay of a draft: what changes, by rule, with precision, and its examples", async () => {
    await go("rules");
    await writeRuleset(
      page,
      `
      [[rule]]
      name = "proxies"
      when = "ip.is_proxy"
      then = "deny"
      mode = "live"
      [[rule]]
      name = "logins"
      when = 'event == "login"'
      then = "challenge"
      mode = "shadow"`,
    );
    await page.getByRole("status").filter({ hasText: "1 live rule, 1 in shadow" }).waitFor();
    await page.getByRole("button", { name: "Replay the draft" }).click();
    await page.getByText("1 of 3 decisions would change").waitFor();
    expect(await rowsIn(page, "Rules in the draft")).toEqual([
      expect.stringMatching(/^proxies deny 2 1 100% of 1 \d+% to 100% 100% of 1 \d+% to 100% 1/),
      expect.stringMatching(/^logins challenge ?shadow 2 \d if it were live/),
    ]);
    await page.getByLabel("Decisions of", { exact: true }).selectOption("the last 180 days");
    await page.getByText("from an earlier draft or another period").waitFor();
    const asked = page.waitForRequest("**/admin/v1/rulesets/replay");
    await page.getByRole("button", { name: "Replay the draft" }).click();
    const { since } = (await asked).postDataJSON();
    expect(Math.round((Date.now() - Date.parse(since)) / 86_400_000)).toBe(180);
    await page.getByText("1 of 3 decisions would change").waitFor();
    await page
      .locator("summary")
      .filter({ hasText: /^1 allow→ deny/ })
      .click();
    await page.getByRole("link", { name: "user-2" }).first().click();
    await page.getByRole("heading", { name: /^allow decided by the score/ }).waitFor();
    await page.evaluate("sessionStorage.clear()");
  });

  test("one outcome for many decisions, and which could not be labelled", async () => {
    const status = (text: string) => page.getByRole("status").filter({ hasText: text }).waitFor();
    const label = async (selected: number, outcome: string) => {
      await page.getByRole("button", { name: `Label ${selected} selected` }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Outcome").selectOption(outcome);
      await dialog.getByRole("button", { name: "Label", exact: true }).click();
    };
    await go("decisions");
    expect(await page.getByRole("button", { name: "Label selected" }).isDisabled()).toBe(true);
    await page.getByLabel("Select all shown").check();
    await row().first().getByRole("checkbox").uncheck();
    await page.locator(":indeterminate").and(page.getByLabel("Select all shown")).waitFor();
    await page.getByRole("button", { name: "Label 2 selected" }).click();
    await page.getByText("The new outcome replaces the earlier outcome of 1.").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await row().first().getByRole("checkbox").check();
    const refused = await row().nth(1).getByRole("link").first().getAttribute("href");
    const id = refused!.slice("#/decisions/".length);
    await page.route(`**/admin/v1/decisions/${id}/outcome`, (route) =>
      route.fulfill({ status: 503, json: { title: "The database is unreachable" } }),
    );
    await label(3, "legitimate");
    await status("Labelled 2 of 3.");
    await page.getByText(`Not labelled: The database is unreachable ${id}`).waitFor();
    const outcomes = async () => (await rows()).map((text) => text.split(" ").at(-1));
    await until(async () => (await outcomes()).join() === "legitimate,proxy,legitimate");
    await page.unroute(`**/admin/v1/decisions/${id}/outcome`);
    await label(1, "fraud"); // the decision that failed remains selected
    await status("Labelled 1.");
    expect(await page.getByText("Not labelled").count()).toBe(0);
    await until(async () => (await outcomes()).join() === "legitimate,fraud,legitimate");
    await until(async () => /legitimate: 2 .*fraud: 1 /s.test(await textOf(page))); // in the last 30 days
    await row().nth(1).getByRole("checkbox").check();
    await label(1, "none");
    await until(async () => (await outcomes()).join() === "legitimate,proxy,legitimate");
    await row().nth(1).getByRole("checkbox").check();
    await label(1, "fraud");
    await page.reload();
    await until(async () => (await outcomes()).join() === "legitimate,fraud,legitimate");
  });

  test("deletion by ref and by day", async () => {
    await go("decisions");
    const remove = async (label: string, text: string) => {
      await page.getByRole("button", { name: "Delete decisions" }).click();
      await page.getByLabel(label).fill(text);
      await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    };
    await remove("All decisions with the ref", "user-1");
    await waitForMessage(page, "Deleted 2 decisions.");
    await until(async () => (await rows()).length === 1);
    await remove("All decisions before this day (UTC)", "2999-01-01");
    await waitForMessage(page, "Deleted 1 decision.");
    await page.getByText("No decisions are stored yet.").waitFor();
  });

  test("no script failed, and no other host was requested", () =>
    expect([...tabs.faults, ...own.faults]).toEqual([]));
});
