// Tests logins to the admin API: what a session allows, when it ends, and that no other site can use it.

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import type { AdminProblemCode } from "@inkling/contract";
import { newToken } from "@inkling/store/keys/token";
import { type AdminTest, adminServer, closeAdminServers } from "../../../../test/harness/admin-server.ts";
import { freshToken, randomBytes } from "../../../../test/harness/tokens.ts";

import { SESSION_MS } from "./sessions.ts";

let it: AdminTest;
beforeEach(async () => {
  it = await adminServer();
});
afterAll(closeAdminServers);

const KEY = { name: "shop" };
const FETCH = { "Sec-Fetch-Site": "same-origin" };

/**
 * Logs in.
 * @returns `page`, the headers that the page sends, and `thief`, the headers that a page on a different port sends,
 *   which has only the cookie
 */
async function logIn(body: object = { token: it.token, author: "ada" }) {
  const response = await it.ask("POST", "session", body, { Authorization: "" });
  const cookie = response.headers.get("set-cookie")?.split(";")[0] ?? "";
  const secret: string = response.document?.secret ?? "";
  const thief = { Authorization: "", Cookie: `other=1; ${cookie}` };
  return { response, cookie, secret, thief, page: { ...thief, "Inkling-Console": secret } };
}

describe("a session", () => {
  test("consoles on two ports of a host have cookies of their own", async () => {
    const at = (port: number, cookie = "") => ({
      Host: `localhost:${port}`,
      Authorization: "",
      Cookie: cookie,
    });
    const logIn = async (port: number) => {
      const { headers, document } = await it.ask("POST", "session", { token: it.token }, at(port));
      return { cookie: headers.get("set-cookie")!.split(";")[0]!, secret: document.secret as string };
    };
    const [first, second] = [await logIn(8081), await logIn(9081)];
    expect(first.cookie).toStartWith("inkling_admin_8081=");
    const both = `${first.cookie}; ${second.cookie}`;
    const ask = (port: number, cookie: string, secret: string) =>
      it.ask("GET", "session", undefined, { ...at(port, cookie), "Inkling-Console": secret });
    expect((await ask(8081, both, first.secret)).status).toBe(200);
    expect((await ask(9081, both, second.secret)).status).toBe(200);
    expect((await ask(9081, first.cookie, first.secret)).code).toBe("TOKEN_MISSING");
  });

  test("reads, writes in its author's name, and ends with a logout", async () => {
    const { response, page } = await logIn();
    const { secret, ...shown } = response.document;
    expect(secret).toMatch(/^\w{43}$/);
    expect([response.status, shown]).toEqual([
      201,
      { author: "ada", role: "admin", token_name: null, expires_at: "2026-06-02T00:00:00.000Z" } as object,
    ]);
    expect(response.headers.get("set-cookie")).toMatch(
      /^inkling_admin=\w{43}; Path=\/admin\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    );
    expect((await it.ask("GET", "session", undefined, page)).document).toEqual(shown);
    expect((await it.ask("GET", "keys", undefined, page)).status).toBe(200);
    expect((await it.ask("POST", "keys", KEY, { ...page, ...FETCH })).status).toBe(201);
    expect((await it.ask("GET", "audit", undefined, page)).document.entries[0].author).toBe("ada");
    const out = await it.ask("DELETE", "session", undefined, { ...page, ...FETCH });
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
    await it.store.adminToken.rotate({ author: "bob", source: "cli" });
    expect((await it.ask("GET", "keys", undefined, page)).code).toBe("SESSION_ENDED");
  });

  test("over HTTPS, its cookie is Secure and only for this host", async () => {
    const headers = { Authorization: "", Origin: "https://inkling.example", Host: "inkling.example" };
    const { headers: sent, document } = await it.ask("POST", "session", { token: it.token }, headers);
    expect(sent.get("set-cookie")).toMatch(
      /^__Host-inkling_admin=\w{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/,
    );
    const cookie = sent.get("set-cookie")!.split(";")[0]!;
    const page = { ...headers, Cookie: cookie, "Inkling-Console": document.secret };
    expect((await it.ask("GET", "keys", undefined, page)).status).toBe(200);
    const out = await it.ask("DELETE", "session", undefined, page);
    expect(out.headers.get("set-cookie")).toMatch(/^__Host-inkling_admin=; Path=\/; Max-Age=0;.*; Secure$/);
  });

  test("is found whatever other cookies of its name there are, before and after it", async () => {
    const { cookie, secret } = await logIn();
    const other = await logIn();
    const wrong = ["inkling_admin=", `inkling_admin=${"a".repeat(43)}`, "inkling_admin=%", other.cookie];
    for (const cookies of [
      [cookie, ...wrong],
      [...wrong, cookie],
      [...wrong, cookie, ...wrong],
    ]) {
      const headers = { Authorization: "", Cookie: cookies.join("; "), "Inkling-Console": secret };
      expect((await it.ask("GET", "keys", undefined, headers)).status).toBe(200);
    }
  });

  test("ends when the clock is set back to before its login", async () => {
    const { page } = await logIn();
    it.clock.now -= 30_000; // a small step, as NTP might make
    expect((await it.ask("GET", "keys", undefined, page)).status).toBe(200);
    it.clock.now -= 86_400_000;
    expect((await it.ask("GET", "keys", undefined, page)).code).toBe("SESSION_ENDED");
  });

  test("a request with the token has none", async () => {
    expect((await it.ask("GET", "session")).document).toEqual({
      author: "admin API",
      role: "admin",
      token_name: null,
      expires_at: null,
    });
    expect((await it.ask("POST", "keys", KEY)).status).toBe(201); // and the request needs no console header
  });

  test("neither cookie nor secret is in a log line", async () => {
    const { page, secret } = await logIn();
    await it.ask("GET", "keys", undefined, page);
    expect(it.lines.join("")).not.toContain(page.Cookie.split("inkling_admin=")[1]!);
    expect(it.lines.join("")).not.toContain(secret);
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
    ["a body of 20 KB", "CONTENT_TOO_LARGE", { token: "x".repeat(20_000) }],
    ["the page of another site", "CSRF_REJECTED", { token: "TOKEN" }, { "Sec-Fetch-Site": "cross-site" }],
    [
      "the page of another port",
      "CSRF_REJECTED",
      { token: "TOKEN" },
      { Origin: "http://t:82", Host: "t:81" },
    ],
  ];
  test.each(logins)("a login with %s", async (_, code, body, headers) => {
    const sent = JSON.stringify(body)?.replace("TOKEN", it.token);
    const refused = await it.ask("POST", "session", sent, { Authorization: "", ...headers });
    expect([refused.code, refused.headers.get("set-cookie")]).toEqual([code, null]);
    expect(it.lines.join("")).not.toContain(it.token);
  });

  /**
   * Each request carries the session's cookie. SECRET stands for the session's secret, and OTHER for the secret of a
   * different session.
   */
  const requests: [name: string, code: AdminProblemCode, headers: Record<string, string>][] = [
    ["the cookie alone", "CSRF_REJECTED", {}],
    [
      "a form of another site",
      "CSRF_REJECTED",
      { "Sec-Fetch-Site": "cross-site", Origin: "https://evil.example" },
    ],
    ["an empty secret", "CSRF_REJECTED", { "Inkling-Console": "", ...FETCH }],
    ["what was enough before", "SESSION_ENDED", { "Inkling-Console": "1", ...FETCH }],
    ["the secret of another session", "SESSION_ENDED", { "Inkling-Console": "OTHER", ...FETCH }],
    [
      "another port, by Sec-Fetch-Site",
      "CSRF_REJECTED",
      { "Inkling-Console": "SECRET", "Sec-Fetch-Site": "same-site" },
    ],
    [
      "another port, by Origin",
      "CSRF_REJECTED",
      { "Inkling-Console": "SECRET", Origin: "http://t:82", Host: "t" },
    ],
    [
      "another site, with the secret",
      "CSRF_REJECTED",
      { "Inkling-Console": "SECRET", "Sec-Fetch-Site": "cross-site" },
    ],
    ["a typed address", "CSRF_REJECTED", { "Sec-Fetch-Site": "none" }],
  ];
  test.each(requests)("%s", async (_, code, headers) => {
    const { page, thief, secret } = await logIn();
    const other = await logIn();
    const sent = Object.entries(headers).map(([name, value]) => [
      name,
      value.replace("SECRET", secret).replace("OTHER", other.secret),
    ]);
    for (const [method, path, body] of [
      ["GET", "keys"],
      ["HEAD", "keys"],
      ["GET", "session"],
      ["GET", "overrides/export"],
      ["POST", "keys", KEY],
      ["DELETE", "session"],
      ["DELETE", "keys/key_0123456789abcdef"],
      ["PUT", "nothing"],
    ] as const) {
      const refused = await it.ask(method, path, body, { ...thief, ...Object.fromEntries(sent) });
      expect([path, refused.status]).toEqual([path, code === "CSRF_REJECTED" ? 403 : 401]);
      if (method !== "HEAD") expect([path, refused.code]).toEqual([path, code]);
    }
    expect((await it.ask("GET", "keys", undefined, page)).document.keys).toEqual([]);
  });

  test("an unknown cookie", async () => {
    const cookie = {
      Authorization: "",
      Cookie: `inkling_admin=${"a".repeat(43)}`,
      "Inkling-Console": "b".repeat(43),
    };
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
