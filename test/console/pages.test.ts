// pages.test.ts: tests every action of the console in a real Chromium, against a real server.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { copyName } from "@inkling/contract";
import { DATA_FOLDER } from "@inkling/data";
import type { Page } from "playwright-core";
import { launchBrowser } from "../harness/browser.ts";
import { fetch } from "../harness/checked-fetch.ts";
import { SMALL_NETWORK, smallCity, smallDomain, smallRelease, temporaryFolder } from "../harness/release.ts";
import { until } from "../harness/until.ts";
import { HOSTS, HOUR, NO_TRAFFIC, TOR_EXIT, TROUBLED_FEEDS, UNUSED_FEEDS } from "./answers.ts";
import {
  ConsoleBrowser,
  type ConsoleServer,
  confirm,
  focusedText,
  startConsole,
  textOf,
  waitForMessage,
} from "./console-server.ts";

/**
 * All files, compressed; the rules page is 160 KB of them, and the map 52 KB. The console loads both when it needs
 * them.
 */
const ALL_FILES_BYTES = 297_000;
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

let dataDir: string;
let server: ConsoleServer;
let tabs: ConsoleBrowser;
/** A page that is logged in, for all tests that need no page of their own. */
let page: Page;
const go = (hash: string) => tabs.go(page, hash);
const button = (name: string | RegExp) =>
  page.getByRole("button", { name, ...(typeof name === "string" ? { exact: true } : {}) });

beforeAll(async () => {
  dataDir = temporaryFolder();
  for (const n of [1, 2, 3]) smallRelease(dataDir, n, [], [], true);
  server = await startConsole(dataDir);
  tabs = new ConsoleBrowser(await launchBrowser(), server);
  page = await tabs.logIn(await tabs.open());
});
afterAll(async () => {
  await tabs?.browser.close();
  await server?.stop();
});

describe("files", () => {
  test("all are served and small; only the page itself is revalidated", async () => {
    let bytes = 0;
    for (const path of server.paths) {
      const response = await fetch(`${server.origin}${path}`, {
        headers: { "Accept-Encoding": "gzip" },
        decompress: false,
      });
      expect([path, response.status]).toEqual([path, 200]);
      expect([path, response.headers.get("content-encoding")]).toEqual([path, "gzip"]);
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("cache-control")).toBe(
        path === "/" ? "no-cache" : "public, max-age=31536000, immutable",
      );
      if (path !== "/") expect(path).toMatch(/^\/console\/\w+-[0-9a-z]{8}\.(js|css)$/);
      bytes += (await response.arrayBuffer()).byteLength;
    }
    expect(server.paths.length).toBeGreaterThan(3);
    expect(bytes).toBeLessThan(ALL_FILES_BYTES);
  });

  test("the page has a policy without exceptions, and no inline script or style", async () => {
    const response = await fetch(server.origin);
    expect(response.headers.get("content-security-policy")).toBe(POLICY);
    const html = await response.text();
    expect(html).toContain("<script");
    expect(html.match(/<script(?![^>]* src=)|<style|\son\w+=|\sstyle=/g)).toBeNull();
  });

  test("304 for a known file, 404 for an unknown one, 405 for another method", async () => {
    for (const path of server.paths) {
      const first = await fetch(`${server.origin}${path}`);
      await first.arrayBuffer();
      const headers = { "If-None-Match": first.headers.get("etag")! };
      expect((await fetch(`${server.origin}${path}`, { headers })).status).toBe(304);
    }
    expect((await fetch(`${server.origin}/console/nothing.js`)).status).toBe(404);
    expect((await fetch(server.origin, { method: "POST" })).status).toBe(405);
  });

  test("an inline script does not run", async () => {
    const own = await tabs.open();
    const before = tabs.faults.length;
    await own.evaluate(`{
      const script = document.createElement("script");
      script.textContent = "globalThis.ran = true";
      document.body.append(script);
    }`);
    expect(await own.evaluate("globalThis.ran")).toBeUndefined();
    await own.context().close();
    expect(tabs.faults.splice(before)).toEqual([expect.stringContaining("Content Security Policy")]);
  });
});

test("every page of the navigation opens without a fault", async () => {
  await go("lookup");
  const titles = await page.getByRole("navigation").getByRole("link").allTextContents();
  expect(titles.length).toBeGreaterThan(4);
  const faults = tabs.faults.length;
  for (const title of titles) {
    await page.getByRole("navigation").getByRole("link", { name: title, exact: true }).click();
    await page.getByRole("heading", { level: 1 }).filter({ hasText: title }).waitFor();
  }
  expect(tabs.faults.slice(faults)).toEqual([]);
});

describe("logging in", () => {
  test("a wrong token is refused, the right one accepted; logging out ends the session", async () => {
    const own = await tabs.open();
    const { token } = server;
    await own.getByLabel("Admin token").fill(`${token.slice(0, -1)}${token.endsWith("x") ? "y" : "x"}`);
    await own.getByRole("button", { name: "Log in" }).click();
    await own.getByRole("alert").filter({ hasText: "No admin token on this server matches" }).waitFor();
    await tabs.logIn(own);
    const cookies = await own.context().cookies(`${server.origin}/admin/`);
    expect(cookies.map(({ httpOnly, sameSite }) => ({ httpOnly, sameSite }))).toEqual([
      { httpOnly: true, sameSite: "Strict" },
    ]);
    await own.getByRole("button", { name: "Log out" }).click();
    await own.getByLabel("Admin token").waitFor();
    await own.goto(`${server.origin}/#/keys`);
    await own.reload();
    await own.getByLabel("Admin token").waitFor();
    // The address survives the login.
    await tabs.logIn(own);
    await own.getByRole("heading", { name: "Keys", exact: true }).waitFor();
    await own.context().clearCookies();
    await own.goto(`${server.origin}/#/data`);
    await own.getByRole("alert").filter({ hasText: "Your session has ended" }).waitFor();
    await own.context().close();
  });
});

