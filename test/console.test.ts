// The console in a real Chromium: every page and action, against a real server with real data of its own making.
//
// out  screenshots/: each page in light and dark, at the width of a desk and of a phone

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { dataActions, Updates } from "../packages/cli/src/runtime/data-actions.ts";
import { consoleFile, consolePaths } from "../packages/console/src/files.ts";
import { type RunningServer, startServer } from "../packages/server/src/server.ts";
import { openStore } from "../packages/server/src/store/store.ts";
import { faultsOf, LOOKS, launchBrowser, openPage, picture } from "./browser.ts";
import { fetch } from "./checked-fetch.ts";
import { realRelease, smallCity, smallDomain, smallRelease, temporaryFolder } from "./release.ts";
import { describeWith, MIRROR } from "./shared.ts";

setDefaultTimeout(120_000);

const FIRST_VIEW_BYTES = 200_000;

let browser: Browser;
let server: RunningServer;
let token: string;
let origin: string;
const closers: (() => Promise<unknown>)[] = [];
/** What went wrong in any page. */
const faults: string[] = [];

beforeAll(async () => {
  const dataDir = temporaryFolder();
  for (const n of [1, 2, 3]) smallRelease(dataDir, n);
  await serve(dataDir);
  browser = await launchBrowser();
  closers.push(() => browser.close());
});
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

/** Starts a server; from then on pages are opened on it. */
async function serve(dataDir: string): Promise<void> {
  const databaseUrl = `sqlite://${join(dataDir, "inkling.db")}`;
  const store = await openStore(databaseUrl);
  token = (await store.adminToken.create("test"))!;
  await store.close();
  const started = await startServer({
    host: "127.0.0.1",
    port: 0,
    adminHost: "127.0.0.1",
    adminPort: 0,
    dataDir,
    mode: "serve",
    databaseUrl,
    rate: 0,
    burst: 1,
    trustedProxies: [],
    maxConnections: 100,
    logLevel: "error",
    version: "0.0.0",
    actions: async () => dataActions(new Updates()),
    console: async (request, path) => consoleFile(request, path),
  });
  closers.push(() => started.stop());
  server = started;
  origin = `http://127.0.0.1:${server.adminPort}`;
}

async function open(options: BrowserContextOptions = {}): Promise<Page> {
  const page = await openPage(browser, options, faults, (asked) => asked === origin);
  await page.goto(origin);
  return page;
}

async function logIn(page: Page): Promise<Page> {
  await page.getByLabel("Admin token").fill(token);
  await page.getByLabel("Your name").fill("ada");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("navigation").waitFor();
  return page;
}

async function go(page: Page, hash: string): Promise<void> {
  await page.goto(`${origin}/#/${hash}`);
  await page.locator("main h1").waitFor();
  await page.locator("main .loading").waitFor({ state: "detached" });
}

/** Keeps a picture of a page in one of the looks, and holds the page to what can be measured of it. */
async function check(page: Page, name: string, look: (typeof LOOKS)[number]): Promise<void> {
  await picture(page, `${name}-${look.name}`, "page");
  expect(await faultsOf(page, name)).toEqual([]);
}

const textOf = (page: Page) => page.locator("main").innerText();
const said = (page: Page, text: string) => page.locator("#messages", { hasText: text }).waitFor();

test("the first view is small, and every file is there", async () => {
  let bytes = 0;
  for (const path of consolePaths()) {
    const response = await fetch(`${origin}${path}`, {
      headers: { "Accept-Encoding": "gzip" },
      decompress: false,
    });
    expect([path, response.status]).toEqual([path, 200]);
    bytes += (await response.arrayBuffer()).byteLength;
  }
  expect(bytes).toBeLessThan(FIRST_VIEW_BYTES);
  const again = await fetch(origin);
  expect(again.headers.get("content-security-policy")).toContain("script-src 'self'");
  const known = await fetch(origin, { headers: { "If-None-Match": again.headers.get("etag")! } });
  expect(known.status).toBe(304);
  expect((await fetch(`${origin}/console/nothing.js`)).status).toBe(404);
  expect((await fetch(origin, { method: "POST" })).status).toBe(405);
});

