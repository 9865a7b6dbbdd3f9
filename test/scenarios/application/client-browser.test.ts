// Tests @inkling/client in a page, in a real Chromium, against a real server: as packages/client/MIDDLEWARE.md
// describes, and from another origin.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { launchBrowser, openPage } from "../../harness/browser.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { installClient } from "../../harness/published-packages.ts";
import { SMALL_NETWORK, smallCity, smallDomain, temporaryFolder } from "../../harness/release.ts";
import { type SmallServer, startSmallServer } from "../../harness/server.ts";

const project = temporaryFolder();
const BUILT = join(project, "node_modules/@inkling/client/dist");
const ADDRESS = SMALL_NETWORK.replace("0/24", "142");
const closers: (() => Promise<unknown>)[] = [];
/** Faults in any page. */
const faults: string[] = [];
let inkling: SmallServer;
let browser: Browser;
/** The application's origin. */
let site: string;
/** The requests to its /inkling path, with their statuses. */
const passed: { request: string; authorization: string | null; status: number }[] = [];

/** Looks up one value of each kind and then many, and shows the results. The URL's fragment configures it. */
const PAGE_SCRIPT = `
import { denies, Inkling, InklingError, Unavailable } from "/client/index.js";

const { url, key, values, clockMs = 0 } = JSON.parse(decodeURIComponent(location.hash.slice(1)));
const clock = { ms: 0 };
const inkling = new Inkling({ url: new URL(url, location.href), key, retries: 0, timeoutMs: 60_000 }, { now: () => Date.now() + clock.ms });
const show = (id, value) => {
  const row = document.createElement("pre");
  row.id = id;
  row.textContent = JSON.stringify(value);
  document.body.append(row);
};
const outcome = async (work) => {
  try {
    return (await work) ?? null;
  } catch (error) {
    if (!(error instanceof InklingError)) return String(error);
    return { code: error.code, hint: error.hint };
  }
};

show("geolocate", await outcome(inkling.geolocate(values.address)));
show("reputation", await outcome(inkling.reputation(values.address, { evidence: true })));
show("email", await outcome(inkling.email(values.email)));
show("wrong", await outcome(inkling.reputation("10.0.0.1")));
const reason = new DOMException("the visitor left", "AbortError");
show("aborted", await outcome(inkling.email(values.email, { signal: AbortSignal.abort(reason) })));
const results = [];
try {
  for await (const { value, ok, answer, error } of inkling.batch("geolocate", values.many, { size: 100 }))
    results.push(ok ? [value, answer?.city.name ?? null] : [value, error.code]);
  show("batch", results);
} catch (error) {
  show("batch", { code: error.code });
}
clock.ms = clockMs;
show("again", await outcome(inkling.geolocate(values.address)));
const away = new Inkling({ url: new URL("/nowhere", location.href), key, retries: 0, onUnavailable: "deny" });
const nothing = await away.reputation(values.address);
show("away", [nothing instanceof Unavailable, denies(nothing, (it) => it.is_abuser)]);
show("done", true);
`;

/** The pages' policy: scripts only from their own origin. */
const CONTENT_SECURITY_POLICY = "default-src 'none'; script-src 'self'; connect-src *";

const FILE = /^\/client\/([\w-]+\.js)$/;

/**
 * Answers requests for a site with pages. /inkling adds the key for users who are logged in; /open passes the page's
 * own key on.
 */
async function answer(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  if (pathname === "/") {
    return new Response(
      '<!doctype html><title>visitors</title><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>',
      {
        headers: {
          "Content-Type": "text/html",
          "Content-Security-Policy": `${CONTENT_SECURITY_POLICY}; img-src data:`,
          "Set-Cookie": "staff=yes; HttpOnly; SameSite=Strict",
        },
      },
    );
  }
  const script = { headers: { "Content-Type": "text/javascript" } };
  if (pathname === "/page.js") return new Response(PAGE_SCRIPT, script);
  const [, file] = FILE.exec(pathname) ?? [];
  if (file !== undefined) return new Response(Bun.file(join(BUILT, file)), script);
  const [, way, rest] = /^\/(inkling|open)(\/.*)$/.exec(pathname) ?? [];
  if (way === undefined) return new Response("no such page", { status: 404 });
  const headers = new Headers(request.headers);
  const authorization = headers.get("authorization");
  if (way === "inkling") {
    if (!headers.get("cookie")?.includes("staff=yes")) return new Response("log in", { status: 403 });
    headers.set("Authorization", `Bearer ${inkling.keys.live}`);
  }
  headers.delete("cookie");
  const body = request.method === "POST" ? await request.text() : undefined;
  const given = await globalThis.fetch(inkling.origin + rest + search, {
    method: request.method,
    headers,
    decompress: false,
    ...(body !== undefined && { body }),
  });
  passed.push({ request: `${request.method} ${rest}${search}`, authorization, status: given.status });
  return new Response(given.status === 304 ? null : await given.arrayBuffer(), {
    status: given.status,
    headers: given.headers,
  });
}

