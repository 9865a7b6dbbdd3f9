// Tests named admin tokens: what each scope allows, which name the audit trail contains, and when a token and its
// sessions become invalid.

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import {
  ADMIN_OPERATION_IDS,
  ADMIN_OPERATIONS,
  ADMIN_PATH,
  type AdminScope,
  scopeOf,
} from "@inkling/contract";
import { type AdminTest, adminServer, closeAdminServers } from "../../../../test/harness/admin-server.ts";
import { StoreError } from "../store/error.ts";

let it: AdminTest;
beforeEach(async () => {
  it = await adminServer();
});
afterAll(closeAdminServers);

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

async function create(name: string, scope: AdminScope, over: object = {}): Promise<string> {
  const { status, document } = await it.ask("POST", "admin-tokens", { name, scope, ...over });
  expect(status).toBe(201);
  return document.token;
}

/** Logs in with the token. @returns the headers that the logged-in page sends */
async function logIn(token: string, author?: string) {
  const { headers, document } = await it.ask("POST", "session", { token, author }, { Authorization: "" });
  const cookie = headers.get("set-cookie")!.split(";")[0]!;
  return { page: { Authorization: "", Cookie: cookie, "Inkling-Console": document.secret }, document };
}

describe("an operation", () => {
  const EXAMPLES: Readonly<Record<string, string>> = {
    key: "key_0123456789abcdef",
    override: "ovr_0123456789abcdef",
    decision: "asm_0123456789abcdef",
    webhook: "whk_0123456789abcdef",
    release: "20261122T092556037Z-56eec3c99c5c",
    ruleset: "1",
    "admin token": "nobody",
  };
  const scopes = new Set<AdminScope>();

  test.each(ADMIN_OPERATION_IDS.filter((id) => !ADMIN_OPERATIONS[id].isOpen))(
    "%s is refused to a read token if it changes something, before anything else of it is read",
    async (id) => {
      const row = ADMIN_OPERATIONS[id];
      const token = bearer(await create("bob", "read"));
      const path = row.path.slice(ADMIN_PATH.length).replace("{id}", EXAMPLES[row.names ?? ""] ?? "");
      const response = await it.ask(row.method, `${path}?unknown=1`, undefined, token);
      const needed = scopeOf(row);
      scopes.add(needed);
      expect([response.status, response.code]).toEqual(
        needed === "write" ? [403, "SCOPE_REQUIRED"] : [400, "QUERY_INVALID"],
      );
    },
  );

  test("of each scope was tried", () => expect([...scopes].sort()).toEqual(["read", "write"]));
});

test("a read token looks up and reads; the refusal names the scope that is needed", async () => {
  const token = bearer(await create("bob", "read"));
  expect((await it.ask("GET", "keys", undefined, token)).status).toBe(200);
  expect((await it.ask("HEAD", "keys", undefined, token)).status).toBe(200);
  expect((await it.ask("POST", "rulesets/check", { text: "" }, token)).status).toBe(200);
  const refused = await it.ask("POST", "keys", { name: "shop" }, token);
  expect(refused.document.detail).toBe(
    "This request needs an admin token with the `write` scope. This token has the `read` scope.",
  );
  expect(refused.headers.get("www-authenticate")).toBe(
    'Bearer realm="inkling admin", error="insufficient_scope"',
  );
  expect(await it.store.listKeys()).toEqual([]);
  expect(JSON.parse(it.lines.at(-1)!)).toMatchObject({ event: "admin-request", status: 403, actor: "bob" });
});

test("a token is shown once; lists have its name, scope, author, expiry and last use", async () => {
  const asked = { name: "ada", scope: "write", expires_at: "2026-07-01" };
  const made = await it.ask("POST", "admin-tokens", asked, { "Inkling-Author": "carol" });
  const { token, ...rest } = made.document;
  expect(made.headers.get("location")).toBe("/admin/v1/admin-tokens/ada");
  expect(rest).toEqual({
    name: "ada",
    scope: "write",
    state: "active",
    hint: `${token.slice(0, 14)}…`,
    author: "carol",
    created_at: "2026-06-01T12:00:00.000Z",
    expires_at: "2026-07-01T00:00:00.000Z",
    last_used_at: null,
  });
  const used = { ...rest, last_used_at: "2026-06-01" };
  expect((await it.ask("GET", "admin-tokens/ada", undefined, bearer(token))).document).toEqual(used);
  const { document } = await it.ask("GET", "admin-tokens");
  expect(document).toEqual({ admin_tokens: [used] });
  const { document: trail } = await it.ask("GET", "audit");
  expect(JSON.stringify([document, trail, it.lines])).not.toContain(token.slice(14, 42));
});

const BODIES: [string, object, RegExp][] = [
  ["a name in upper case", { name: "Ada", scope: "read" }, /^name: must have 1 to 63 lower-case/],
  ["a name with a space", { name: "ada b", scope: "read" }, /^name: must have 1 to 63 lower-case/],
  ["a long name", { name: "a".repeat(64), scope: "read" }, /^name: must have 1 to 63 lower-case/],
  ["another scope", { name: "ada", scope: "admin" }, /^scope: must be read or write/],
  ["no scope", { name: "ada" }, /^`scope` is required/],
  [
    "an expiry in the past",
    { name: "ada", scope: "read", expires_at: "2026-05-01" },
    /^expires_at: is in the past/,
  ],
];
test.each(BODIES)("%s is refused", async (_, body, problem) => {
  const { code, document } = await it.ask("POST", "admin-tokens", body);
  expect(code).toBe("BODY_INVALID");
  expect(document.problems).toEqual([expect.stringMatching(problem)]);
});

