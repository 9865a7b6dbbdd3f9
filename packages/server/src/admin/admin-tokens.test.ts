// Tests named admin tokens: what each scope allows, which name the audit trail contains, and when a token and its
// sessions become invalid.

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { ADMIN_PATH, ADMIN_ROLES, type AdminRole, hasRole } from "@inkling/contract";
import { StoreError } from "@inkling/store/error";
import { type AdminTest, adminServer, closeAdminServers } from "../../../../test/harness/admin-server.ts";
import { ADMIN_ROUTES } from "./routes.ts";

let it: AdminTest;
beforeEach(async () => {
  it = await adminServer();
});
afterAll(closeAdminServers);

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

async function create(name: string, role: AdminRole, over: object = {}): Promise<string> {
  const { status, document } = await it.ask("POST", "admin-tokens", { name, role, ...over });
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
  const roles = new Set<AdminRole>();

  const OPERATIONS = [...ADMIN_ROUTES.keys()].filter((id) => !ADMIN_ROUTES.get(id)!.row.isOpen);
  test.each(OPERATIONS.flatMap((id) => ADMIN_ROLES.map((role) => [id, role] as const)))(
    "%s with the role %s is refused if the role is too low, before anything else of it is read",
    async (id, role) => {
      const row = ADMIN_ROUTES.get(id)!.row;
      const token = bearer(await create("bob", role));
      const path = row.path.slice(ADMIN_PATH.length).replace("{id}", EXAMPLES[row.names ?? ""] ?? "");
      const response = await it.ask(row.method, `${path}?unknown=1`, undefined, token);
      const needed = row.role;
      roles.add(needed);
      expect([response.status, response.code]).toEqual(
        hasRole(role, needed) ? [400, "PARAMETER_INVALID"] : [403, "ROLE_REQUIRED"],
      );
    },
  );

  test("of each role was tried", () => expect([...roles].sort()).toEqual([...ADMIN_ROLES].sort()));
});

test("a read token looks up and reads; a refusal shows the role that is needed", async () => {
  const token = bearer(await create("bob", "read"));
  expect((await it.ask("GET", "keys", undefined, token)).status).toBe(200);
  expect((await it.ask("HEAD", "keys", undefined, token)).status).toBe(200);
  expect((await it.ask("POST", "rulesets/check", { text: "" }, token)).status).toBe(200);
  const refused = await it.ask("POST", "keys", { name: "shop" }, token);
  expect(refused.document.detail).toBe(
    "This request needs an admin token with the role `admin`. This token has the role `read`.",
  );
  expect(refused.headers.get("www-authenticate")).toBe(
    'Bearer realm="inkling admin", error="insufficient_scope"',
  );
  expect(await it.store.listKeys()).toEqual([]);
  expect(JSON.parse(it.lines.at(-1)!)).toMatchObject({ event: "admin-request", status: 403, author: "bob" });
});

