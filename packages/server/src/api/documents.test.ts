// Tests /openapi.json and /docs as the app serves them. test/scenarios/server/openapi.test.ts checks the document
// itself.

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { PROBLEMS } from "@inkling/contract";
import type { Status } from "@inkling/operations/answer-schemas";
import { testServices } from "../../../../test/harness/thread-services.ts";
import { type ServerState, statusDocument } from "../lookup/status.ts";
import { problemsPage } from "../openapi/problems-page.ts";
import { App } from "./app.ts";

// Compiles only if /v1/status returns what its schema promises.
(source: ServerState) => statusDocument(source, 0) satisfies Status;

const VERSION = "1.2.3";
const app = () =>
  new App({
    ...testServices({ version: VERSION }, () => undefined).services,
  });

const send = async (path: string, init: RequestInit = {}) =>
  app().handle(new Request(`http://test${path}`, init), { requestIP: () => null });

describe("open documents", () => {
  const rows: [path: string, type: string][] = [
    ["/openapi.json", "application/json"],
    ["/docs", "text/html; charset=utf-8"],
    ["/docs/", "text/html; charset=utf-8"],
    ["/docs/?utm=x", "text/html; charset=utf-8"],
    ["/docs/errors", "text/html; charset=utf-8"],
    ["/docs/swagger-ui.css", "text/css; charset=utf-8"],
    ["/docs/swagger-ui-bundle.js", "text/javascript; charset=utf-8"],
    ["/docs/start.js", "text/javascript; charset=utf-8"],
  ];
  test.each(rows)("%s needs no key, and is sent once", async (path, type) => {
    const first = await send(path);
    const etag = first.headers.get("etag")!;
    expect([first.status, first.headers.get("content-type"), first.headers.get("cache-control")]).toEqual([
      200,
      type,
      "no-cache",
    ]);
    expect((await first.text()).length).toBeGreaterThan(300);
    const again = await send(path, { headers: { "If-None-Match": etag } });
    expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", etag]);
    expect((await send(path, { headers: { "If-None-Match": '"old"' } })).status).toBe(200);
    const head = await send(path, { method: "HEAD" });
    expect(head.status).toBe(200);
    expect((await send(path, { method: "POST" })).status).toBe(405);
  });

  test("the version is the server's", async () => {
    expect(await (await send("/openapi.json")).json()).toMatchObject({ info: { version: VERSION } });
  });

  const nothing = [
    "/docs//",
    "/docs/errors/",
    "/docs/index.html",
    "/docs/..%2Fapp.ts",
    "/docs/a/b",
    "/docs/constructor",
    "/openapi",
  ];
  test.each(nothing)("nothing is at %s", async (path) => {
    const response = await send(path);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: "PATH_NOT_FOUND" });
  });
});

describe("the pages", () => {
  test.each(["/docs", "/docs/errors"])("%s may load nothing but our own files", async (path) => {
    const policy = (await send(path)).headers.get("content-security-policy")!;
    expect(policy).toStartWith("default-src 'none'; ");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
  });
  test("/docs/errors has a section for each code", async () => {
    const page = await (await send("/docs/errors")).text();
    for (const [code, { status, title }] of Object.entries(PROBLEMS)) {
      const id = code.toLowerCase();
      expect(page).toContain(
        `<section id="${id}"><h2><a href="#${id}">${code}</a></h2><p>${status} ${Bun.escapeHTML(title)}</p>`,
      );
    }
  });
  test("a text of /docs/errors is never read as HTML", () => {
    const row = { status: 400, title: "a & b", detail: "`<ip>` <script>" };
    expect(problemsPage({ X: row })).toContain(
      "<p>400 a &amp; b</p><p><code>&lt;ip&gt;</code> &lt;script&gt;</p>",
    );
  });
});

test("the start loads neither documents nor the admin API", () => {
  const modules = ["run/server.ts", "run/services.ts", "run/admin-listener.ts", "run/local-serving.ts"].map(
    (path) => join(import.meta.dir, "..", path),
  );
  const code = `for (const path of ${JSON.stringify(modules)}) await import(path);
    console.log(Object.keys(require.cache).join("\\n"))`;
  const loaded = Bun.spawnSync([process.execPath, "-e", code]).stdout.toString().split("\n");
  expect(loaded.some((path) => path.endsWith("/server/src/api/app.ts"))).toBe(true);
  const lazy = /\/server\/src\/(?:openapi\/|admin\/(?!services|metrics|traffic))/;
  expect(loaded.filter((path) => lazy.test(path))).toEqual([]);
});