describe("lookup", () => {
  test("an address, an override with one click, and its removal", async () => {
    await go("lookup");
    await page.getByLabel(/IP address/).fill("81.2.69.142");
    await page.keyboard.press("Enter");
    await page.getByText(`81.2.69.142: ${smallCity(3)}`).waitFor();
    expect(await textOf(page)).toContain("Flagged as an abuser");
    await button("Clear Abuser for 81.2.69.142").click();
    await page.getByLabel("Reason").fill("our own office");
    await button("Add override").click();
    await waitForMessage(page, "Override added. All servers apply it within a second.");
    await page.getByText("No flags", { exact: true }).waitFor();
    expect(await button("Set Abuser for 81.2.69.142").count()).toBe(0); // a second override would replace the first
    expect(await focusedText(page)).toBe("Lookup"); // the clicked button no longer exists
    expect(await textOf(page)).toContain("your override");
    await page.getByRole("table", { name: "Changes" }).getByText("override added").waitFor();
    await go("lookup/user-81");
    await page.getByRole("heading", { name: "Decisions with ref user-81" }).waitFor();
    await page.getByText("No decisions are stored.").waitFor();
    expect(await textOf(page)).toMatch(/Decisions with ref user-81.*Value cannot be looked up/s); // decisions come first
    await go("overrides");
    expect(await textOf(page)).toContain("our own office");
    await confirm(page, "Remove the override for 81.2.69.142", "Remove");
    await waitForMessage(page, "Override removed.");
    await page.getByText("No overrides. Only feeds decide.").waitFor();
    expect(await focusedText(page)).toBe("Overrides"); // the clicked button no longer exists
  });

  test("while another value is looked up, the old answer is gone; each value is in the address", async () => {
    await go("lookup/81.2.69.142");
    const clear = button("Clear Abuser for 81.2.69.142");
    await clear.waitFor();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await page.route("**/admin/v1/lookup", async (route) => {
      await released;
      await route.continue();
    });
    await page.getByLabel(/IP address/).fill("AS20712");
    await page.keyboard.press("Enter");
    await page.getByRole("status").filter({ hasText: "Looking up AS20712 …" }).waitFor();
    expect(await clear.count()).toBe(0);
    release();
    await page.getByRole("heading", { name: "AS20712 Andrews & Arnold, Ltd" }).waitFor();
    expect(await page.title()).toBe("AS20712: Inkling console");
    await page.unroute("**/admin/v1/lookup");
    expect(page.url()).toEndWith("#/lookup/AS20712");
    expect(await page.evaluate("document.activeElement.tagName")).toBe("TEXTAREA");
    await page.goBack();
    await clear.waitFor();
    expect(await page.getByLabel(/IP address/).inputValue()).toBe("81.2.69.142");
  });

  test("a list shows answers as they come, and a lookup that is cancelled ends at the server too", async () => {
    let isHeld = false;
    await page.route("**/admin/v1/lookup", async (route) => {
      if (!isHeld) await route.continue();
      isHeld = true;
    });
    await go("lookup");
    await page.getByLabel(/IP address/).fill("AS20712 81.2.69.142");
    await page.keyboard.press("Enter");
    await page.getByRole("status").filter({ hasText: "Looked up 1 of 2 values" }).waitFor();
    const ended = page.waitForEvent("requestfailed");
    await button("Cancel").click();
    expect((await ended).url()).toEndWith("/admin/v1/lookup");
    await page.getByRole("alert").filter({ hasText: "Cancelled." }).waitFor();
    expect(await page.getByRole("row").count()).toBe(2); // what had come
    await page.unroute("**/admin/v1/lookup");
    await button("Try again").click();
    await page.getByText("2 results").waitFor();
    expect(await button("Cancel").count()).toBe(0);
  });

  test("Back from a row shows the list without another lookup; a reload forgets it", async () => {
    const list = "81.2.69.1, 999.1.1.1\n8.8.8.8";
    await go("lookup");
    await page.getByLabel(/IP address/).fill(list);
    await button("Look up").click();
    await page.getByText("Found 3 values: 2 addresses and 1 that is not readable.").waitFor();
    await page.getByText("3 results").waitFor();
    await page.getByRole("row").filter({ hasText: "999.1.1.1" }).getByText("not readable").waitFor();
    await page.getByRole("link", { name: "81.2.69.1", exact: true }).click();
    await page.getByText(`81.2.69.1: ${smallCity(3)}`).waitFor();
    await page.route("**/admin/v1/lookup", (route) => route.abort());
    await page.goBack();
    await page.getByText("3 results").waitFor();
    expect(await page.getByLabel(/IP address/).inputValue()).toBe(list);
    await page.unroute("**/admin/v1/lookup");
    expect(page.url()).not.toContain("8.8.8.8");
    await page.reload();
    await page.getByText("This page keeps a pasted list only until it is reloaded.").waitFor();
  });

  test("overrides of many values, and which of them were refused", async () => {
    await go(`lookup/${encodeURIComponent("81.2.69.1 10.0.0.1 81.2.69.7/23 10.0.0.0/8 x@y.org")}`);
    await page.getByText("5 results").waitFor();
    await page.getByLabel("Select all shown").check();
    await button("Override 5 selected").click();
    await page.getByLabel("Flag").selectOption("is_abuser");
    await page.getByLabel("Reason").fill("our own offices");
    await button("Override").click();
    await page.getByText("Overridden 2 of 5.").waitFor();
    await page.getByText(/^Not overridden: .* 10\.0\.0\.1/).waitFor();
    await page.getByText(/^Not overridden: .* x@y\.org/).waitFor();
    await button("Override 3 selected").waitFor(); // those that were refused remain selected
    await page.getByLabel("Show", { exact: true }).selectOption("override");
    await page.getByText("2 of 5 results").waitFor();
    await go("overrides");
    for (const value of ["81.2.69.1", "81.2.68.0/23"]) {
      await confirm(page, `Remove the override for ${value}`, "Remove");
      await button(`Remove the override for ${value}`).waitFor({ state: "detached" });
    }
  });

  test("a flag without data is unknown, not no", async () => {
    await page.route("**/admin/v1/lookup", async (route) => {
      const response = await route.fetch();
      await route.fulfill({
        response,
        json: { ...(await response.json()), missing: ["is_proxy", "is_tor_exit"] },
      });
    });
    await go("lookup/8.8.8.8");
    await page.getByText("No known flags").waitFor();
    expect(await page.locator("ul.flags .badge").allInnerTexts()).toEqual(["no", "unknown", "unknown"]);
    await page.getByText("The server currently has no data for is_proxy, is_tor_exit.").waitFor();
    await go("lookup/someone@gmail.com");
    await page.getByText("yes: could receive mail, judging by its text only").waitFor();
    expect(await textOf(page)).not.toContain("The server currently has no data");
    await page.unroute("**/admin/v1/lookup");
  });

  test("email addresses, a list, invalid values, many values", async () => {
    await go("lookup");
    const box = page.getByLabel(/IP address/);
    await box.fill(`someone@${smallDomain(3)}`);
    await page.keyboard.press("Enter");
    await page.getByText("Disposable email address").waitFor();
    await box.fill(`81.2.69.1, someone@${smallDomain(3)} 10.0.0.1 nonsense`);
    await button("Look up").click();
    await page.getByRole("table").waitFor();
    const rows = await page.getByRole("row").allInnerTexts();
    expect(rows.map((row) => row.replace(/\s+/g, " ").trim()).slice(1)).toEqual([
      expect.stringContaining("81.2.69.1 City 3"),
      expect.stringContaining(`someone@${smallDomain(3)} disposable`),
      expect.stringContaining("10.0.0.1"),
    ]);
    await page.getByText("Found 3 values: 2 addresses and 1 email address.").waitFor();
    await box.fill("AS20712, as64496 81.2.69.9");
    await button("Look up").click();
    await page.getByText("Found 3 values: 1 address and 2 AS numbers.").waitFor();
    await page.getByRole("row").filter({ hasText: "as64496" }).getByText("no networks known").waitFor();
    await page.getByRole("row").filter({ hasText: "Andrews & Arnold, Ltd" }).first().waitFor();
    await box.fill("1.2.3.400");
    await button("Look up").click();
    await page.getByText("each number of an IPv4 address is at most 255").first().waitFor();
    await box.fill("no value in here");
    await button("Look up").click();
    await page.getByText("Found 0 values.").waitFor();
    await box.fill(Array.from({ length: 1_050 }, (_, i) => `8.8.${i >> 8}.${i & 255}`).join(" "));
    await button("Look up").click();
    await page.getByText("Found 1,050 values: 1,050 addresses; the first 1,000 are looked up.").waitFor();
    await page.getByText("1,000 results").waitFor();
    expect(await page.getByRole("row").count()).toBe(1_001);
  });

  test("a network, its parts and a domain", async () => {
    await go(`lookup/${encodeURIComponent("81.2.69.7/23")}`);
    await page.getByText("50% of 81.2.68.0/23 is flagged").waitFor();
    await page.getByRole("link", { name: "81.2.69.0/24" }).click();
    await page.getByText("100% of 81.2.69.0/24 is flagged").waitFor();
    await go(`lookup/${smallDomain(3)}`);
    await page.getByText("Disposable email domain").waitFor();
  });

  test("the AS of an address, its networks, and how an address was answered before", async () => {
    await go("lookup/81.2.69.9");
    await page.getByRole("link", { name: "AS20712" }).click();
    await page.getByRole("heading", { name: "AS20712 Andrews & Arnold, Ltd" }).waitFor();
    await page.getByText("1 network over IPv4").waitFor();
    await go("lookup/AS64496");
    await page.getByText("No network of AS64496 is in the release.").waitFor();
    await go("lookup/81.2.69.9");
    await button("Look up in every stored release").click();
    const history = page.getByRole("table", { name: "History" });
    await history.waitFor();
    const [, current = "", before = ""] = await history.getByRole("row").allInnerTexts();
    expect(current).toMatch(/current.*City 3, .*: Abuser changed/s);
    expect(before).toContain("City 2");
  });

  test("feeds of evidence are links to their pages, overrides are none", async () => {
    await page.route("**/admin/v1/lookup", (route) => route.fulfill({ json: TOR_EXIT }));
    await go("lookup/185.220.101.1");
    const evidence = page.getByRole("table", { name: "Evidence for the reputation" });
    await evidence.waitFor();
    const links = await evidence
      .getByRole("link")
      .evaluateAll((all) => all.map((one) => one.getAttribute("href")));
    expect(links.length).toBeGreaterThan(0);
    for (const link of links) expect(link).toMatch(/^#\/data\/[a-z0-9-]+$/);
    await page.unroute("**/admin/v1/lookup");
  });

  test("an override of exactly the network that the evidence names", async () => {
    await go("lookup/81.2.69.142");
    const row = page.getByRole("table", { name: "Evidence for the reputation" }).getByRole("row").last();
    const network = await row.locator("code").innerText();
    expect(network).toBe(SMALL_NETWORK);
    await row.getByRole("button", { name: `Override this network ${network}` }).click();
    const dialog = page.getByRole("dialog", { name: `Override this network ${network}` });
    expect(await dialog.getByRole("textbox", { name: "Network" }).inputValue()).toBe(network);
    expect(await dialog.getByLabel("Flag").inputValue()).toBe("is_abuser");
    expect(await dialog.getByLabel("Verdict").inputValue()).toBe("false");
    await dialog.getByLabel("Reason").fill("a partner");
    await button("Add override").click();
    await page.getByText("No flags", { exact: true }).waitFor();
    const own = page.getByRole("table", { name: "Your overrides" }).getByRole("row").last();
    expect((await own.innerText()).replace(/\s+/g, " ")).toStartWith(
      `${network} network Abuser: no a partner ada`,
    );
    await confirm(page, `Remove the override for ${network}`, "Remove");
    await page.getByText("Flagged as an abuser").waitFor();
  });

  test("an override shows who added it, why and until when, and is ended there", async () => {
    for (const value of ["81.2.69.142", "81.2.69.0/24", `Mail.${smallDomain(3)}`]) {
      const isDomain = value.startsWith("Mail");
      await go(`lookup/${encodeURIComponent(value)}`);
      await button(isDomain ? `Mark ${value} as not disposable` : `Clear Abuser for ${value}`).click();
      await page.getByLabel("Reason").fill(`because of ${value}`);
      await page.getByLabel("Expires").selectOption("30");
      await button("Add override").click();
      const card = page.locator("section.card", {
        has: page.getByRole("heading", { name: "Your overrides" }),
      });
      await card.waitFor();
      const parts = page.getByRole("table", { name: "Parts with a single answer" });
      if (value.endsWith("/24")) {
        await parts.getByText("Abuser").waitFor({ state: "detached" });
        await go("lookup/81.2.69.142");
        await button("Set Abuser for 81.2.69.142").waitFor();
        await page.locator("ul.flags").getByText("your override").waitFor();
        await page.goBack();
        await card.waitFor();
      }
      const [, row = ""] = await card.getByRole("row").allInnerTexts();
      expect(row.replace(/\s+/g, " ")).toMatch(
        new RegExp(`^${value.toLowerCase()} .*because of ${value} ada, .*in 30 days Edit Remove Changes$`),
      );
      await confirm(page, `Remove the override for ${value.toLowerCase()}`, "Remove");
      await card.waitFor({ state: "detached" });
      if (value.endsWith("/24")) await parts.getByText("Abuser").first().waitFor();
      expect(await focusedText(page)).toBe("Lookup"); // the clicked button no longer exists
    }
  });

  test("a file is searched; results are filtered, sorted, and saved", async () => {
    await go("lookup");
    const log = [
      '81.2.69.9 - - "GET /index.html" "Mozilla/5.0 Chrome/120.0.0.0"',
      `10.0.0.1,+cmd@${smallDomain(3)},x`,
      "8.8.8.8,81.2.68.0/22,81.2.69.9",
    ].join("\r\n");
    const bytes = Buffer.from(`\uFEFF${log}`, "utf16le");
    await page
      .getByLabel("Open a file")
      .setInputFiles({ name: "log.csv", mimeType: "text/csv", buffer: bytes });
    await page
      .getByText("Found 5 values: 3 addresses, 1 network, and 1 email address; 1 repetition in log.csv.")
      .waitFor();
    await page.getByText("5 results").waitFor();
    const values = () => page.locator("tbody td:first-child a").allInnerTexts();
    const inOrder = await values();
    await button("Value").click();
    expect(await values()).toEqual([
      `+cmd@${smallDomain(3)}`,
      "8.8.8.8",
      "10.0.0.1",
      "81.2.68.0/22",
      "81.2.69.9",
    ]);
    await button("Value").click();
    expect((await values())[0]).toBe("81.2.69.9");
    expect(await page.locator("th").first().getAttribute("aria-sort")).toBe("descending");
    await page.getByLabel("Search").fill("disposable");
    await page.getByText("1 of 5 results").waitFor();
    await page.getByLabel("Search").fill("");
    await page.getByLabel("Show", { exact: true }).selectOption("flagged");
    await page.getByText("3 of 5 results").waitFor();
    const download = page.waitForEvent("download");
    await button("Save as CSV").click();
    const csv = readFileSync(await (await download).path(), "utf8").split("\r\n");
    expect(csv[0]).toStartWith("value,kind,country_code,country,region,city,");
    expect(csv.slice(1).map((line) => line.split(",").slice(0, 4).join())).toEqual([
      "81.2.69.9,address,GB,United Kingdom",
      `'+cmd@${smallDomain(3)},email,,`,
      "81.2.68.0/22,network,GB,",
      "",
    ]);
    expect(csv[1]).toContain(",true,false,false,");
    expect(inOrder).toHaveLength(5);
  });

  test("maps zoom by buttons and keys; a zoomed world keeps its centre and scrolls", async () => {
    await page.route("**/admin/v1/lookup", (route) => route.fulfill({ json: TOR_EXIT }));
    await go("lookup/185.220.101.1");
    const land = page
      .getByRole("img", { name: /^Map: / })
      .locator("path")
      .nth(1);
    await land.waitFor();
    const start = await land.getAttribute("d");
    await button("Zoom out").click();
    expect(await land.getAttribute("d")).not.toBe(start);
    await button("Show the whole map").click();
    expect(await land.getAttribute("d")).toBe(start);
    await page.unroute("**/admin/v1/lookup");

    await page.route("**/admin/v1/traffic**", (route) => route.fulfill({ json: HOUR }));
    await go("traffic");
    const box = page.getByRole("region", { name: "Lookups by country" });
    await box.waitFor();
    const view = () =>
      box.evaluate((one) => {
        const { scrollWidth, scrollHeight, clientWidth, clientHeight, scrollLeft, scrollTop } = one;
        const centre = [
          (scrollLeft + clientWidth / 2) / scrollWidth,
          (scrollTop + clientHeight / 2) / scrollHeight,
        ];
        return { zoom: scrollWidth / clientWidth, centre, scrollLeft };
      });
    expect(await view()).toMatchObject({ zoom: 1, centre: [0.5, 0.5] });
    await page.keyboard.press("+");
    const zoomed = await view();
    expect(zoomed.zoom).toBeCloseTo(1.6, 1);
    for (const part of zoomed.centre) expect(part).toBeCloseTo(0.5, 1);
    for (let i = 0; i < 20; i++) await button("Zoom in").click();
    expect((await view()).zoom).toBeCloseTo(12, 0);
    const { scrollLeft } = await view();
    await box.focus();
    await page.keyboard.press("ArrowRight");
    await until(async () => (await view()).scrollLeft > scrollLeft);
    await page.keyboard.press("0");
    expect((await view()).zoom).toBe(1);
    await page.unroute("**/admin/v1/traffic**");
  });

  test("copying, and an override of a domain", async () => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await go(`lookup/someone@${smallDomain(3)}`);
    await button("Copy curl").click();
    await waitForMessage(page, "Copied.");
    const copied = await page.evaluate("navigator.clipboard.readText()");
    expect(copied).toContain(`{"values":["someone@${smallDomain(3)}"]}`);
    expect(copied).not.toContain("\n");
    await button(`Mark ${smallDomain(3)} as not disposable`).click();
    await page.getByLabel("Reason").fill("a partner");
    await page.getByLabel("Expires").selectOption("7");
    await button("Add override").click();
    await page.getByText("Valid, not disposable").waitFor();
    await go("overrides");
    expect(await textOf(page)).toContain("in 7 days");
    await confirm(page, `Remove the override for ${smallDomain(3)}`, "Remove");
    await page.getByText("No overrides. Only feeds decide.").waitFor();
  });
});

