// Logins to the admin API: what a cookie allows, when it ends, and that no other site can use it.

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { type AdminTest, adminServer, closeAdminServers } from "../../../../test/admin-server.ts";
import { freshToken, randomBytes } from "../../../../test/tokens.ts";
import { newToken } from "../keys/token.ts";
import type { AdminProblemCode } from "./problems.ts";
import { SESSION_MS } from "./sessions.ts";

let it: AdminTest;
beforeEach(async () => {
  it = await adminServer();
});
afterAll(closeAdminServers);

const KEY = { name: "shop" };
const CONSOLE = { "Inkling-Console": "1", "Sec-Fetch-Site": "same-origin" };

/** Logs in. @returns headers of a page's request */
async function logIn(body: object = { token: it.token, author: "ada" }) {
  const response = await it.ask("POST", "session", body, { Authorization: "" });
  const cookie = response.headers.get("set-cookie")?.split(";")[0] ?? "";
  return { response, page: { Authorization: "", Cookie: `other=1; ${cookie}` } };
}

describe("a session", () => {
  test("reads, writes in its author's name, and ends with a logout", async () => {
    const { response, page } = await logIn();
    expect([response.status, response.document]).toEqual([
      201,
      { author: "ada", expires_at: "2026-06-02T00:00:00.000Z" } as object,
    ]);
    expect(response.headers.get("set-cookie")).toMatch(
      /^inkling_admin=\w{43}; Path=\/admin\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    );
    expect((await it.ask("GET", "session", undefined, page)).document).toEqual(response.document);
    expect((await it.ask("GET", "keys", undefined, page)).status).toBe(200);
    expect((await it.ask("POST", "keys", KEY, { ...page, ...CONSOLE })).status).toBe(201);
    expect((await it.ask("GET", "audit", undefined, page)).document.entries[0].actor).toBe("ada");
    const out = await it.ask("DELETE", "session", undefined, { ...page, ...CONSOLE });
    expect(out.headers.get("set-cookie")).toMatch(/^inkling_admin=; .*Max-Age=0;/);
    expect((await it.ask("GET", "keys", undefined, page)).code).toBe("SESSION_ENDED");
  });

  test("ends after twelve hours", async () => {
    const { page } = await logIn();
    it.clock.now += SESSION_MS - 1;
    expect((await it.ask("GET", "keys", undefined, page)).status).toBe(200);
    it.clock.now += 1;
    expect((await it.ask("GET", "keys", undefined, page)).code).toBe("SESSION_ENDED");
  });

  test("ends with its token", async () => {
    const { page } = await logIn();
    await it.store.adminToken.rotate("bob");
    expect((await it.ask("GET", "keys", undefined, page)).code).toBe("SESSION_ENDED");
  });

  test("over HTTPS its cookie is Secure", async () => {
    const headers = { Authorization: "", Origin: "https://inkling.example" };
    const { headers: sent } = await it.ask("POST", "session", { token: it.token }, headers);
    expect(sent.get("set-cookie")).toEndWith("; Secure");
  });

  test("a request with the token has none", async () => {
    expect((await it.ask("GET", "session")).document).toEqual({ author: "admin API", expires_at: null });
    expect((await it.ask("POST", "keys", KEY)).status).toBe(201); // and it needs no header
  });

  test("the cookie is in no log line, and in memory as a hash only", async () => {
    const { page } = await logIn();
    await it.ask("GET", "keys", undefined, page);
    expect(it.lines.join("")).not.toContain(page.Cookie.split("inkling_admin=")[1]!);
  });

  test("at most a thousand: one more ends the oldest", async () => {
    const first = await logIn();
    for (let i = 0; i < 1_000; i++) await logIn();
    expect((await it.ask("GET", "keys", undefined, first.page)).code).toBe("SESSION_ENDED");
  });
});

describe("refused", () => {
  const logins: [name: string, code: AdminProblemCode, body: unknown, headers?: Record<string, string>][] = [
    ["another token", "TOKEN_INVALID", { token: newToken("ink_admin_", randomBytes) }],
    ["text", "TOKEN_INVALID", { token: "secret" }],
    ["an API key", "TOKEN_REQUIRED", { token: freshToken() }],
    ["no token", "BODY_INVALID", {}],
    ["no body", "BODY_INVALID", undefined],
    ["an author of nothing", "BODY_INVALID", { token: "TOKEN", author: "" }],
    ["a body of 20 KB", "BODY_TOO_LARGE", { token: "x".repeat(20_000) }],
    ["the page of another site", "FORGED", { token: "TOKEN" }, { "Sec-Fetch-Site": "cross-site" }],
  ];
  test.each(logins)("a login with %s", async (_, code, body, headers) => {
    const sent = JSON.stringify(body)?.replace("TOKEN", it.token);
    const refused = await it.ask("POST", "session", sent, { Authorization: "", ...headers });
    expect([refused.code, refused.headers.get("set-cookie")]).toEqual([code, null]);
    expect(it.lines.join("")).not.toContain(it.token);
  });

  const writes: [name: string, headers: Record<string, string>][] = [
    ["a form of another site", { "Sec-Fetch-Site": "cross-site", Origin: "https://evil.example" }],
    ["a script of another port", { "Inkling-Console": "1", "Sec-Fetch-Site": "same-site" }],
    ["another site, with the header", { "Inkling-Console": "1", "Sec-Fetch-Site": "cross-site" }],
    ["no header", { "Sec-Fetch-Site": "same-origin" }],
  ];
  test.each(writes)("a change by %s", async (_, headers) => {
    const { page } = await logIn();
    for (const [method, path] of [
      ["POST", "keys"],
      ["DELETE", "session"],
      ["DELETE", "keys/key_0123456789abcdef"],
    ] as const) {
      expect((await it.ask(method, path, KEY, { ...page, ...headers })).code).toBe("FORGED");
    }
    expect((await it.ask("GET", "keys", undefined, page)).document.keys).toEqual([]);
  });

  test("an unknown cookie", async () => {
    const cookie = { Authorization: "", Cookie: `inkling_admin=${"a".repeat(43)}` };
    expect((await it.ask("GET", "keys", undefined, cookie)).code).toBe("SESSION_ENDED");
    expect(
      (await it.ask("GET", "keys", undefined, { Authorization: "", Cookie: "inkling_admin=" })).code,
    ).toBe("TOKEN_MISSING");
  });

  test("a cookie does not help a wrong token", async () => {
    const { page } = await logIn();
    expect((await it.ask("GET", "keys", undefined, { ...page, Authorization: "Bearer x" })).code).toBe(
      "TOKEN_INVALID",
    );
  });
});