beforeAll(async () => {
  [inkling] = await Promise.all([startSmallServer(), installClient(project)]);
  closers.push(() => inkling.server.stop());
  const pages = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
  closers.push(() => pages.stop(true));
  site = `http://127.0.0.1:${pages.port}`;
  browser = await launchBrowser();
  closers.push(() => browser.close());
});
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

const VALUES = {
  address: ADDRESS,
  email: `someone@${smallDomain(1)}`,
  many: Array.from({ length: 250 }, (_, i) => (i === 7 ? "nonsense" : `81.2.${69 + (i % 2)}.${i}`)),
};

/** Opens the page and waits until its script has finished. */
async function pageWith(options: { url: string; key: string | null; clockMs?: number }): Promise<Page> {
  const isOurs = (origin: string) => origin === site || origin === inkling.origin;
  const page = await openPage(browser, {}, faults, isOurs);
  await page.goto(`${site}/#${encodeURIComponent(JSON.stringify({ ...options, values: VALUES }))}`);
  await page.locator("#done").waitFor();
  return page;
}

async function shown(page: Page, id: string) {
  return JSON.parse((await page.locator(`#${id}`).textContent()) ?? "null");
}

describe.each([
  ["through its own server, which adds the key", "/inkling", () => null],
  ["through its own server, with a key typed in by its user", "/open", () => inkling.keys.live],
])("a page that sends requests %s", (_, url, key) => {
  let page: Page;
  beforeAll(async () => {
    passed.length = 0;
    page = await pageWith({ url, key: key(), clockMs: 301_000 });
  });
  afterAll(() => page.context().close());

  test("a place", async () =>
    expect(await shown(page, "geolocate")).toMatchObject({
      city: { name: smallCity(1) },
      country: { iso_code: "GB" },
    }));

  test("a reputation, with evidence", async () =>
    expect(await shown(page, "reputation")).toMatchObject({ is_proxy: true, evidence: [{ feed: "test" }] }));

  test("an email address, which is in no URL", async () => {
    expect(await shown(page, "email")).toEqual({
      valid: true,
      disposable: true,
      providers: [smallDomain(1)],
    });
    expect(passed.filter(({ request }) => request.includes("someone"))).toEqual([]);
  });

  test("a problem, with its hint", async () => {
    const { code, hint } = await shown(page, "wrong");
    expect([code, hint]).toEqual(["IP_ADDRESS_RESERVED", expect.stringContaining("trustProxy")]);
  });

  test("many, in order", async () => {
    const results = await shown(page, "batch");
    expect(results).toEqual(
      VALUES.many.map((value, i) => [
        value,
        i === 7 ? "IP_ADDRESS_INVALID" : i % 2 === 0 ? smallCity(1) : null,
      ]),
    );
    expect(passed.filter(({ request }) => request === "POST /v1/ip-intel/geolocate")).toHaveLength(3);
  });

  test("a signal's own reason", async () =>
    expect(await shown(page, "aborted")).toBe("AbortError: the visitor left"));

  test("an unavailable server, handled as onUnavailable is set", async () =>
    expect(await shown(page, "away")).toEqual([true, true]));

  test("a cached answer is revalidated with its ETag, and returned after 304", async () => {
    expect(await shown(page, "again")).toEqual(await shown(page, "geolocate"));
    const requests = passed.filter(({ request }) => request === `GET /v1/ip-intel/geolocate/${ADDRESS}`);
    expect(requests.map(({ status }) => status)).toEqual([200, 304]);
  });

  test("the page sends a key only where it has one", () => {
    const sent = new Set(passed.map(({ authorization }) => authorization));
    expect([...sent]).toEqual([key() === null ? null : `Bearer ${key()}`]);
  });
});

describe("a page of another origin", () => {
  test("is refused by the browser before it sends its key, with a hint", async () => {
    const page = await pageWith({ url: inkling.origin, key: inkling.keys.live });
    const { code, hint } = await shown(page, "geolocate");
    expect([code, hint]).toEqual(["CONNECTION_FAILED", expect.stringContaining("page's own origin")]);
    expect(await shown(page, "batch")).toEqual({ code: "CONNECTION_FAILED" });
    await page.context().close();
  });

  test("gets no CORS headers", async () => {
    const answer = await fetch(`${inkling.origin}/v1/ip-intel/geolocate/${ADDRESS}`, {
      headers: { Origin: site, Authorization: `Bearer ${inkling.keys.live}` },
    });
    const preflight = await fetch(`${inkling.origin}/v1/ip-intel/geolocate/${ADDRESS}`, {
      method: "OPTIONS",
      headers: {
        Origin: site,
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "authorization",
      },
    });
    expect([answer.status, preflight.status]).toEqual([200, 405]);
    for (const { headers } of [answer, preflight])
      expect([...headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
  });
});

test("without a login at the site no request is passed on", async () =>
  expect((await fetch(`${site}/inkling/v1/ip-intel/geolocate/${ADDRESS}`)).status).toBe(403));

test("no script failed, nothing was blocked by a policy, and no other host was contacted", () =>
  expect(faults).toEqual([]));
