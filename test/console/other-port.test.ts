// other-port.test.ts: tests an attack from another port, because browsers send cookies to every port of a host. A
// program on another port therefore gets the console's cookie, and can set cookies with the same name. It must not
// become an admin with the cookie, nor lock the admin out with its own cookies.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { launchBrowser } from "../harness/browser.ts";
import { fetch } from "../harness/checked-fetch.ts";
import { smallRelease, temporaryFolder } from "../harness/release.ts";
import { ConsoleBrowser, type ConsoleServer, startConsole } from "./console-server.ts";

let server: ConsoleServer;
let tabs: ConsoleBrowser;
let page: Page;
/**
 * A server on another port of the same host. It keeps the cookies it receives, and sets the cookies that a test needs.
 */
let other: Bun.Server<undefined>;
let taken = "";
/** Name of the console's cookie. */
let cookieName = "";
let planted: readonly string[] = [];

beforeAll(async () => {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  server = await startConsole(dataDir);
  cookieName = `inkling_admin_${new URL(server.origin).port}`;
  other = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      taken = request.headers.get("cookie") ?? "";
      const headers = new Headers({ "Content-Type": "text/html" });
      for (const cookie of planted) headers.append("Set-Cookie", cookie);
      return new Response("<title>other</title>", { headers });
    },
  });
  tabs = new ConsoleBrowser(await launchBrowser(), server);
  page = await tabs.logIn(await tabs.open());
});
afterAll(async () => {
  await tabs?.browser.close();
  await other?.stop(true);
  await server?.stop();
});

/** Opens the other port in a tab of the same browser, below the path of the console's cookie. */
async function visitOther(): Promise<Page> {
  const tab = await page.context().newPage();
  await tab.goto(`http://127.0.0.1:${other.port}/admin/v1/`);
  return tab;
}

const KEY = JSON.stringify({ name: "stolen" });

describe("a program on another port", () => {
  test("that got the cookie can neither read nor make a key", async () => {
    await (await visitOther()).close();
    expect(taken).toContain(`${cookieName}=`); // otherwise this test proves nothing
    const secrets = [undefined, "", "1", "a".repeat(43), taken.split(`${cookieName}=`)[1]!.slice(0, 43)];
    for (const secret of secrets) {
      const headers = {
        Cookie: taken,
        Origin: server.origin,
        "Sec-Fetch-Site": "same-origin",
        ...(secret !== undefined && { "Inkling-Console": secret }),
      };
      const read = await fetch(`${server.origin}/admin/v1/keys`, { headers });
      const made = await fetch(`${server.origin}/admin/v1/keys`, { method: "POST", headers, body: KEY });
      const refused = secret ? 401 : 403;
      expect([secret, read.status, made.status]).toEqual([secret, refused, refused]);
    }
  });

  test("whose page sends requests with the cookie is refused", async () => {
    const tab = await visitOther();
    const sent = await tab.evaluate(
      `fetch(${JSON.stringify(`${server.origin}/admin/v1/keys`)}, {
        method: "POST", mode: "no-cors", credentials: "include", body: ${JSON.stringify(KEY)},
      }).then(() => "sent", String)`,
    );
    expect(sent).toBe("sent");
    expect(await tab.evaluate("Object.keys(localStorage)")).toEqual([]); // the secret is bound to the port
    await tab.close();
    const authorization = { Authorization: `Bearer ${server.token}` };
    const keys = await fetch(`${server.origin}/admin/v1/keys`, { headers: authorization });
    expect(await keys.json()).toMatchObject({ keys: [] });
  });

  test("that plants cookies with a longer path does not lock the admin out", async () => {
    planted = [
      `${cookieName}=planted; Path=/admin/v1/`,
      `${cookieName}=${"b".repeat(43)}; Path=/admin/v1/keys`,
      `${cookieName}=; Path=/admin/v1/data`,
    ];
    await (await visitOther()).close();
    planted = [];
    const cookies = await page.context().cookies(`${server.origin}/admin/v1/keys`);
    // the console's cookie is one of them
    expect(cookies.filter(({ name }) => name === cookieName)).toHaveLength(3);
    for (const hash of ["keys", "data", "overrides"]) await tabs.go(page, hash);
    await page.getByRole("navigation").waitFor();
  });
});

describe("the session", () => {
  test("is that of a second tab, too, and of a tab that is loaded again", async () => {
    const second = await page.context().newPage();
    await second.goto(`${server.origin}/#/keys`);
    await second.getByRole("heading", { name: "Keys", exact: true }).waitFor();
    await second.reload();
    await second.getByRole("heading", { name: "Keys", exact: true }).waitFor();
    await second.close();
  });

  test("leaves no secret behind when it is logged out", async () => {
    const own = await tabs.logIn(await tabs.open());
    expect(await own.evaluate("localStorage.length")).toBe(1);
    await own.getByRole("button", { name: "Log out" }).click();
    await own.getByLabel("Admin token").waitFor();
    expect(await own.evaluate("localStorage.length")).toBe(0);
    await own.context().close();
  });
});
