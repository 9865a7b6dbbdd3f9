// Tests /openapi.json and /docs as the app serves them. test/scenarios/server/openapi.test.ts checks the document
// itself.

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Overrides } from "@inkling/engine";
import { App, type AppOptions } from "../api/app.ts";
import type { Status } from "../lookup/answer-schemas.ts";
import { type StatusSource, statusDocument } from "../lookup/status.ts";
import { Counts } from "../telemetry/counts.ts";
import { Log } from "../telemetry/log.ts";
import { PublicDocuments } from "./documents.ts";

// Compiles only if /v1/status returns what its schema promises.
(source: StatusSource) => statusDocument(source, 0) satisfies Status;

/** Creates an app without keys or data, which these documents do not need. */
function app(): App {
  const options = {
    version: "1.2.3",
    releases: { current: undefined },
    overrides: { current: Overrides.NONE },
    counts: new Counts(),
    documents: async () => new PublicDocuments("1.2.3"),
    log: new Log({ level: "error", write: () => {}, now: () => 0 }),
    now: () => 0,
    elapsed: () => 0,
    newRequestId: () => "abcdefghij",
  };
  return new App(options as unknown as AppOptions);
}

const send = async (path: string, init: RequestInit = {}) =>
  app().handle(new Request(`http://test${path}`, init), { requestIP: () => null });

describe("open documents", () => {
  const rows: [path: string, type: string][] = [
    ["/openapi.json", "application/json"],
    ["/docs", "text/html; charset=utf-8"],
    ["/docs/", "text/html; charset=utf-8"],
    ["/docs/?utm=x", "text/html; charset=utf-8"],
    ["/docs/errors", "text/html; charset=utf-8"],
    ["/docs/docs.css", "text/css; charset=utf-8"],
    ["/docs/docs.js", "text/javascript; charset=utf-8"],
    ["/docs/call.js", "text/javascript; charset=utf-8"],
    ["/docs/elements.js", "text/javascript; charset=utf-8"],
  ];
  test.each(rows)("%s needs no key, and is sent once", async (path, type) => {
    const first = await send(path);
    const etag = first.headers.get("etag")!;
    expect([first.status, first.headers.get("content-type"), first.headers.get("cache-control")]).toEqual([
      200,
      type,
      "no-cache",
    ]);
    expect((await first.text()).length).toBeGreaterThan(500);
    const again = await send(path, { headers: { "If-None-Match": etag } });
    expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", etag]);
    expect((await send(path, { headers: { "If-None-Match": '"old"' } })).status).toBe(200);
    const head = await send(path, { method: "HEAD" });
    expect(head.status).toBe(200);
    expect((await send(path, { method: "POST" })).status).toBe(405);
  });

  test("the version is the server's", async () => {
    expect(await (await send("/openapi.json")).json()).toMatchObject({ info: { version: "1.2.3" } });
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

describe("the page", () => {
  const files = readdirSync(join(import.meta.dir, "reference")).map((name) => ({
    name,
    text: readFileSync(join(import.meta.dir, "reference", name), "utf8"),
  }));
  const textOf = (extension: string) =>
    files.flatMap(({ name, text }) => (name.endsWith(extension) ? text : [])).join("\n");
  const html = textOf(".html");

  test("may load nothing but our own files", async () => {
    const policy = (await send("/docs")).headers.get("content-security-policy")!;
    expect(policy).toStartWith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
  });
  test("loads its files from every path that it has", () => {
    const links = [...html.matchAll(/\s(?:href|src)="([^"#][^"]*)"/g)].map(([, link]) => link!);
    expect(links.length).toBeGreaterThan(3);
    for (const link of links) expect(link).toMatch(/^(\/|data:)/);
  });
  test("contacts no other host, and has nothing inline", () => {
    for (const { text } of files) expect(text).not.toMatch(/(?:https?:)?\/\/[a-z0-9-]+\.[a-z]/i);
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/i);
    expect(textOf(".js")).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|localStorage|sessionStorage|cookie/,
    );
  });
});

test("the start loads neither documents nor the admin API", () => {
  const modules = [
    "cluster/primary.ts",
    "serving/services.ts",
    "cluster/admin-listener.ts",
    "serving/local-serving.ts",
  ].map((path) => join(import.meta.dir, "..", path));
  const code = `for (const path of ${JSON.stringify(modules)}) await import(path);
    console.log(Object.keys(require.cache).join("\\n"))`;
  const loaded = Bun.spawnSync([process.execPath, "-e", code]).stdout.toString().split("\n");
  expect(loaded.some((path) => path.endsWith("/server/src/api/app.ts"))).toBe(true);
  const lazy = /\/server\/src\/(?:openapi|admin)\//;
  expect(loaded.filter((path) => lazy.test(path))).toEqual([]);
});