test("a token is shown once; lists have its name, role, author, expiry and last use", async () => {
  const asked = { name: "ada", role: "admin", expires_at: "2026-07-01" };
  const made = await it.ask("POST", "admin-tokens", asked, { "Inkling-Author": "carol" });
  const { token, ...rest } = made.document;
  expect(made.headers.get("location")).toBe("/admin/v1/admin-tokens/ada");
  expect(rest).toEqual({
    name: "ada",
    role: "admin",
    state: "active",
    hint: `${token.slice(0, 14)}…`,
    author: "carol",
    parent: null,
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
  ["a name in upper case", { name: "Ada", role: "read" }, /^name: must have 1 to 63 lower-case/],
  ["a name with a space", { name: "ada b", role: "read" }, /^name: must have 1 to 63 lower-case/],
  ["a long name", { name: "a".repeat(64), role: "read" }, /^name: must have 1 to 63 lower-case/],
  ["another role", { name: "ada", role: "write" }, /^role: must be read, analyst or admin/],
  ["no role", { name: "ada" }, /^`role` is required/],
  [
    "an expiry in the past",
    { name: "ada", role: "read", expires_at: "2026-05-01" },
    /^expires_at: is in the past/,
  ],
];
test.each(BODIES)("%s is refused", async (_, body, problem) => {
  const { code, document } = await it.ask("POST", "admin-tokens", body);
  expect(code).toBe("BODY_INVALID");
  expect(document.problems).toEqual([expect.stringMatching(problem)]);
});

describe("a token that creates others", () => {
  test("creates none above itself: only an admin creates any", async () => {
    for (const role of ADMIN_ROLES) {
      const token = bearer(await create(`creator-${role}`, role));
      for (const wanted of ADMIN_ROLES) {
        const { status } = await it.ask(
          "POST",
          "admin-tokens",
          { name: `by-${role}-${wanted}`, role: wanted },
          token,
        );
        expect([role, wanted, status]).toEqual([role, wanted, role === "admin" ? 201 : 403]);
      }
    }
  });

  test("is not outlived by them", async () => {
    const token = bearer(await create("ada", "admin", { expires_at: "2026-07-01" }));
    const ask = (expires_at?: string) =>
      it.ask("POST", "admin-tokens", { name: "bob", role: "read", expires_at }, token);
    for (const expiry of [undefined, "2026-07-02"])
      expect((await ask(expiry)).document.problems).toEqual([
        "expires_at: must not be later than 2026-07-01T00:00:00.000Z, when the token that creates it expires",
      ]);
    expect((await ask("2026-07-01")).document).toMatchObject({ parent: "ada" });
  });

  test("takes them along when it is revoked, unless told otherwise", async () => {
    const ada = await create("ada", "admin");
    const { document: bob } = await it.ask(
      "POST",
      "admin-tokens",
      { name: "bob", role: "admin" },
      bearer(ada),
    );
    const { document: eve } = await it.ask(
      "POST",
      "admin-tokens",
      { name: "eve", role: "read" },
      bearer(bob.token),
    );
    const kept = await it.ask("DELETE", "admin-tokens/ada?keep_created=true");
    expect(kept.document.also_revoked).toEqual([]);
    expect(
      (await it.ask("GET", "admin-tokens/bob", undefined, bearer(bob.token))).document.parent,
    ).toBeNull();
    expect((await it.ask("DELETE", "admin-tokens/bob")).document.also_revoked).toEqual(["eve"]);
    for (const token of [ada, bob.token, eve.token])
      expect((await it.ask("GET", "keys", undefined, bearer(token))).code).toBe("TOKEN_INVALID");
  });
});

test("an Idempotency-Key belongs to its token: a colleague's identical request gets no secret", async () => {
  const [ada, bob] = [await create("ada", "admin"), await create("bob", "admin")];
  const key = { "Idempotency-Key": "same" };
  const ask = (token: string) => it.ask("POST", "keys", { name: "shop" }, { ...bearer(token), ...key });
  const [first, again, other] = [await ask(ada), await ask(ada), await ask(bob)];
  expect(again.document.token).toBe(first.document.token);
  expect([other.status, other.document.token === first.document.token]).toEqual([201, false]);
});

test("only an administrator sees more of a webhook's URL than its host", async () => {
  const url = "https://hooks.example.com/services/SECRET?token=SECRET";
  const { document } = await it.ask("POST", "webhooks", { url, events: ["data.stale"] });
  await it.ask("POST", `webhooks/${document.id}/rotate`, {});
  await it.ask("DELETE", `webhooks/${document.id}`);
  await it.ask("POST", "webhooks", { url, events: ["data.stale"] });
  const id = (await it.ask("GET", "webhooks")).document.webhooks[0].id;
  for (const role of ADMIN_ROLES) {
    const token = bearer(await create(role, role));
    const answers = await Promise.all(
      ["webhooks", `webhooks/${id}`, `webhooks/${id}/deliveries`, "audit", "audit?action=webhook-added"].map(
        (path) => it.ask("GET", path, undefined, token),
      ),
    );
    const text = JSON.stringify(answers.map((answer) => answer.document));
    expect([role, text.includes("SECRET")]).toEqual([role, role === "admin"]);
    expect(text).toContain("https://hooks.example.com/");
  }
});

test("the audit trail is filtered by what its rows show", async () => {
  const { document } = await it.ask("POST", "overrides", {
    value: "185.220.101.1",
    flag: "is_proxy",
    verdict: false,
    note: "100%_x",
  });
  const id = document.override?.id ?? document.id;
  const count = async (subject: string) =>
    (await it.ask("GET", `audit?subject=${encodeURIComponent(subject)}`)).document.entries.length;
  expect(await count("185.220.101.1")).toBe(1);
  expect(await count(id)).toBe(1);
  for (const none of ["185.220.101.", "85.220.101.1", "185.220.101._", "%", '1","flag":"is_proxy'])
    expect([none, await count(none)]).toEqual([none, 0]);
  expect(await count("100%_x")).toBe(1);
  for (const [value, flag, asWritten] of [
    ["2a00:1450::1", "is_proxy", "2A00:1450:0::1"],
    ["xn--mnchen-3ya.de", "disposable", "München.de"],
    ["jane@gmail.com", "disposable", "Jane+shop@gmail.com"],
  ] as const) {
    await it.ask("POST", "overrides", { value, flag, verdict: true, note: "n" });
    expect([asWritten, await count(asWritten)]).toEqual([asWritten, 1]);
  }
});

test("an analyst publishes shadow rules, but nothing that decides", async () => {
  const rule = (name: string, mode: string) =>
    `[[rule]]\nname = "${name}"\nwhen = 'ip.is_tor_exit'\nthen = "deny"\nmode = "${mode}"\n`;
  const analyst = bearer(await create("bea", "analyst"));
  const publish = (text: string, headers = {}) => it.ask("POST", "rulesets", { text, note: "n" }, headers);
  expect((await publish(rule("a", "live"))).status).toBe(201);
  expect((await publish(rule("a", "live") + rule("b", "shadow"), analyst)).status).toBe(201);
  expect((await publish(rule("a", "live") + rule("c", "off"), analyst)).status).toBe(201);
  for (const text of [
    "",
    rule("a", "shadow"),
    rule("a", "live") + rule("b", "live"),
    `on_missing = "deny"\n${rule("a", "live")}`,
  ])
    expect((await publish(text, analyst)).code).toBe("ROLE_REQUIRED");
  expect((await it.ask("POST", "rulesets/1/restore", { note: "n" }, analyst)).code).toBe("ROLE_REQUIRED");
});

test("a name that exists is 409; an unknown name 404", async () => {
  await create("bob", "read");
  expect((await it.ask("POST", "admin-tokens", { name: "bob", role: "admin" })).code).toBe(
    "ADMIN_TOKEN_EXISTS",
  );
  for (const method of ["GET", "DELETE"]) {
    expect((await it.ask(method, "admin-tokens/eve")).code).toBe("ADMIN_TOKEN_NOT_FOUND");
  }
});

describe("the author", () => {
  const lastAuthor = async () => (await it.ask("GET", "audit?limit=1")).document.entries[0].author;

  test("of a request with a named token is its name, and no other", async () => {
    const token = bearer(await create("ada", "admin"));
    expect((await it.ask("POST", "keys", { name: "a" }, token)).status).toBe(201);
    expect(await lastAuthor()).toBe("ada");
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
    const token = await create("ada", "admin");
    const { page, document } = await logIn(token);
    expect(document).toMatchObject({ author: "ada", role: "admin", token_name: "ada" });
    expect((await it.ask("POST", "keys", { name: "a" }, page)).status).toBe(201);
    expect((await it.ask("GET", "audit?limit=1&author=ada&source=console")).document.entries).toHaveLength(1);
    const other = await it.ask("POST", "session", { token, author: "bob" }, { Authorization: "" });
    expect(other.code).toBe("AUTHOR_INVALID");
    expect((await it.ask("POST", "keys", { name: "b" }, { ...page, "Inkling-Author": "bob" })).code).toBe(
      "AUTHOR_INVALID",
    );
  });

  test("of the root token is the author in the request", async () => {
    const { page, document } = await logIn(it.token, "dan");
    expect(document).toMatchObject({ author: "dan", role: "admin", token_name: null });
    await it.ask("POST", "keys", { name: "a" }, page);
    expect(await lastAuthor()).toBe("dan");
    expect((await it.ask("GET", "session")).document).toEqual({
      author: "admin API",
      role: "admin",
      token_name: null,
      expires_at: null,
    });
  });
});

describe("the end", () => {
  test("of a revoked token is immediate, including its sessions; other tokens remain", async () => {
    const [ada, bob] = [await create("ada", "admin"), await create("bob", "read")];
    const sessions = { ada: await logIn(ada), bob: await logIn(bob), root: await logIn(it.token, "root") };
    const revoked = await it.ask("DELETE", "admin-tokens/bob", undefined, bearer(ada));
    expect(revoked.document).toMatchObject({ name: "bob" });
    expect((await it.ask("GET", "keys", undefined, bearer(bob))).code).toBe("TOKEN_INVALID");
    expect((await it.ask("GET", "keys", undefined, sessions.bob.page)).code).toBe("SESSION_ENDED");
    expect((await it.ask("GET", "keys", undefined, sessions.ada.page)).status).toBe(200);
    expect((await it.ask("GET", "keys", undefined, sessions.root.page)).status).toBe(200);
    await create("bob", "admin"); // a different token with the same name
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
  const full = new StoreError("UNREACHABLE", "database or disk is full", "make room", true);
  const server = await adminServer({
    adminToken: { find: (hash: string) => adminToken.find(hash), recordUse: () => Promise.reject(full) },
  });
  expect((await server.ask("GET", "keys", undefined, bearer(token))).status).toBe(200);
  const errors = server.lines.map((line) => JSON.parse(line)).filter(({ level }) => level === "error");
  expect(errors).toMatchObject([{ event: "admin-database-failed", reason: full.message, hint: "make room" }]);
});