describe("data", () => {
  test("changes, roll back, unpin, pin, another release, with the focus kept", async () => {
    const pinned = page.getByText("Pinned: newer releases");
    await go("data");
    await button(/^Show changes in/)
      .first()
      .click();
    await page.getByText(/Abuser: IPv4 addresses 256 added/).waitFor();
    await confirm(page, "Roll back", "Roll back");
    await waitForMessage(page, "In use: ");
    await pinned.waitFor();
    expect(await focusedText(page)).toBe("Roll back");
    await confirm(page, "Unpin", "Unpin");
    await pinned.waitFor({ state: "detached" });
    expect(await focusedText(page)).toBe("Data"); // the clicked button no longer exists
    await button("Pin").click();
    await button("Cancel").click();
    expect(await focusedText(page)).toBe("Pin");
    expect(await pinned.count()).toBe(0);
    await confirm(page, "Pin", "Pin");
    await pinned.waitFor();
    const use = button(/^Use release /);
    const oldest = (await use.last().getAttribute("aria-label"))!.slice("Use release ".length);
    await use.last().click();
    await page.getByRole("dialog").getByText(`The server verifies release ${oldest}`).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Use" }).click();
    await waitForMessage(page, `In use: ${oldest}`);
    await button(`Use release ${oldest}`).waitFor({ state: "detached" });
    expect(await focusedText(page)).toBe("Data");
    await confirm(page, "Unpin", "Unpin");
    await pinned.waitFor({ state: "detached" });
  });

  test("a feed is turned off and on; terms are read on the command line", async () => {
    await go("data");
    await button(/^Show all \d+: Not in use/).click();
    await confirm(page, "Turn off ipsum-3", "Turn off");
    await waitForMessage(page, "ipsum-3 is off. A build starts within seconds.");
    await confirm(page, "Turn on ipsum-3", "Turn on");
    await waitForMessage(page, "ipsum-3 is on. A build starts within seconds.");
    await button("Turn off ipsum-3").waitFor();
    await page.getByText("To read its terms, run: inkling feeds enable dshield").waitFor();
  });

  test("a feed has a page with its switch, also when it is off or unknown", async () => {
    await go("data/ipsum-3");
    await page.getByRole("heading", { name: "ipsum-3" }).waitFor();
    const publisher = page.getByRole("link", { name: /ipsum/ });
    expect(await publisher.getAttribute("target")).toBe("_blank");
    await page.getByText("2: decides alone").waitFor();
    await confirm(page, "Turn off ipsum-3", "Turn off");
    await waitForMessage(page, "ipsum-3 is off. A build starts within seconds.");
    await confirm(page, "Turn on ipsum-3", "Turn on");
    await button("Turn off ipsum-3").waitFor();
    const history = [
      { release: "20260101T000003000Z-c0d874cdfc1c", at: "2026-01-01T00:00:03Z", entries: 10_862 },
    ];
    const [loaded, off] = [
      { ...TROUBLED_FEEDS[1]!, history },
      { ...UNUSED_FEEDS[0]!, history },
    ];
    await page.route("**/admin/v1/data/feeds", (route) =>
      route.fulfill({ json: { feeds: [loaded, { ...loaded, id: "leaving", on: false }], unused: [off] } }),
    );
    await go("data/off");
    await page.getByRole("table", { name: "Entries in each stored release" }).getByText("10,862").waitFor();
    await go("data/leaving");
    await page.getByText("off from the next build on").waitFor();
    await go(`data/${loaded.id}`);
    await button(`Turn off ${loaded.id}`).click();
    await page.getByText("The next build leaves it out, so its entries (10,862) no longer count.").waitFor();
    await button("Cancel").click();
    await page.unroute("**/admin/v1/data/feeds");
    await go("data/no-such-feed");
    await page.getByText("There is no feed no-such-feed.").waitFor();
  });

  test("a held copy is accepted after a question that says why it is held", async () => {
    const feed = TROUBLED_FEEDS.find(({ id }) => id === "changed")!;
    const sent: unknown[] = [];
    await page.route("**/admin/v1/data/feeds", (route) =>
      route.fulfill({ json: { feeds: [feed], unused: [] } }),
    );
    await page.route("**/admin/v1/data/accept", (route) => {
      sent.push(route.request().postDataJSON());
      return route.fulfill({ status: 202, json: { running: false, asked: true, last: null } });
    });
    await go("data/changed");
    await button("Use the new copy of changed").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("It is held: 9,000 entries, not 900.").waitFor();
    await dialog.getByRole("button", { name: "Use the new copy" }).click();
    await waitForMessage(page, "A build with the new copy of changed");
    expect(sent).toEqual([{ copies: [copyName("changed", feed.held!.sha256)] }]);
    for (const path of ["feeds", "accept"]) await page.unroute(`**/admin/v1/data/${path}`);
  });

  test("a feed's claims name their value, and are gone while another value is looked up", async () => {
    const feed = { ...TROUBLED_FEEDS[1]!, id: "x4bnet-vpn-v4" };
    await page.route("**/admin/v1/data/feeds", (route) =>
      route.fulfill({ json: { feeds: [feed], unused: [] } }),
    );
    await page.route("**/admin/v1/lookup", (route) => route.fulfill({ json: TOR_EXIT }));
    await go(`data/${feed.id}`);
    const claims = page.getByRole("heading", { name: `Claims of ${feed.id} about 185.220.101.1` });
    const ask = async (value: string) => {
      await page.getByLabel("Value").fill(value);
      await button("Look up").click();
    };
    await ask("185.220.101.1");
    await claims.waitFor();
    await page.unroute("**/admin/v1/lookup");
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await page.route("**/admin/v1/lookup", async (route) => {
      await released;
      await route.continue();
    });
    await ask("999.1.1.1");
    await page.getByRole("status").filter({ hasText: "Looking up 999.1.1.1 …" }).waitFor();
    expect(await claims.count()).toBe(0);
    release();
    await page.getByText("999.1.1.1 cannot be looked up.").waitFor();
    await ask("jane@example@");
    await page.getByText(`${feed.id} is not in the evidence about jane@example@.`).waitFor();
    await ask("8.8.8.8");
    await page.getByText(`${feed.id} is not in the evidence about 8.8.8.8.`).waitFor();
    await page.unroute("**/admin/v1/lookup");
    await page.unroute("**/admin/v1/data/feeds");
  });

  test("a feed on a server that does not build has a switch that says why it cannot be used", async () => {
    await page.route("**/admin/v1/data/feeds", (route) =>
      route.fulfill({ json: { feeds: [{ ...TROUBLED_FEEDS[1]!, on: null }], unused: [] } }),
    );
    await go("data/getting-old");
    await page.getByText("This server does not build releases.").waitFor();
    expect(await button("Turn off").isDisabled()).toBe(true);
    await page.unroute("**/admin/v1/data/feeds");
  });

  test("the only release cannot be rolled back", async () => {
    await page.route("**/admin/v1/data/releases", async (route) => {
      const { releases } = (await (await route.fetch()).json()) as { releases: { current: boolean }[] };
      await route.fulfill({ json: { releases: releases.filter(({ current }) => current) } });
    });
    await go("keys");
    await go("data");
    await page.getByText("No older release is kept, so you cannot roll back.").waitFor();
    expect(await button("Roll back").isDisabled()).toBe(true);
    await page.unroute("**/admin/v1/data/releases");
  });

  test("an update is followed to its end, through a time without answers", async () => {
    const last = { at: "2026-01-01T00:00:00.000Z", seconds: 12.3, published: true, failed: [] };
    const failed = ["ipsum-3", "fastly", "bingbot", "akamai", "free-mail"];
    const asked = { running: false, asked: true, last: null };
    // The server's answer until the test sets another. The page polls every 2 s, however long a step takes.
    let json: object | undefined;
    await page.route("**/admin/v1/data/update", (route) =>
      json === undefined ? route.abort() : route.fulfill({ json }),
    );
    const start = async () => {
      json = asked;
      await button("Update now").click();
      await page.getByText("An update will start soon").waitFor();
    };
    const pollOnce = async (next: object | undefined) => {
      json = next;
      await page.clock.fastForward(2_000);
    };
    await page.clock.install();
    await go("data");
    await start();
    expect(await button("Update now").isDisabled()).toBe(true);
    await pollOnce({ running: true, asked: false, last: null });
    await page.getByText("An update is running").waitFor();
    await pollOnce(undefined);
    await page.getByText("The server is unreachable; trying again").waitFor();
    await pollOnce({ running: false, asked: false, last });
    await waitForMessage(page, "after 12.3 s: a new release.");
    await start();
    await pollOnce({ running: false, asked: false, last: { ...last, published: false, failed } });
    await waitForMessage(page, "nothing new; 5 feeds failed: ipsum-3, fastly, bingbot and 2 more.");
    await page.unroute("**/admin/v1/data/update");
  });

  test("the age of the data: in the frame, on the page, and of a lookup only what is behind it", async () => {
    const age = (answer: string, days: number) => ({ answer, feed: "x", seconds: days * 86_400 });
    let ages = [age("is_proxy", 3), age("disposable", 278)];
    await page.route("**/admin/v1/data", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), ages } });
    });
    await page.clock.install();
    await go("data");
    await page.reload();
    await page.getByText("Age of its data: is_proxy 3 days, disposable 278 days.").waitFor();
    expect(await page.locator("header, nav, footer").allInnerTexts()).toEqual(
      expect.arrayContaining([expect.stringMatching(/built .*; oldest data: 278 days/)]),
    );
    const old = ages;
    ages = [age("is_proxy", 3)];
    await page.clock.fastForward(30_000);
    await page.locator("header").getByText("oldest data: 3 days").waitFor(); // without an action in the page
    ages = old;
    await page.unroute("**/admin/v1/data");
    await page.route("**/admin/v1/lookup", (route) => route.fulfill({ json: { ...TOR_EXIT, ages } }));
    await go("lookup/185.220.101.1");
    await page.getByText("Age of this data: is_proxy 3 days.").waitFor();
    await page.unroute("**/admin/v1/lookup");
  });

  test("a build that failed as a whole: on the page, in the admin API and in the metrics until one succeeds", async () => {
    const report = join(dataDir, DATA_FOLDER.feedsReport);
    const failed = { at: new Date(Date.now() - 7_200_000).toISOString(), why: "the disk is full" };
    mkdirSync(dirname(report), { recursive: true });
    const metric = async () => {
      const headers = { Authorization: `Bearer ${server.token}` };
      const text = await (await fetch(`${server.origin}/metrics`, { headers })).text();
      return /^inkling_build_failed (\d)$/m.exec(text)?.[1];
    };
    expect(await metric()).toBe("0");
    writeFileSync(report, JSON.stringify({ format: 1, at: failed.at, feeds: [], failed }));
    await until(async () => (await metric()) === "1");
    await go("data");
    await page.reload();
    await page.getByText("The latest build failed 2 hours ago: the disk is full").waitFor();
    rmSync(report);
    await until(async () => (await metric()) === "0");
    await page.reload();
    await page.getByText("In use").first().waitFor();
    expect(await page.getByText("The latest build failed").count()).toBe(0);
  });

  test("a page that is out of date changes nothing", async () => {
    await go("data");
    await page.route("**/admin/v1/data/rollback", async (route) =>
      route.continue({ postData: JSON.stringify({ current: "20250101T000000000Z-000000000000" }) }),
    );
    await confirm(page, "Roll back", "Roll back");
    await page.getByRole("dialog").getByText("A different release is in use").waitFor();
    await button("Cancel").click();
    expect(await page.getByText("Pinned: newer releases").count()).toBe(0);
    await page.unroute("**/admin/v1/data/rollback");
  });
});

