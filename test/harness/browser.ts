// browser.ts: launches and watches a real Chromium for tests, and checks pages.

import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import chromium from "@sparticuz/chromium";
import {
  type Browser,
  type BrowserContextOptions,
  type Locator,
  type Page,
  chromium as playwright,
} from "playwright-core";
import { once } from "./once.ts";
import { FULL, share } from "./share.ts";

const SHOTS = resolve(import.meta.dir, "../../screenshots");
const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");
export const DESK = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 800 };

const ALL_LOOKS = (["light", "dark"] as const).flatMap((colorScheme) =>
  Object.entries({ desk: DESK, phone: PHONE }).map(([device, viewport]) => ({
    name: `${colorScheme}-${device}`,
    // The test injects axe into the page, which the pages' own policy forbids.
    context: { colorScheme, viewport, bypassCSP: true } satisfies BrowserContextOptions,
  })),
);

/** The combinations in which a page is checked. By default, each colour and each device occurs once. */
export const LOOKS = share(
  ALL_LOOKS,
  ALL_LOOKS.filter(({ name }) => name === "light-desk" || name === "dark-phone"),
);

/**
 * Flags of the package that tests must not use. The first three weaken the separation of pages. The others draw with a
 * software GPU, which takes several times the CPU time of drawing without one.
 */
const NEEDLESS = [
  "--single-process",
  "--no-zygote",
  "--disable-web-security",
  "--ignore-gpu-blocklist",
  "--in-process-gpu",
  "--use-gl=angle",
  "--use-angle=swiftshader",
  "--enable-unsafe-swiftshader",
];

/**
 * Unpacks Chromium (200 MB) for all processes. A separate process unpacks it into its own temporary folder.
 */
async function unpackChromium(folder: string): Promise<void> {
  const script = 'await (await import("@sparticuz/chromium")).default.executablePath()';
  const child = Bun.spawn([process.execPath, "-e", script], {
    cwd: import.meta.dir,
    env: { ...process.env, TMPDIR: folder },
    stdio: ["ignore", "inherit", "inherit"],
  });
  if ((await child.exited) !== 0) throw new Error("Chromium could not be unpacked");
}

export async function launchBrowser(): Promise<Browser> {
  const program = dirname(fileURLToPath(import.meta.resolve("@sparticuz/chromium")));
  const folder = await once("chromium", [join(program, "../package.json")], unpackChromium);
  return playwright.launch({
    executablePath: join(folder, "chromium"),
    args: [
      ...chromium.args.filter((arg) => !NEEDLESS.includes(arg)),
      "--no-sandbox",
      "--disable-background-networking",
      "--disable-gpu",
    ],
    headless: true,
  });
}

/**
 * Opens a page in its own context.
 * @param faults receives the page's faults: script errors, violations of its policy, requests to other hosts
 * @param isOurs whether a page may send requests to this origin
 */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions,
  faults: string[],
  isOurs: (origin: string) => boolean,
): Promise<Page> {
  const context = await browser.newContext({ viewport: DESK, ...options });
  const page = await context.newPage();
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => {
    if (/Content Security Policy/i.test(message.text())) faults.push(message.text());
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!/^(blob|data):/.test(url) && !isOurs(new URL(url).origin)) faults.push(`asked ${url}`);
  });
  return page;
}

/** Takes a picture of the whole page, of the visible part, or of an element. */
export async function picture(page: Page, name: string, of: "page" | "window" | Locator): Promise<void> {
  if (!FULL) return;
  mkdirSync(SHOTS, { recursive: true });
  const path = join(SHOTS, `${name}.png`);
  if (typeof of === "string") await page.screenshot({ path, fullPage: of === "page" });
  else await of.screenshot({ path });
}

/**
 * Returns what axe finds in a page, and whether the page is wider than the window. Empty if there is no
 * fault.
 * @param rules the rules that axe checks; all by default
 */
export async function faultsOf(page: Page, name: string, rules?: readonly string[]): Promise<unknown[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(AXE);
  // Otherwise, axe also describes every element that passes.
  const options = { resultTypes: ["violations"], ...(rules !== undefined && { runOnly: rules }) };
  // biome-ignore lint/suspicious/noExplicitAny: axe has put itself into the page
  const { violations } = await page.evaluate((given) => (globalThis as any).axe.run(given), options);
  const found = violations.map((violation: { id: string; nodes: { target: string[] }[] }) => [
    name,
    violation.id,
    ...violation.nodes.map(({ target }) => target.join(" ")),
  ]);
  const excess = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
  return excess === 0 ? found : [...found, [name, "wider than the window", excess]];
}
