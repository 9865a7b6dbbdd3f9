// Tests the reference page, /docs, in a real Chromium against a real server. It contacts no other host, and its
// requests work.
//
// out  screenshots/docs-*: the page in light and dark, at the width of a desktop and of a phone

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { faultsOf, LOOKS, launchBrowser, openPage, PHONE, picture } from "../../harness/browser.ts";
import { smallCity } from "../../harness/release.ts";
import { type SmallServer, startSmallServer } from "../../harness/server.ts";

let browser: Browser;
let origin: string;
let keys: SmallServer["keys"];
const closers: (() => Promise<unknown>)[] = [];
/** Errors in any page. */
const faults: string[] = [];

beforeAll(async () => {
  const started = await startSmallServer();
  ({ origin, keys } = started);
  closers.push(() => started.server.stop());
  browser = await launchBrowser();
  closers.push(() => browser.close());
});
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

async function open(path = "/docs", options: BrowserContextOptions = {}): Promise<Page> {
  const page = await openPage(browser, options, faults, (asked) => asked === origin);
  await page.goto(`${origin}${path}`);
  await page.locator("#geolocate").waitFor();
  return page;
}

/**
 * Sends an operation's form.
 * @returns what the page shows of the response
 */
async function send(page: Page, operation: string): Promise<string> {
  const section = page.locator(`#${operation}`);
  await section.getByRole("button", { name: "Send" }).click();
  const result = section.locator("form [role=status]");
  await result.locator("p .good, p .bad, p.bad").first().waitFor();
  return result.innerText();
}

describe("a request", () => {
  let page: Page;
  beforeAll(async () => {
    page = await open();
  });
  afterAll(() => page.context().close());

  test("without a key, and with a wrong one: the problem, and what it means", async () => {
    expect(await send(page, "geolocate")).toMatch(/^401 Unauthorized in \d+ ms: KEY_MISSING/);
    await page.getByLabel("Your key").fill(`${keys.live.slice(0, -1)}${keys.live.endsWith("0") ? "1" : "0"}`);
    await page.locator("#geolocate input[name=ip]").fill("81.2.69.142");
    const shown = await send(page, "geolocate");
    expect(shown).toMatch(/^401 Unauthorized in \d+ ms: KEY_INVALID/);
    expect(shown).toContain('"code": "KEY_INVALID"');
    await page.locator("#geolocate").getByRole("link", { name: "KEY_INVALID" }).click();
    expect(await page.evaluate("document.querySelector(':target').id")).toBe("key_invalid");
  });

  test("with a key that no header can hold", async () => {
    await page.getByLabel("Your key").fill("ink_live_…");
    expect(await send(page, "geolocate")).toMatch(/^No response: .*the key is plain text\.$/);
  });

  test("a form starts with an example of the sandbox; with a live key, which would be refused, it is empty", async () => {
    const field = page.locator("#geolocate input[name=ip]");
    await field.fill("");
    const own = page.locator("#reputation input[name=ip]");
    await own.fill("81.2.69.142");
    await page.getByLabel("Your key").fill(keys.test);
    expect(await field.inputValue()).toBe("192.0.2.1");
    expect(await send(page, "geolocate")).toMatch(/^200 /);
    await page.getByLabel("Your key").fill(keys.live);
    expect(await field.inputValue()).toBe("");
    expect(await page.locator("#geolocate").getByLabel("As a curl line").innerText()).toEndWith(
      "/geolocate/'",
    );
    await page.locator("#geolocate").getByRole("button", { name: "Send" }).click(); // the browser asks for a value
    expect(
      await field.evaluate(
        (input) => (input as unknown as { validity: { valueMissing: boolean } }).validity.valueMissing,
      ),
    ).toBe(true);
    // from the earlier request
    expect(await page.locator("#geolocate form [role=status]").innerText()).toMatch(/^200 /);
    expect(await own.inputValue()).toBe("81.2.69.142");
    await page.getByLabel("Your key").fill(keys.test);
    expect(await field.inputValue()).toBe("192.0.2.1");
  });

  test("an example of the sandbox with a live key is explained", async () => {
    await page.getByLabel("Your key").fill(keys.live);
    await page.locator("#geolocate").getByLabel("Examples of ip").selectOption({ index: 1 });
    const shown = await send(page, "geolocate");
    expect(shown).toMatch(/^400 Bad Request in \d+ ms: IP_ADDRESS_RESERVED/);
    await page.getByText("This value is an example for sandbox keys").waitFor();
  });

  test("with a key: the answer, and its headers", async () => {
    await page.getByLabel("Your key").fill(keys.live);
    await page.locator("#geolocate input[name=ip]").fill("81.2.69.142");
    const shown = await send(page, "geolocate");
    expect(shown).toMatch(/^200 OK in \d+ ms\n/);
    expect(shown).toContain(`"name": "${smallCity(1)}"`);
    await page.locator("#geolocate").getByText("Response headers").click();
    expect(await page.locator("#geolocate form [role=status]").innerText()).toContain(
      "inkling-data-version: ",
    );
  });

  test.skipIf(!Bun.which("curl"))("the curl line sends the same request, without the key", async () => {
    const section = page.locator("#reputation");
    await section.locator("input[name=ip]").fill("81.2.69.142");
    await section.locator("input[name=include]").fill("evidence");
    const line = await section.getByLabel("As a curl line").innerText();
    expect(line).toBe(
      `curl -H "Authorization: Bearer $KEY" '${origin}/v1/ip-intel/reputation/81.2.69.142?include=evidence'`,
    );
    const env = { ...process.env, KEY: keys.live };
    const child = Bun.spawn(["sh", "-c", line], { env, stderr: "ignore" });
    const printed = JSON.parse(await new Response(child.stdout).text());
    expect(await send(page, "reputation")).toContain(JSON.stringify(printed, null, 2));
  });

  test("every example of the sandbox gets the response that it names", async () => {
    await page.getByLabel("Your key").fill(keys.test);
    const section = page.locator("#reputation");
    await section.locator("input[name=include]").fill("");
    const choice = section.getByLabel("Examples of ip");
    const examples = await choice.locator("option").allInnerTexts();
    expect(examples.length).toBeGreaterThan(10);
    for (const [i, example] of examples.entries()) {
      if (i === 0) continue; // the option "Examples …"
      await choice.selectOption({ index: i });
      const code = /Sandbox: ([A-Z_]+)$/.exec(example)?.[1];
      const shown = await send(page, "reputation");
      if (code === undefined) expect([example, shown]).toEqual([example, expect.stringMatching(/^200 /)]);
      else expect([example, shown]).toEqual([example, expect.stringContaining(`"code": "${code}"`)]);
    }
  });

  test("many values, as JSON and line by line", async () => {
    expect(await send(page, "reputation_batch")).toContain('"answers": [');
    const section = page.locator("#reputation_batch");
    await section.getByLabel("Content-Type").selectOption("application/x-ndjson");
    await section.getByRole("textbox", { name: "Body" }).fill('"198.51.100.1"\n"nonsense"\n');
    const shown = await send(page, "reputation_batch");
    expect(shown).toMatch(/^200 OK/);
    expect(shown).toContain('{"is_abuser":');
    expect(shown).toContain('"code":"IP_ADDRESS_INVALID"');
  });

  test("the key stays in its field: hidden, and in no storage", async () => {
    const field = page.getByLabel("Your key");
    expect(await field.getAttribute("type")).toBe("password");
    await page.getByLabel("show").check();
    expect(await field.getAttribute("type")).toBe("text");
    expect(await page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length")).toBe(
      0,
    );
    expect(await page.locator("main").innerText()).not.toContain(keys.test);
  });

  test("text is never read as HTML", async () => {
    await page.locator("#email input[name=email_address]").fill('"<img/src=x>"@<b>x</b>');
    await send(page, "email");
    expect(await page.locator("main img, main b").count()).toBe(0);
  });
});