describe("keys", () => {
  test("create, shown once, change, use, rotate, revoke", async () => {
    const request = (path: string, token: string) =>
      fetch(`${server.api}${path}`, { headers: { Authorization: `Bearer ${token}` } });
    await go("keys");
    await page.getByLabel("Name").fill("checkout");
    await page.getByLabel("Quota").fill("1000");
    await button("Create key").click();
    const key = await page.locator("code.token").innerText();
    expect(key).toMatch(/^ink_live_/);
    expect((await request("/v1/ip-intel/reputation/81.2.69.142", key)).status).toBe(200);
    await page.getByRole("table").getByText("checkout").waitFor();
    expect(await page.getByLabel("Name").inputValue()).toBe("");
    await page.getByRole("link", { name: "Open this key" }).click();
    await page.getByRole("heading", { level: 1, name: "checkout" }).waitFor();
    expect(await page.title()).toBe("checkout: Inkling console");
    expect(await textOf(page)).not.toContain(key);
    expect(await page.getByLabel("Quota").inputValue()).toBe("1000");
    await page.getByLabel("Rate", { exact: true }).fill("7");
    await button("Save").click();
    await waitForMessage(page, "Saved.");
    await page.getByLabel("Email").uncheck();
    await button("Save").click();
    // The change is active within a second, and counted within another second.
    while ((await request("/v1/user-intel/email/x@y.org", key)).status !== 403) await Bun.sleep(20);
    while ((await page.getByText("Not allowed").count()) === 0) {
      await page.reload();
      await page.locator(".chart, p.empty").first().waitFor();
    }
    await page.getByRole("heading", { name: "Refusals" }).waitFor();
    const trace = page.getByLabel("Trace");
    await trace.selectOption("for an hour");
    await button("Save").click();
    await trace.getByRole("option", { name: /^unchanged: in \d+ (min|h)/ }).waitFor({ state: "attached" });
    expect(await trace.inputValue()).toBe("kept");
    await trace.selectOption("no");
    await button("Save").click();
    await trace.getByRole("option", { name: /^unchanged/ }).waitFor({ state: "detached" });
    await until(async () => /Last used\s+\d{4}-\d\d-\d\d/.test(await textOf(page)));
    await confirm(page, "Rotate checkout", "Rotate");
    const next = await page.locator("code.token").innerText();
    expect(next).not.toBe(key);
    for (const token of [key, next]) {
      expect((await request("/v1/ip-intel/reputation/81.2.69.142", token)).status).toBe(200);
    }
    await confirm(page, "Revoke checkout", "Revoke");
    await waitForMessage(page, "Revoked.");
    await page.getByRole("table").waitFor();
    expect((await page.getByRole("row").nth(1).innerText()).replace(/\s+/g, " ")).toMatch(
      /checkout .*revoked/,
    );
  });

  test("a refused form keeps what was entered", async () => {
    await go("keys");
    await page.getByLabel("Name").fill("broken");
    await page.getByLabel("Allowed networks").fill("10.0.0.1/8");
    await button("Create key").click();
    await page.getByRole("alert").filter({ hasText: "10.0.0.1/8 has host bits set" }).waitFor();
    expect(await page.getByLabel("Name").inputValue()).toBe("broken");
    expect(await page.getByLabel("Allowed networks").inputValue()).toBe("10.0.0.1/8");
  });

  test("a change leaves the time at which a key expires as it is", async () => {
    const headers = { Authorization: `Bearer ${server.token}`, "Content-Type": "application/json" };
    const admin = async (path: string, body?: object) => {
      const init = body === undefined ? { headers } : { headers, method: "POST", body: JSON.stringify(body) };
      return (await (await fetch(`${server.origin}/admin/v1/${path}`, init)).json()) as {
        id: string;
        rate: number | null;
        expires_at: string;
      };
    };
    const { id } = await admin("keys", { name: "till", expires_at: "2099-07-01" });
    await go(`keys/${id}`);
    expect(await page.getByLabel("Expires").inputValue()).toBe("2099-07-01");
    await page.getByLabel("Rate", { exact: true }).fill("7");
    await button("Save").click();
    await until(async () => (await admin(`keys/${id}`)).rate === 7); // "Saved." may still be an earlier test's
    expect(await admin(`keys/${id}`)).toMatchObject({ expires_at: "2099-07-01T00:00:00.000Z" });
    await page.getByLabel("Expires").fill("2099-07-02");
    await button("Save").click();
    await until(async () => (await admin(`keys/${id}`)).expires_at === "2099-07-02T23:59:59.000Z");
  });

  test("a key that does not exist", async () => {
    await go("keys/key_none");
    await page.getByRole("alert").waitFor();
    expect(await textOf(page)).toContain("No such key. No key has this id.");
    expect(await textOf(page)).not.toContain("Search the server's log");
  });
});

