// Tests how the console shows a Tor exit of the real feeds. With --full, it takes the picture of docs/console.png.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { ConsoleBrowser, type ConsoleServer, startConsole } from "../console/console-server.ts";
import { launchBrowser, picture } from "../harness/browser.ts";
import { mirrorRelease } from "../harness/data-folders.ts";

let server: ConsoleServer;
let tabs: ConsoleBrowser;
beforeAll(async () => {
  server = await startConsole(await mirrorRelease());
  tabs = new ConsoleBrowser(await launchBrowser(), server);
}, 300_000);
afterAll(async () => {
  await tabs?.browser.close();
  await server?.stop();
});

test("a Tor exit's place, flags and feeds, as in the README's picture", async () => {
  const page = await tabs.open({ viewport: { width: 1280, height: 1260 } });
  // The mirror lacks feeds that a server with internet access has.
  await page.route("**/admin/v1/data/feeds", async (route) => {
    const { feeds, ...rest } = (await (await route.fetch()).json()) as { feeds: { state: string }[] };
    await route.fulfill({ json: { ...rest, feeds: feeds.filter(({ state }) => state === "loaded") } });
  });
  await tabs.logIn(page);
  await tabs.go(page, "lookup/185.220.101.1");
  await page.getByRole("heading", { name: "Flagged as a proxy or VPN and a Tor exit" }).waitFor();
  await page.getByRole("heading", { name: "185.220.101.1: Berlin, Germany" }).waitFor();
  await page.locator(".zoom svg").waitFor();
  const evidence = page.getByRole("table").filter({ hasText: "sets Tor exit" });
  expect(await evidence.innerText()).toContain("tor-bulk-exits");
  await picture(page, "console", "window");
  expect(tabs.faults).toEqual([]);
});