test("a name that exists is 409; an unknown name 404", async () => {
  await create("bob", "read");
  expect((await it.ask("POST", "admin-tokens", { name: "bob", scope: "write" })).code).toBe(
    "ADMIN_TOKEN_EXISTS",
  );
  for (const method of ["GET", "DELETE"]) {
    expect((await it.ask(method, "admin-tokens/eve")).code).toBe("ADMIN_TOKEN_NOT_FOUND");
  }
});

describe("the author", () => {
  const actorOf = async () => (await it.ask("GET", "audit?limit=1")).document.entries[0].actor;

  test("of a request with a named token is its name, and no other", async () => {
    const token = bearer(await create("ada", "write"));
    expect((await it.ask("POST", "keys", { name: "a" }, token)).status).toBe(201);
    expect(await actorOf()).toBe("ada");
    const forged = await it.ask("POST", "keys", { name: "b" }, { ...token, "Inkling-Author": "bob" });
    expect([forged.code, forged.document.detail]).toEqual([
      "AUTHOR_INVALID",
      "Changes with this token have the author `ada`. Send this author or none.",
    ]);
    expect((await it.ask("POST", "keys", { name: "c" }, { ...token, "Inkling-Author": "ada" })).status).toBe(
      201,
    );
  });

  test("of a session is the name of its token", async () => {
    const token = await create("ada", "write");
    const { page, document } = await logIn(token);
    expect(document).toMatchObject({ author: "ada", scope: "write", token_name: "ada" });
    expect((await it.ask("POST", "keys", { name: "a" }, page)).status).toBe(201);
    expect((await it.ask("GET", "audit?limit=1&actor=ada&way=console")).document.entries).toHaveLength(1);
    const other = await it.ask("POST", "session", { token, author: "bob" }, { Authorization: "" });
    expect(other.code).toBe("AUTHOR_INVALID");
    expect((await it.ask("POST", "keys", { name: "b" }, { ...page, "Inkling-Author": "bob" })).code).toBe(
      "AUTHOR_INVALID",
    );
  });

  test("of the root token is whom the request names", async () => {
    const { page, document } = await logIn(it.token, "dan");
    expect(document).toMatchObject({ author: "dan", scope: "write", token_name: null });
    await it.ask("POST", "keys", { name: "a" }, page);
    expect(await actorOf()).toBe("dan");
    expect((await it.ask("GET", "session")).document).toEqual({
      author: "admin API",
      scope: "write",
      token_name: null,
      expires_at: null,
    });
  });
});

describe("the end", () => {
  test("of a token that is revoked is at once, its sessions included; others remain", async () => {
    const [ada, bob] = [await create("ada", "write"), await create("bob", "read")];
    const sessions = { ada: await logIn(ada), bob: await logIn(bob), root: await logIn(it.token, "root") };
    const revoked = await it.ask("DELETE", "admin-tokens/bob", undefined, bearer(ada));
    expect(revoked.document).toMatchObject({ name: "bob" });
    expect((await it.ask("GET", "keys", undefined, bearer(bob))).code).toBe("TOKEN_INVALID");
    expect((await it.ask("GET", "keys", undefined, sessions.bob.page)).code).toBe("SESSION_ENDED");
    expect((await it.ask("GET", "keys", undefined, sessions.ada.page)).status).toBe(200);
    expect((await it.ask("GET", "keys", undefined, sessions.root.page)).status).toBe(200);
    await create("bob", "write"); // a different token with the same name
    expect((await it.ask("GET", "keys", undefined, sessions.bob.page)).code).toBe("SESSION_ENDED");
  });

  test("of a token that expires, and of its sessions", async () => {
    const token = await create("bob", "read", { expires_at: "2026-06-01T13:00:00Z" });
    const { page } = await logIn(token);
    it.clock.now += 3_600_000 - 1;
    expect((await it.ask("GET", "keys", undefined, bearer(token))).status).toBe(200);
    expect((await it.ask("GET", "keys", undefined, page)).status).toBe(200);
    it.clock.now += 1;
    expect((await it.ask("GET", "keys", undefined, bearer(token))).code).toBe("TOKEN_INVALID");
    expect((await it.ask("GET", "keys", undefined, page)).code).toBe("SESSION_ENDED");
    expect((await it.ask("GET", "admin-tokens/bob")).document.state).toBe("expired");
  });

  test("a read session may log out", async () => {
    const { page } = await logIn(await create("bob", "read"));
    expect((await it.ask("DELETE", "session", undefined, page)).status).toBe(200);
    expect((await it.ask("GET", "keys", undefined, page)).code).toBe("SESSION_ENDED");
  });
});

test("a database that takes no writes keeps no token out: the log has why its use is not recorded", async () => {
  const { adminToken } = it.store;
  const token = await create("bob", "read");
  const full = new StoreError("AWAY", "database or disk is full", "make room", true);
  const server = await adminServer({
    adminToken: { find: (hash) => adminToken.find(hash), recordUse: () => Promise.reject(full) },
  });
  expect((await server.ask("GET", "keys", undefined, bearer(token))).status).toBe(200);
  const errors = server.lines.map((line) => JSON.parse(line)).filter(({ level }) => level === "error");
  expect(errors).toMatchObject([{ event: "admin-database-failed", reason: full.message, hint: "make room" }]);
});