describe("audit", () => {
  const rows = async () => {
    await page.locator("main .loading").waitFor({ state: "detached" });
    const cells = page.locator("tbody tr");
    return (await cells.allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
  };
  const choose = (label: string, value: string) => page.getByLabel(label).selectOption(value);
  const type = async (label: string, text: string) => {
    await page.getByLabel(label).fill(text);
    await page.keyboard.press("Enter");
  };

  beforeAll(async () => {
    const headers = { Authorization: `Bearer ${server.token}`, "Inkling-Author": "carol" };
    for (let n = 0; n < 60; n++) {
      const body = JSON.stringify({ value: `192.88.20.${n}`, flag: "is_proxy", verdict: false, note: "x" });
      const url = `${server.origin}/admin/v1/overrides`;
      const response = await fetch(url, { method: "POST", headers, body });
      const { id } = (await response.json()) as { id: string };
      await (await fetch(`${url}/${id}`, { method: "DELETE", headers })).text();
    }
  });

  test("who, way, action, subject with its name, before and after", async () => {
    await go("audit");
    await page.getByRole("table").waitFor();
    expect((await rows())[0]).toMatch(
      /carol admin API override removed ovr_\w{16} ?192\.88\.20\.59 before, after/,
    );
    await page.getByText("before, after").first().click();
    expect(await page.locator("main pre").first().innerText()).toContain('"value": "192.88.20.59"');
  });

  test("filters, each by itself and together; focus stays", async () => {
    await go("audit");
    await choose("Action", "admin-token-created");
    await until(async () => (await rows()).length === 1);
    expect((await rows())[0]).toContain("test command line admin token created");
    await choose("Source", "api");
    await page.getByText("Nothing matches.").waitFor();
    await choose("Action", "override-added");
    await type("Author", "carol");
    await until(async () => (await rows()).length === 50);
    const id = /ovr_\w{16}/.exec((await rows())[7]!)![0];
    await type("Subject", id);
    await until(async () => (await rows()).length === 1);
    expect((await rows())[0]).toContain(id);
    expect(await page.evaluate("document.activeElement.tagName")).toBe("INPUT");
    await choose("Time", "1");
    await until(async () => (await rows()).length === 1);
    await type("Author", "nobody");
    await page.getByText("Nothing matches.").waitFor();
  });

  test("filters are in the address: Back, a reload and a link keep them", async () => {
    await go("audit");
    await type("Author", "carol");
    await choose("Action", "override-removed");
    await choose("Time", "7");
    await until(() => page.url().endsWith("#/audit?author=carol&action=override-removed&days=7"));
    await page.reload();
    await until(async () => (await rows()).length === 50);
    expect(await page.getByLabel("Author").inputValue()).toBe("carol");
    expect(await page.getByLabel("Time").inputValue()).toBe("7");
    await type("Author", "nobody");
    await page.getByText("Nothing matches.").waitFor();
    await page.goBack();
    await until(async () => (await rows()).length === 50);
    expect(await page.getByLabel("Author").inputValue()).toBe("carol");
    await type("Author", "");
    await choose("Action", "");
    await choose("Time", "");
    await until(() => page.url().endsWith("#/audit"));
    await page.getByText("Enter a whole id, value or name.").waitFor();
  });

  test("older entries, page by page", async () => {
    await go("data");
    await go("audit");
    await type("Author", "carol");
    await until(async () => (await rows()).length === 50);
    for (const shown of [100, 120]) {
      await button("Show older").click();
      await until(async () => (await rows()).length === shown);
    }
    expect(await button("Show older").count()).toBe(0);
    expect(new Set(await rows()).size).toBe(120);
  });
});

describe("overrides", () => {
  const removals = () => button(/^Remove the override for/);
  const add = async (value: string, reason: string) => {
    await page.getByLabel(/^Address/).fill(value);
    await page.getByLabel("Reason").fill(reason);
    await button("Add").click();
  };
  const importFile = async (name: string, text: string) => {
    const file = { name, mimeType: "application/json", buffer: Buffer.from(text) };
    await page.getByLabel("Import").setInputFiles(file);
    await page.locator("button", { hasText: "Import" }).click();
  };

  test("add, search, remove, refuse a wide one", async () => {
    await go("overrides");
    for (const n of [1, 2, 3, 4, 5, 6]) {
      await add(`192.88.10.${n}`, `number ${n}`);
      await button(`Remove the override for 192.88.10.${n}`).waitFor();
    }
    await page.getByLabel("Search").fill("number 4");
    expect(await removals().count()).toBe(1);
    await page.getByLabel("Search").fill("number 9");
    await page.getByText("Nothing matches.").waitFor();
    await page.getByLabel("Search").fill("");
    await add("0.0.0.0/0", "everybody");
    await page.getByRole("alert").filter({ hasText: "is broader than /16" }).waitFor();
    expect(await removals().count()).toBe(6);
  });

  test("edit keeps the override and its expiry; the history names both changes", async () => {
    await go("overrides");
    await add("192.88.11.1", "a typo");
    await button("Edit the override for 192.88.11.1").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Expires").selectOption("30");
    await dialog.getByRole("button", { name: "Save" }).click();
    const row = page.getByRole("table", { name: "Overrides" }).getByRole("row").nth(1);
    await row.filter({ hasText: "in 30 days" }).waitFor(); // the form shows what the list has loaded
    await button("Edit the override for 192.88.11.1").click();
    expect(await dialog.getByLabel("Reason").inputValue()).toBe("a typo");
    await dialog.getByLabel("Reason").fill("a partner");
    await dialog.getByRole("button", { name: "Save" }).click();
    await row.filter({ hasText: "a partner" }).waitFor();
    expect(await row.innerText()).toContain("in 30 days");
    await confirm(page, "Remove the override for 192.88.11.1", "Remove");
    await page.getByLabel("Also show removed").check();
    const history = page.getByRole("table", { name: "Overrides" });
    await history
      .getByRole("row")
      .filter({ hasText: /192\.88\.11\.1address.*removed/ })
      .waitFor();
    await history.getByRole("link", { name: "Changes to the override for 192.88.11.1", exact: true }).click();
    await page.getByRole("table", { name: "Audit trail" }).waitFor();
    const actions = await page.locator("tbody tr td:nth-child(4)").allInnerTexts();
    expect(actions).toEqual(["override removed", "override changed", "override changed", "override added"]);
  });

  test("export and import", async () => {
    await go("overrides");
    await importFile("x.json", "no");
    await page.getByText("This file is not JSON. Nothing was changed.").waitFor();
    await importFile("x.json", "{}");
    await page
      .getByRole("alert")
      .filter({ hasText: /\w+.* Nothing was changed\.$/ })
      .waitFor();
    const download = page.waitForEvent("download");
    await button("Export all").click();
    const text = readFileSync(await (await download).path(), "utf8");
    expect(JSON.parse(text).overrides).toHaveLength(6);
    await confirm(page, "Remove the override for 192.88.10.4", "Remove");
    await button("Remove the override for 192.88.10.4").waitFor({ state: "detached" });
    await importFile("overrides.json", text);
    await waitForMessage(page, "1 added, 0 changed, 5 unchanged");
    await button("Remove the override for 192.88.10.4").waitFor();
  });
});

describe("frame", () => {
  test("traffic: before and after the first minute", async () => {
    await page.route("**/admin/v1/traffic**", (route) => route.fulfill({ json: NO_TRAFFIC }));
    await go("traffic");
    await page.getByText("No data yet. The first minute since the start has not passed.").waitFor();
    await page.unroute("**/admin/v1/traffic**");
    const countries = [..."ABCDEFGHIJKL"].map((letter) => ({ iso_code: `${letter}Z`, count: 1 }));
    const json = { ...HOUR, total: { ...HOUR.total, countries } };
    await page.route("**/admin/v1/traffic**", (route) => route.fulfill({ json }));
    await page.getByLabel("Period").selectOption("1");
    await page.getByText("Countries looked up").waitFor();
    await page.getByRole("img", { name: "Lookups by country" }).waitFor();
    await page.getByText("and 2 more countries", { exact: true }).waitFor();
    expect(page.url()).toEndWith("#/traffic?hours=1");
    await page.reload();
    await page.getByText("Countries looked up").waitFor();
    expect(await page.getByLabel("Period").inputValue()).toBe("1");
    await page.unroute("**/admin/v1/traffic**");
  });

  test("hosts: this one alone with SQLite; a group with what is wrong, loaded again by itself", async () => {
    await go("hosts");
    await page.getByText("The database is SQLite, so only one host can use it").waitFor();
    const table = page.getByRole("table", { name: "Hosts" });
    expect(await table.getByRole("row").allInnerTexts()).toEqual([
      expect.stringContaining("Host"),
      expect.stringContaining(`${hostname()}:${new URL(server.api).port}`),
    ]);
    await table.getByText("ready", { exact: true }).waitFor();
    await page.route("**/admin/v1/hosts", (route) => route.fulfill({ json: HOSTS }));
    await page.getByText("clock 1 hour behind").waitFor();
    const rows = await table.getByRole("row").allInnerTexts();
    expect(rows).toHaveLength(HOSTS.hosts.length + 1);
    expect(rows[1]).toMatch(/web-1:8080[\s\S]*ready[\s\S]*1,234\.5/);
    expect(rows[3]).toMatch(/not ready[\s\S]*no data release is loaded; <img src=x [\s\S]*none/);
    expect(rows[4]).toMatch(/silent[\s\S]*minutes ago/);
    await page.unroute("**/admin/v1/hosts");
  });

  test("a theme is remembered, and in force before the first frame", async () => {
    const own = await tabs.open({ colorScheme: "light" });
    const ground = () => own.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    const light = await ground();
    await own.getByLabel("Theme").selectOption("dark");
    const dark = await ground();
    expect(dark).not.toBe(light);
    await own.addInitScript(`
      new MutationObserver((_, observer) => {
        if (!document.body) return;
        observer.disconnect();
        globalThis.atFirst = [document.documentElement.dataset.theme, document.body.childElementCount];
      }).observe(document, { childList: true, subtree: true });`);
    await own.reload();
    await own.getByLabel("Theme").waitFor();
    expect(await ground()).toBe(dark);
    expect(await own.evaluate<unknown>("globalThis.atFirst")).toEqual(["dark", expect.any(Number)]);
    expect(await own.getByLabel("Theme").inputValue()).toBe("dark");
    await own.getByLabel("Theme").selectOption("");
    expect(await ground()).toBe(light);
    await own.emulateMedia({ colorScheme: "dark" });
    expect(await ground()).toBe(dark);
    await own.getByLabel("Theme").selectOption("light");
    expect(await ground()).toBe(light);
    await own.context().close();
  });

  test("an unknown page, a bad address, and a server that does not answer", async () => {
    await go("nowhere");
    expect(await page.locator("main h1").innerText()).toBe("No such page");
    await page.getByText("The console has no page at #/nowhere.").waitFor();
    await page.goto(`${server.origin}/#/-nowhere`);
    await page.getByText("The console has no page at #/-nowhere.").waitFor();
    await go("lookup/%zz");
    expect(await page.getByLabel(/IP address/).inputValue()).toBe("%zz");
    await page.route("**/admin/v1/keys**", (route) => route.abort());
    await page.goto(`${server.origin}/#/keys`);
    await page.getByRole("alert").filter({ hasText: "The server is unreachable" }).waitFor();
    await page.unroute("**/admin/v1/keys**");
    await button("Try again").click();
    await page.getByRole("table").waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  test("a proxy's page with status 200 is an error, and no empty list", async () => {
    await go("data");
    await page.route("**/admin/v1/keys**", (route) =>
      route.fulfill({ contentType: "text/html", body: "<h1>Log in to the staff portal</h1>" }),
    );
    await go("keys");
    const table = page.getByText("No keys yet");
    const alert = page.getByRole("alert").filter({ hasText: "The answer did not come from Inkling" });
    await table.or(alert).waitFor();
    expect([await table.count(), await alert.count()]).toEqual([0, 1]);
    await page.unroute("**/admin/v1/keys**");
    await button("Try again").click();
    await alert.waitFor({ state: "detached" });
    await page.getByRole("table").waitFor();
  });

  test("an open dialog is closed with its page", async () => {
    await go("data");
    await button("Roll back").click();
    await page.getByRole("dialog").waitFor();
    await go("keys");
    expect(await page.getByRole("dialog").count()).toBe(0);
  });

  test("text is never read as HTML", async () => {
    const hostile = '<img src=x onerror="globalThis.ran = true"><b>x</b>';
    await go("lookup");
    await page.getByLabel(/IP address/).fill(hostile);
    await button("Look up").click();
    await page.getByText("Found 1 value: 1 domain.").waitFor();
    for (const value of ['"<img/src=x>"@x.com', "<b>x</b>"]) {
      await page.getByLabel(/IP address/).fill(value);
      await button("Look up").click();
      await page
        .getByRole("heading", { name: value, exact: true })
        .or(page.getByText("Valid, not disposable"))
        .waitFor();
    }
    expect(await page.locator("main img, main b").count()).toBe(0);
    await go("keys");
    await page.getByLabel("Name").fill(hostile);
    await button("Create key").click();
    await page.getByRole("link", { name: "Open this key" }).click();
    await page.getByRole("heading", { name: hostile }).waitFor();
    await go("audit");
    await page.getByRole("table").getByText(hostile).first().waitFor();
    expect(await page.locator("main img, main b").count()).toBe(0);
    expect(await page.evaluate("globalThis.ran")).toBeUndefined();
  });

  test("the keyboard alone: skip link, pages, a lookup", async () => {
    await go("data");
    await page.reload();
    await page.getByRole("table").first().waitFor();
    await page.keyboard.press("Tab");
    expect(await focusedText(page)).toBe("Skip to content");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.tagName")).toBe("MAIN");
    expect(await page.locator("main h1").innerText()).toBe("Data");
    await page.reload();
    await page.getByRole("table").first().waitFor();
    const titles = await page.getByRole("navigation").getByRole("link").allTextContents();
    await button("Log out").focus();
    for (const name of titles.slice(0, titles.indexOf("Keys") + 1)) {
      await page.keyboard.press("Tab");
      expect(await focusedText(page)).toBe(name);
    }
    await page.keyboard.press("Enter");
    await page.locator("main h1:focus", { hasText: "Keys" }).waitFor();
    expect(await page.title()).toBe("Keys: Inkling console");
    await go("lookup");
    await page.locator("textarea:focus").waitFor();
    await page.keyboard.type("81.2.69.142");
    await page.keyboard.press("Enter");
    await page.getByText("81.2.69.142: ").waitFor();
    await go("data");
    const feeds = page.getByRole("table").first().locator("tbody tr");
    await feeds.first().waitFor();
    for (const [key, row] of [
      ["j", 0],
      ["j", 1],
      ["k", 0],
    ] as const) {
      await page.keyboard.press(key);
      expect(await feeds.nth(row).locator(":focus").count()).toBe(1);
    }
    await page.keyboard.press("/");
    await page.keyboard.type("81.2.69.142");
    await page.keyboard.press("Enter");
    await page.getByText("81.2.69.142: ").waitFor();
  });
});

test("no script failed, and no other host was requested", () => expect(tabs.faults).toEqual([]));
