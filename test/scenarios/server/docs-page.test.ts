// Tests the reference page, /docs, and the errors, /docs/errors, in a real Chromium against a real server.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { faultsOf, LOOKS, launchBrowser, openPage, picture } from "../../harness/browser.ts";
import { smallCity } from "../../harness/release.ts";
import { type SmallServer, startSmallServer } from "../../harness/server.ts";

let browser: Browser;
let small: SmallServer;
/** Errors in any page. */
const faults: string[] = [];

beforeAll(async () => {
  small = await startSmallServer();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser.close();
  await small.server.stop();
});

/** A name under which no page is treated as local: Swagger UI has its publisher check documents of other hosts. */
const PUBLIC_NAME = "http://inkling.example";

async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await openPage(browser, options, faults, (asked) => asked === PUBLIC_NAME);
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().includes("401 (Unauthorized)"))
      faults.push(message.text());
  });
  page.setDefaultTimeout(100_000); // opening an operation takes two seconds of CPU time, and draws 9,000 nodes
  await page.route(`${PUBLIC_NAME}/**`, async (route) => {
    const url = route.request().url().replace(PUBLIC_NAME, small.origin);
    await route.fulfill({ response: await route.fetch({ url }) });
  });
  await page.goto(PUBLIC_NAME + path);
  return page;
}

const operation = (page: Page, id: string) => page.locator(`[id$="-${id}"].opblock`);

async function enterKey(page: Page, key: string): Promise<void> {
  await page.getByRole("button", { name: "Authorize" }).click();
  const dialog = page.locator(".dialog-ux");
  await dialog.locator("#auth-bearer-value").fill(key);
  await dialog.getByRole("button", { name: "Apply credentials" }).first().click();
  await dialog.getByRole("button", { name: "Close" }).first().click();
}

describe("the reference", () => {
  let page: Page;
  beforeAll(async () => {
    page = await open("/docs");
  });
  afterAll(() => page.context().close());

  test("with the keyboard alone: opens an operation, and sends it", async () => {
    const status = operation(page, "status");
    await status.locator("button").first().focus();
    await page.keyboard.press("Enter");
    await status.getByRole("button", { name: "Execute" }).focus();
    await page.keyboard.press("Enter");
    await status.locator(".live-responses-table").getByText('"KEY_MISSING"').waitFor();
  });

  test("shows an operation with its parameters, answers and problems, and sends it with a key", async () => {
    await enterKey(page, small.keys.live);
    const geolocate = operation(page, "geolocate");
    await geolocate.locator("button").first().click();
    await geolocate.locator("[data-param-name=ip] input").fill("81.2.69.142");
    const shown = await geolocate.innerText();
    for (const part of ["Locate an IP address", "include", "an ordinary visitor", "DATA_NOT_LOADED"])
      expect(shown).toContain(part);
    await geolocate.getByRole("button", { name: "Execute" }).click();
    await geolocate.locator(".live-responses-table").getByText(smallCity(1)).waitFor();
    expect(await page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length")).toBe(
      0,
    );
  });
});

/** What axe finds in Swagger UI itself. */
const OF_THE_LIBRARY = ["color-contrast", "heading-order", "nested-interactive", "region", "select-name"];

describe.each(LOOKS)("$name", ({ name, context }) => {
  test("the reference follows the colours of the system, and axe finds only faults of the library", async () => {
    const page = await open("/docs", context);
    await operation(page, "geolocate").waitFor();
    const isDark = await page.evaluate("document.documentElement.classList.contains('dark-mode')");
    expect(isDark).toBe(context.colorScheme === "dark");
    await picture(page, `docs-${name}`, "window");
    const found = (await faultsOf(page, name)) as string[][];
    expect(found.filter(([, rule]) => !OF_THE_LIBRARY.includes(rule!))).toEqual([]);
    await page.context().close();
  });

  test("the link of a problem leads to its row, and axe finds nothing", async () => {
    const page = await open("/docs/errors#rate_limited", context);
    expect(await page.locator(":target").innerText()).toStartWith("RATE_LIMITED");
    await picture(page, `docs-errors-${name}`, "window");
    expect(await faultsOf(page, name)).toEqual([]);
    await page.context().close();
  });
});

test("the errors are styled under their own policy", async () => {
  const page = await open("/docs/errors#rate_limited");
  expect(await page.evaluate("getComputedStyle(document.querySelector(':target')).outlineStyle")).toBe(
    "solid",
  );
  await page.context().close();
});

test("no script failed, nothing was blocked, and no other host was contacted", () =>
  expect(faults).toEqual([]));
