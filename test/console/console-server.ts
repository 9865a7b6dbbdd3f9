// console-server.ts: provides a real server with a console, a real Chromium, and helpers for tests that use both.

import { expect } from "bun:test";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { dataActions, FreshData } from "../../packages/cli/src/runtime/keep-fresh.ts";
import { openConsole } from "../../packages/console/src/files.ts";
import { formSchemas } from "../../packages/operations/src/form-schemas.ts";
import { type ServerOptions, startServer } from "../../packages/server/src/run/server.ts";
import { openStore } from "../../packages/store/src/store.ts";
import { DESK, faultsOf, openPage, PHONE, picture } from "../harness/browser.ts";
import { testServerOptions } from "../harness/server-options.ts";

export interface ConsoleServer {
  /** Origin of the admin listener. */
  readonly origin: string;
  /** Origin of the public API. */
  readonly api: string;
  readonly token: string;
  readonly paths: readonly string[];
  stop(): Promise<unknown>;
}

const noBuild = () => Promise.reject(new Error("this server builds nothing"));

export async function startConsole(
  dataDir: string,
  options: Partial<ServerOptions> = {},
): Promise<ConsoleServer> {
  const databaseUrl = `sqlite://${join(dataDir, "inkling.db")}`;
  const store = await openStore(databaseUrl);
  const token = (await store.adminToken.create({ author: "test", source: "cli" }))!; // a new database has no admin token
  await store.close();
  const files = await openConsole(formSchemas());
  const server = await startServer({
    ...testServerOptions(dataDir),
    ...options,
    actions: async () => dataActions(new FreshData(dataDir, noBuild), { feed: [], dataDir }),
    console: async (request, path) => files.serve(request, path),
  });
  return {
    origin: `http://127.0.0.1:${server.adminPort}`,
    api: `http://127.0.0.1:${server.port}`,
    token,
    paths: files.paths,
    stop: () => server.stop(),
  };
}

/** One browser's pages, connected to one server. */
export class ConsoleBrowser {
  readonly browser: Browser;
  readonly server: ConsoleServer;
  /** Faults in any page: script errors, blocked by the policy, requests to other hosts. */
  readonly faults: string[] = [];

  constructor(browser: Browser, server: ConsoleServer) {
    this.browser = browser;
    this.server = server;
  }

  async open(options: BrowserContextOptions = {}): Promise<Page> {
    const { origin } = this.server;
    const still = { reducedMotion: "reduce", ...options } as const;
    const page = await openPage(this.browser, still, this.faults, (asked) => asked === origin);
    await page.goto(origin);
    return page;
  }

  async logIn(page: Page): Promise<Page> {
    await page.getByLabel("Admin token").fill(this.server.token);
    await page.getByLabel("Your name").fill("ada");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("button", { name: "Log out" }).waitFor();
    return page;
  }

  /** @param hash the page's name, such as "keys" */
  async go(page: Page, hash: string): Promise<void> {
    await page.goto(`${this.server.origin}/#/${hash}`);
    await page.locator("main h1").waitFor();
    await page.locator("main .loading").first().waitFor({ state: "detached" });
  }
}

export const textOf = (page: Page) => page.locator("main").innerText();
export const waitForMessage = (page: Page, text: string) =>
  page.locator("#messages").getByText(text).first().waitFor();
export const focusedText = (page: Page) => page.evaluate("document.activeElement.textContent");

const editorOf = (page: Page) => page.getByLabel("Ruleset", { exact: true });

/**
 * Replaces the text in the rules' editor, as pasting does. Playwright's `fill` inserts styles, which the policy blocks.
 */
export async function writeRuleset(page: Page, text: string): Promise<void> {
  await editorOf(page).press("Control+a");
  await page.evaluate(
    `{
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", ${JSON.stringify(text)});
      let focused = document.activeElement;
      while (focused.shadowRoot) focused = focused.shadowRoot.activeElement;
      focused.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    }`,
  );
}

/** Returns the text in the rules' editor. */
export const readRuleset = async (page: Page) =>
  (await editorOf(page).locator(".cm-line").allTextContents()).join("\n");

/** Clicks a button and confirms the dialog that it opens. */
export async function confirm(page: Page, button: string | RegExp, action: string): Promise<void> {
  await page.getByRole("button", { name: button, exact: typeof button === "string" }).click();
  const dialog = page.getByRole("dialog");
  const { y, height } = (await dialog.boundingBox())!; // it has just been opened
  expect(Math.abs(2 * y + height - page.viewportSize()!.height)).toBeLessThan(4); // vertically centred
  await dialog.getByRole("button", { name: action, exact: true }).click();
}

export const DEVICES = [
  { device: "desk", viewport: DESK },
  { device: "phone", viewport: PHONE },
] as const;

/**
 * Takes pictures of a page in both color schemes. Expects no findings from axe, and nothing wider than the
 * window.
 */
export async function expectGoodLooks(page: Page, name: string, device: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await picture(page, `${name}-${colorScheme}-${device}`, "page");
    // only this rule depends on the color scheme
    const rules = colorScheme === "dark" ? ["color-contrast"] : undefined;
    expect(await faultsOf(page, `${name}, ${colorScheme}`, rules)).toEqual([]);
  }
}