test("a link to an error leads to its row", async () => {
  const page = await open("/docs/errors#rate_limited");
  await page.locator("#rate_limited:target").waitFor();
  await page.context().close();
});

test("on a phone the list of operations opens on request, and closes behind a choice", async () => {
  const page = await open("/docs", { viewport: PHONE });
  const link = page.getByRole("navigation").getByRole("link", { name: "Errors" });
  expect(await link.isVisible()).toBe(false);
  await page.getByText("Operations", { exact: true }).click();
  await link.click();
  await link.waitFor({ state: "hidden" });
  expect(new URL(page.url()).hash).toBe("#errors");
  await page.context().close();
});

test("an unreadable /openapi.json is reported", async () => {
  const page = await openPage(browser, {}, faults, (asked) => asked === origin);
  await page.route("**/openapi.json", (route) => route.fulfill({ status: 503 }));
  await page.goto(`${origin}/docs`);
  await page.getByRole("alert").filter({ hasText: "/openapi.json cannot be read: status 503" }).waitFor();
  await page.context().close();
});

test("the keyboard alone: skip link, key, a request", async () => {
  const page = await open();
  await page.keyboard.press("Tab");
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to the operations");
  await page.keyboard.press("Tab");
  await page.keyboard.type(keys.test);
  await page.locator("#reputation input[name=ip]").focus();
  await page.keyboard.press("Enter");
  await page.locator("#reputation form [role=status] .good").waitFor();
  await page.context().close();
});

describe("looks", () => {
  for (const look of LOOKS) {
    // axe takes seconds, so it runs only once, on the page with responses shown and everything opened, which
    // has all elements.
    test(`${look.name}: axe finds nothing, and nothing is wider than the window`, async () => {
      const page = await open("/docs", look.context);
      const keep = (name: string, of: "window" | Locator) => picture(page, `${name}-${look.name}`, of);
      await keep("docs", "window");
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
      await page.getByLabel("Your key").fill(keys.test);
      await send(page, "geolocate");
      await keep("docs-response", page.locator("#geolocate"));
      await send(page, "geolocate_batch");
      await keep("docs-batch", page.locator("#geolocate_batch"));
      await page.locator("#email input[name=email_address]").fill("jane@rate-limited.example");
      await send(page, "email");
      await keep("docs-problem", page.locator("#email"));
      await keep("docs-errors", page.locator("#errors"));
      await page.locator("details").evaluateAll((all) => {
        for (const one of all) (one as unknown as { open: boolean }).open = true;
      });
      expect(await faultsOf(page, "all opened")).toEqual([]);
      await keep("docs-schemas", page.locator("#schemas"));
      await page.context().close();
    });
  }
});

test("no script failed, nothing was blocked, and no other host was contacted", () =>
  expect(faults).toEqual([]));