describe("logging in", () => {
  test("a wrong token is refused, the right one opens, a log-out closes", async () => {
    const page = await open();
    await page.getByLabel("Admin token").fill(`${token.slice(0, -1)}${token.endsWith("x") ? "y" : "x"}`);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("alert").filter({ hasText: "This is not the admin token." }).waitFor();
    await logIn(page);
    const cookies = await page.context().cookies(`${origin}/admin/`);
    expect(cookies.map(({ httpOnly, sameSite }) => ({ httpOnly, sameSite }))).toEqual([
      { httpOnly: true, sameSite: "Strict" },
    ]);
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Admin token").waitFor();
    await page.goto(`${origin}/#/keys`);
    await page.getByLabel("Admin token").waitFor();
    await page.context().close();
  });

  test("a session that ends says so", async () => {
    const page = await logIn(await open());
    await page.context().clearCookies();
    await go(page, "keys").catch(() => {});
    await page.getByRole("alert").filter({ hasText: "Your session has ended" }).waitFor();
    await page.context().close();
  });
});

describe("pages", () => {
  let page: Page;
  beforeAll(async () => {
    page = await logIn(await open());
  });
  afterAll(() => page.context().close());

  test("look up: an address, an override with one click, and its end", async () => {
    await go(page, "lookup");
    await page.getByLabel(/IP address/).fill("81.2.69.142");
    await page.keyboard.press("Enter");
    await page.getByText(`81.2.69.142 is in ${smallCity(3)}`).waitFor();
    expect(await textOf(page)).toContain("It is an abuser");
    await page.getByRole("button", { name: "Clear Abuser for 81.2.69.142" }).click();
    await page.getByLabel("Why").fill("our own office");
    await page.getByRole("button", { name: "Override", exact: true }).click();
    await said(page, "In force on every server");
    await page.getByText("Nothing speaks against it").waitFor();
    expect(await textOf(page)).toContain("your override");
    await go(page, "overrides");
    expect(await textOf(page)).toContain("our own office");
    await page.getByRole("button", { name: "End the override of 81.2.69.142" }).click();
    await page.getByRole("button", { name: "End it" }).click();
    await said(page, "Ended.");
    await page.getByText("None: the lists alone decide.").waitFor();
    expect(await textOf(page)).toContain("override removed");
  });

  test("look up: a flag that no list tells is unknown, not no", async () => {
    await page.route("**/admin/v1/lookup", async (route) => {
      const response = await route.fetch();
      await route.fulfill({
        response,
        json: { ...(await response.json()), missing: ["is_proxy", "is_tor_exit"] },
      });
    });
    await go(page, "lookup/8.8.8.8");
    await page.getByText("Nothing that is known speaks against it").waitFor();
    expect(await page.locator("ul.flags .badge").allInnerTexts()).toEqual(["no", "unknown", "unknown"]);
    await page.getByText("for want of data: is_proxy, is_tor_exit.").waitFor();
    await go(page, "lookup/someone@gmail.com");
    await page.getByText("An address like any other").waitFor();
    expect(await textOf(page)).not.toContain("for want of data");
    await page.unroute("**/admin/v1/lookup");
  });

  test("a question that is open goes with its page", async () => {
    await go(page, "data");
    await page.getByRole("button", { name: "Roll back" }).click();
    await page.getByRole("dialog").waitFor();
    await go(page, "keys");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });

  test("look up: e-mail addresses, a list, what cannot be looked up", async () => {
    await go(page, "lookup");
    const box = page.getByLabel(/IP address/);
    await box.fill(`someone@${smallDomain(3)}`);
    await page.keyboard.press("Enter");
    await page.getByText("A throw-away address").waitFor();
    await box.fill(`81.2.69.1, someone@${smallDomain(3)} 10.0.0.1 nonsense`);
    await page.getByRole("button", { name: "Look up" }).click();
    await page.getByRole("table").waitFor();
    const rows = await page.getByRole("row").allInnerTexts();
    expect(rows.map((row) => row.replace(/\s+/g, " ").trim()).slice(1)).toEqual([
      expect.stringContaining("81.2.69.1 City 3"),
      expect.stringContaining(`someone@${smallDomain(3)} disposable`),
      expect.stringContaining("10.0.0.1"),
      expect.stringContaining("nonsense"),
    ]);
    await box.fill(Array.from({ length: 101 }, (_, i) => `8.8.8.${i}`).join(" "));
    await page.getByRole("button", { name: "Look up" }).click();
    await page.getByRole("alert").filter({ hasText: "at most 100 at once" }).waitFor();
  });

  test("look up: what can be copied, and an override of a domain", async () => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await go(page, `lookup/someone@${smallDomain(3)}`);
    await page.getByRole("button", { name: "Copy curl" }).click();
    await said(page, "Copied.");
    const copied = await page.evaluate("navigator.clipboard.readText()");
    expect(copied).toContain(`{"values":["someone@${smallDomain(3)}"]}`);
    expect(copied).not.toContain("\n");
    await page.getByRole("button", { name: `Say that ${smallDomain(3)} is not disposable` }).click();
    await page.getByLabel("Why").fill("a partner");
    await page.getByLabel("How long").selectOption("7");
    await page.getByRole("button", { name: "Override", exact: true }).click();
    await page.getByText("An address like any other").waitFor();
    await go(page, "overrides");
    expect(await textOf(page)).toContain("in 6 days");
    await page.getByRole("button", { name: `End the override of ${smallDomain(3)}` }).click();
    await page.getByRole("button", { name: "End it" }).click();
    await page.getByText("None: the lists alone decide.").waitFor();
  });

  test("text is never read as HTML", async () => {
    await go(page, "lookup");
    await page.getByLabel(/IP address/).fill('"<img/src=x>"@x.com <b>x</b>');
    await page.getByRole("button", { name: "Look up" }).click();
    await page.getByRole("table").waitFor();
    expect(await page.locator("main img, main b").count()).toBe(0);
  });

  test("data: what changed, roll back, unpin, update", async () => {
    await go(page, "data");
    await page
      .getByRole("button", { name: /What changed/ })
      .first()
      .click();
    await page.getByText(/Abuser: IPv4 addresses 256 more/).waitFor();
    await page.getByRole("button", { name: "Roll back" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
    await said(page, "In use: ");
    await page.getByText("Pinned: newer releases").waitFor();
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Data"); // the button is gone
    await page.getByRole("button", { name: "Unpin" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unpin" }).click();
    await page.getByText("Pinned: newer releases").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Pin", exact: true }).click();
    await page.getByRole("button", { name: "Cancel" }).click();
    expect(await page.getByText("Pinned: newer releases").count()).toBe(0);
    // any that is kept
    const use = page.getByRole("button", { name: /^Use this one: / });
    const oldest = (await use.last().getAttribute("aria-label"))!.slice("Use this one: ".length);
    await use.last().click();
    await page.getByRole("dialog").getByText(`The release ${oldest} is read through`).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Use it" }).click();
    await said(page, `In use: ${oldest}`);
    await page.getByText("Pinned: newer releases").waitFor();
    expect(await page.getByRole("button", { name: `Use this one: ${oldest}` }).count()).toBe(0);
    await page.getByRole("button", { name: "Unpin" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unpin" }).click();
    await page.getByText("Pinned: newer releases").waitFor({ state: "detached" });
  });

  test("data: pinned, and an update seen to its end", async () => {
    await go(page, "data");
    await page.getByRole("button", { name: "Pin", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Pin" }).click();
    await page.getByText("Pinned: newer releases").waitFor();
    await page.getByRole("button", { name: "Unpin" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unpin" }).click();
    await page.getByText("Pinned: newer releases").waitFor({ state: "detached" });
    // Building takes what a test has not: its steps as the admin API tells them.
    const last = {
      at: "2026-01-01T00:00:00.000Z",
      seconds: 12.3,
      published: true,
      problem: null,
      hint: null,
    };
    const steps = [
      { running: false, asked: true, last: null },
      { running: true, asked: false, last: null },
      { running: false, asked: false, last },
    ];
    await page.route("**/admin/v1/data/update", (route) =>
      route.fulfill({ json: steps.length > 1 ? steps.shift() : steps[0] }),
    );
    await page.getByRole("button", { name: "Update now" }).click();
    await page.getByText("An update begins soon").waitFor();
    await page.getByText("An update is running").waitFor();
    await said(page, "after 12.3 s: a new release.");
    await page.unroute("**/admin/v1/data/update");
  });

  test("data: a page that was left open changes nothing", async () => {
    await go(page, "data");
    await page.route("**/admin/v1/data/rollback", async (route) =>
      route.continue({ postData: JSON.stringify({ current: "20250101T000000000Z-000000000000" }) }),
    );
    await page.getByRole("button", { name: "Roll back" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
    await said(page, "Another release is in use by now");
    expect(await page.getByText("Pinned: newer releases").count()).toBe(0);
    await page.unroute("**/admin/v1/data/rollback");
  });

  test("keys: make, see once, change, use, rotate, revoke", async () => {
    await go(page, "keys");
    await page.getByLabel("Name").fill("checkout");
    await page.getByLabel("Quota").fill("1000");
    await page.getByRole("button", { name: "Make key" }).click();
    const key = await page.locator("code.token").innerText();
    expect(key).toMatch(/^ink_live_/);
    const asked = await fetch(`http://127.0.0.1:${server.port}/v1/ip-intel/reputation/81.2.69.142`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    expect(asked.status).toBe(200);
    await page.getByRole("table").getByText("checkout").waitFor();
    await page.getByRole("link", { name: "To this key" }).click();
    await page.getByRole("heading", { name: "checkout" }).waitFor();
    expect(await textOf(page)).not.toContain(key);
    await page.getByLabel("Rate").fill("7");
    await page.getByRole("button", { name: "Save" }).click();
    await said(page, "Changed");
    await page.getByLabel("E-mail").uncheck();
    await page.getByRole("button", { name: "Save" }).click();
    const refused = () =>
      fetch(`http://127.0.0.1:${server.port}/v1/user-intel/email/x@y.org`, {
        headers: { Authorization: `Bearer ${key}` },
      });
    while ((await refused()).status !== 403) await Bun.sleep(100); // in force within a second
    while ((await page.getByText("Not allowed").count()) === 0) {
      await page.reload();
      await page.getByRole("heading", { name: "Limits" }).waitFor();
    }
    await page.getByRole("button", { name: "Rotate" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Rotate" }).click();
    const next = await page.locator("code.token").innerText();
    expect(next).not.toBe(key);
    for (const one of [key, next]) {
      const headers = { Authorization: `Bearer ${one}` };
      const both = await fetch(`http://127.0.0.1:${server.port}/v1/ip-intel/reputation/81.2.69.142`, {
        headers,
      });
      expect(both.status).toBe(200); // the old one, too, for a day
    }
    await page.getByLabel("Usage of the last").selectOption("hour");
    await page.getByText(/Look-ups an hour|No look-ups in the last 24 hours/).waitFor();
    await page.getByRole("button", { name: "Revoke this key" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await said(page, "Revoked.");
    await page.getByRole("table").waitFor();
    expect((await page.getByRole("row").nth(1).innerText()).replace(/\s+/g, " ")).toMatch(
      /checkout .*revoked/,
    );
  });

  test("keys: what is wrong is said, and the form keeps what was typed", async () => {
    await go(page, "keys");
    await page.getByLabel("Name").fill("broken");
    await page.getByLabel("Allowed networks").fill("10.0.0.1/8");
    await page.getByRole("button", { name: "Make key" }).click();
    await page.getByRole("alert").filter({ hasText: "networks" }).waitFor();
    expect(await page.getByLabel("Name").inputValue()).toBe("broken");
  });

  test("overrides: add, contradict, search, import what is no file", async () => {
    await go(page, "overrides");
    for (const n of [1, 2, 3, 4, 5, 6]) {
      await page.getByLabel(/^Address/).fill(`192.88.10.${n}`);
      await page.getByLabel("Why").fill(`number ${n}`);
      await page.getByRole("button", { name: "Add" }).click();
      await page.getByRole("button", { name: `End the override of 192.88.10.${n}` }).waitFor();
    }
    await page.getByLabel("Search").fill("number 4");
    expect(await page.getByRole("button", { name: /^End the override/ }).count()).toBe(1);
    await page.getByLabel(/^Address/).fill("0.0.0.0/0");
    await page.getByLabel("Why").fill("everybody");
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByRole("alert").filter({ hasText: /wide/ }).waitFor();
    await page
      .getByLabel("Import")
      .setInputFiles({ name: "x.json", mimeType: "text/plain", buffer: Buffer.from("no") });
    await page.locator("button", { hasText: "Import" }).click();
    await page.getByText("This file is no JSON. Nothing was changed.").waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export all" }).click();
    const file = JSON.parse(readFileSync(await (await download).path(), "utf8"));
    expect(file.overrides).toHaveLength(6);
    await page.getByRole("button", { name: "End the override of 192.88.10.4" }).click();
    await page.getByRole("button", { name: "End it" }).click();
    await page
      .getByRole("button", { name: "End the override of 192.88.10.4" })
      .waitFor({ state: "detached" });
    const buffer = Buffer.from(JSON.stringify(file));
    await page
      .getByLabel("Import")
      .setInputFiles({ name: "overrides.json", mimeType: "application/json", buffer });
    await page.locator("button", { hasText: "Import" }).click();
    await said(page, "1 added, 0 changed, 5 as before");
    await page.getByLabel("Verdict").selectOption("mute");
    await page.getByLabel(/^Address/).fill("192.88.10.7");
    await page.getByLabel("Feed").fill("no-such-feed");
    await page.getByLabel("Why").fill("it is wrong about us");
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByRole("alert").filter({ hasText: "feed" }).waitFor();
  });

  test("traffic: before and after the first minute", async () => {
    await page.route("**/admin/v1/traffic**", (route) => route.fulfill({ json: { ...HOUR, series: [] } }));
    await go(page, "traffic");
    await page.getByText("The first minute since the start is not over yet.").waitFor();
    await page.unroute("**/admin/v1/traffic**");
    await page.route("**/admin/v1/traffic**", (route) => route.fulfill({ json: HOUR }));
    await page.getByLabel("Time").selectOption("1");
    await page.getByText("Countries that were asked about").waitFor();
    await page.unroute("**/admin/v1/traffic**");
  });

  test("an address that is none of ours, and a server that is away", async () => {
    await go(page, "nowhere");
    expect(await page.locator("main h1").innerText()).toBe("Look up");
    await page.route("**/admin/v1/keys**", (route) => route.abort());
    await page.goto(`${origin}/#/keys`);
    await page.getByRole("alert").filter({ hasText: "The server cannot be reached" }).waitFor();
    await page.unroute("**/admin/v1/keys**");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("table").waitFor();
  });
});

/** Boxes with something in them that has to be scrolled to, runs in the page. */
const widerInside = (boxes: unknown[]) =>
  (boxes as { scrollWidth: number; clientWidth: number; textContent: string }[])
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
    .map(
      ({ scrollWidth, clientWidth, textContent }) =>
        `${scrollWidth} in ${clientWidth}: ${textContent.slice(0, 60)}`,
    );

/** Traffic of an hour, for pictures of charts: a test cannot wait that long. */
const HOUR = {
  hours: 3,
  step_minutes: 1,
  series: Array.from({ length: 60 }, (_, i) => moment(i)),
  total: {
    ...moment(30),
    countries: [
      { iso_code: "US", count: 5100 },
      { iso_code: "DE", count: 900 },
      { iso_code: "BR", count: 410 },
    ],
  },
};

/** What can be the matter with a release. */
const TROUBLE = {
  pinned: "20260101T000003000Z-c0d874cdfc1c",
  missing: ["is_proxy"],
  partial: [{ answer: "is_abuser", why: "without spamhaus-drop-v6" }],
  refused_release: {
    name: "20260102T000003000Z-0123456789ab",
    at: "2026-01-02T00:00:09.000Z",
    reason: "segments/0123.seg: byte 1182: got 0x1, want 0x3",
  },
  update: { running: true, asked: false, last: null },
};

/** One feed in each state. */
const FEEDS = [
  { id: "healthy", state: "loaded", entries: 4_200, history: [4_000, 4_100, 3_900, 4_200] },
  { id: "getting-old", state: "loaded", entries: 310, age_seconds: 20 * 3_600 },
  { id: "too-old", state: "loaded", stale: true, entries: 12, age_seconds: 90 * 3_600, error: "HTTP 503" },
  { id: "changed", state: "loaded", entries: 900, pending: { sha256: "00", why: "9,000 entries, not 900" } },
  { id: "expired", state: "expired", entries: 0, age_seconds: 900 * 3_600, error: "older than 30 days" },
  { id: "refused", state: "refused", entries: 0, error: "1.1.1.0/24 would flag a public resolver" },
  { id: "missing", state: "missing", entries: 0, age_seconds: null },
  {
    id: "away",
    state: "loaded",
    entries: 31,
    error: `publisher: https://lists.with-a-very-long-name.example/a/path/of/${"many/".repeat(9)}parts?and=a,query could not be reached: host not found; last-good: ${"x".repeat(80)}`,
  },
].map((feed) => ({
  title: `What ${feed.id} publishes`,
  homepage: null,
  sets: "is_abuser",
  stale: false,
  age_seconds: 3_600,
  cadence_hours: 6,
  stale_hours: 24,
  error: null,
  pending: null,
  licence: "CC0-1.0",
  attribution: null,
  ...feed,
  history: (feed.history ?? []).map((entries) => ({ entries })),
}));

/** A month of a key. */
const MONTH = {
  from: "2026-01-01",
  to: "2026-01-30",
  usage: Array.from({ length: 30 }, (_, i) => {
    const n = Math.round(4000 + 3000 * Math.sin(i / 3));
    const row = { geolocate: n, reputation: n >> 1, email: n >> 2 };
    const refused = { not_allowed: 0, rate_limited: i > 20 ? n >> 3 : 0, quota_exceeded: i === 29 ? 900 : 0 };
    return {
      at: `2026-01-${String(i + 1).padStart(2, "0")}`,
      ...row,
      total: n + (n >> 1) + (n >> 2),
      refused,
    };
  }),
};

function moment(i: number) {
  const n = Math.round(400 + 300 * Math.sin(i / 9));
  return {
    at: new Date(Date.UTC(2026, 0, 1, 12, i)).toISOString(),
    requests: n,
    statuses: { "2xx": n - 20, "4xx": 18, "5xx": i === 40 ? 12 : 0 },
    lookups: { geolocate: n >> 1, reputation: n >> 2, email: n >> 3 },
    problems: { RATE_LIMITED: 4, IP_ADDRESS_RESERVED: 12 },
    flags_raised: { is_abuser: 5, is_proxy: i % 9, is_tor_exit: 1, disposable: 3 },
    latency_seconds: { p50: 0.0005, p95: 0.001, p99: i === 40 ? null : 0.0025 },
  };
}

describe("looks, on the way from one state to another", () => {
  beforeAll(async () => {
    const dataDir = temporaryFolder();
    for (const n of [1, 2, 3]) smallRelease(dataDir, n);
    await serve(dataDir);
  });

  test.each(LOOKS)(
    "$name: forms that are filled, dialogs, what is shown once, a key's usage",
    async (look) => {
      const page = await logIn(await open(look.context));
      await go(page, "data");
      await page
        .getByRole("button", { name: /What changed/ })
        .first()
        .click();
      await page.getByText(/Abuser: IPv4 addresses 256 more/).waitFor();
      await check(page, "changes", look);
      await page.getByRole("button", { name: "Roll back" }).click();
      await check(page, "dialog", look);
      await page.getByRole("button", { name: "Cancel" }).click();
      await go(page, "keys");
      await page.getByLabel("Name").fill(`checkout, ${look.name}`);
      await page.getByRole("button", { name: "Make key" }).click();
      await page.locator("code.token").waitFor();
      await check(page, "key-once", look);
      await page.route("**/usage?by=day", (route) => route.fulfill({ json: MONTH }));
      await page.getByRole("link", { name: "To this key" }).click();
      await page.locator(".chart").waitFor();
      await check(page, "key", look);
      await go(page, "lookup/81.2.69.142");
      await page.getByRole("button", { name: "Clear Abuser for 81.2.69.142" }).click();
      await check(page, "override-dialog", look);
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.route("**/admin/v1/data", async (route) => {
        const said = await (await route.fetch()).json();
        await route.fulfill({ json: { ...said, ...TROUBLE } });
      });
      await page.route("**/admin/v1/data/feeds", (route) => route.fulfill({ json: { feeds: FEEDS } }));
      await page.route("**/admin/v1/data/update", (route) => route.fulfill({ json: TROUBLE.update }));
      await go(page, "data");
      await page.getByText("An update is running").waitFor();
      await page.getByRole("progressbar", { name: "Update" }).waitFor();
      expect(await page.getByRole("button", { name: "Update now" }).isDisabled()).toBe(true);
      const away = page.locator("small.bad", { hasText: "could not be reached" });
      expect(await away.innerText()).toStartWith(
        "publisher: lists.with-a-very-long-name.example/… could not be reached: host not found;",
      );
      expect(await away.getAttribute("title")).toContain("parts?and=a,query");
      expect(await page.locator(".scroll").evaluateAll(widerInside)).toEqual([]);
      await check(page, "data-troubled", look);
      await page.context().close();
    },
  );

  test.each(LOOKS)("$name: loading, and a server that is away", async (look) => {
    const page = await logIn(await open(look.context));
    await go(page, "lookup");
    await check(page, "start", look);
    await page.route("**/admin/v1/data/feeds", () => {}); // no answer yet
    await page.goto(`${origin}/#/data`);
    await page.locator("main .loading").waitFor();
    await check(page, "loading", look);
    await page.route("**/admin/v1/keys**", (route) => route.abort());
    await page.goto(`${origin}/#/keys`);
    await page.getByRole("alert").waitFor();
    await check(page, "error", look);
    await page.context().close();
  });
});

describe("looks, before there is any data", () => {
  beforeAll(() => serve(temporaryFolder()));

  const EMPTY: readonly [name: string, hash: string, text: string][] = [
    ["data", "data", "No release yet"],
    ["keys", "keys", "No keys yet"],
    ["traffic", "traffic", "The first minute since the start is not over yet."],
    ["overrides", "overrides", "None: the lists alone decide."],
    ["look-up", "lookup/81.2.69.142", "The server has no release of data yet."],
    ["list", "lookup/81.2.69.142%20someone@mailinator.com", "no release of data"],
  ];
  test.each(LOOKS)("$name: every page says what is missing", async (look) => {
    const page = await logIn(await open(look.context));
    await page.route("**/admin/v1/traffic**", (route) => route.fulfill({ json: { ...HOUR, series: [] } }));
    for (const [name, hash, text] of EMPTY) {
      await go(page, hash);
      await page.locator("main").getByText(text).first().waitFor();
      await check(page, `${name}-empty`, look);
    }
    await page.context().close();
  });
});

describeWith([MIRROR], "looks, with the lists of the mirror", () => {
  beforeAll(async () => {
    await serve(await realRelease());
    const page = await logIn(await open());
    await go(page, "keys");
    await page.getByLabel("Name").fill("checkout");
    await page.getByRole("button", { name: "Make key" }).click();
    const key = await page.locator("code.token").innerText();
    for (const ip of ["8.8.8.8", "81.2.69.142", "185.220.101.1"]) {
      const url = `http://127.0.0.1:${server.port}/v1/ip-intel/geolocate/${ip}`;
      await (await fetch(url, { headers: { Authorization: `Bearer ${key}` } })).text();
    }
    await go(page, "overrides");
    await page.getByLabel(/^Address/).fill("192.88.10.0/24");
    await page.getByLabel("Why").fill("a partner's network, until the end of the year");
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByRole("button", { name: /^End the override/ }).waitFor();
    await page.context().close();
  });

  const VIEWS: readonly [name: string, hash: string][] = [
    ["look-up", "lookup/185.220.101.1"],
    ["e-mail", "lookup/jane@gmial.com"],
    ["list", "lookup/81.2.69.142%208.8.8.8%20someone@mailinator.com%2010.0.0.1"],
    ["data", "data"],
    ["keys", "keys"],
    ["traffic", "traffic"],
    ["overrides", "overrides"],
  ];
  test.each(LOOKS)("$name: nothing for axe to find, nothing wider than the window", async (look) => {
    const page = await open(look.context);
    await page.getByLabel("Admin token").waitFor();
    await check(page, "log-in", look);
    await logIn(page);
    await page.route("**/admin/v1/traffic**", (route) => route.fulfill({ json: HOUR }));
    for (const [name, hash] of VIEWS) {
      await go(page, hash);
      if (hash.startsWith("lookup/")) await page.locator("main h2, main table").first().waitFor();
      if (name === "look-up") await page.locator(".map svg").waitFor();
      await check(page, name, look);
    }
    await page.context().close();
  });

  test("the keyboard alone: skip link, pages, a look-up", async () => {
    const page = await logIn(await open());
    await go(page, "data");
    await page.reload();
    await page.getByRole("table").first().waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to the page");
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Look up");
    await page.keyboard.press("Enter");
    await page.locator("textarea:focus").waitFor();
    await page.keyboard.type("81.2.69.142");
    await page.keyboard.press("Enter");
    await page.getByText("81.2.69.142 is in ").waitFor();
    await page.context().close();
  });
});

test("no script failed, and no other host was asked", () => expect(faults).toEqual([]));
