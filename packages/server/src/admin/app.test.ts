// Tests the admin API as a function of a request, with a real store.

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ADMIN_PATH, ADMIN_PROBLEMS, type AdminProblemCode } from "@inkling/contract";
import { currentName, releaseNames, temporaryPath } from "@inkling/data";
import { StoreError } from "@inkling/store/error";
import { newToken } from "@inkling/store/keys/token";
import fc from "fast-check";
import { type AdminTest, adminServer, closeAdminServers } from "../../../../test/harness/admin-server.ts";
import { smallRelease, temporaryFolder } from "../../../../test/harness/release.ts";
import { testSettings } from "../../../../test/harness/server-options.ts";
import { freshToken, randomBytes } from "../../../../test/harness/tokens.ts";
import { Bodies } from "../limits/memory.ts";
import { ADMIN_ROUTES } from "./routes.ts";

afterAll(closeAdminServers);

let it: AdminTest;
beforeEach(async () => {
  it = await adminServer();
});

const OFF = { value: "81.2.69.142", flag: "is_tor_exit", verdict: false, note: "our office" };

describe("overrides", () => {
  test("made, read, listed, removed", async () => {
    const made = await it.ask("POST", "overrides", OFF, { "Inkling-Author": "ada" });
    const { id } = made.document;
    expect([made.status, made.headers.get("location")]).toEqual([201, `/admin/v1/overrides/${id}`]);
    expect(made.headers.get("cache-control")).toBe("no-store");
    const document = {
      id,
      kind: "address",
      ...OFF,
      author: "ada",
      created_at: "2026-06-01T12:00:00.000Z",
      expires_at: null,
      removed_at: null,
    };
    expect(made.document).toEqual({ ...document, outcome: "added" });
    expect((await it.ask("GET", `overrides/${id}`)).document).toEqual(document);
    expect((await it.ask("GET", "overrides")).document).toEqual({ overrides: [document], next_cursor: null });
    const removed = await it.ask("DELETE", `overrides/${id}`, undefined, { "Inkling-Author": "bob" });
    expect([removed.status, removed.document.removed_at]).toEqual([200, "2026-06-01T12:00:00.000Z"]);
    expect((await it.ask("DELETE", `overrides/${id}`)).document).toEqual(removed.document);
    expect((await it.ask("GET", "overrides")).document.overrides).toEqual([]);
    expect((await it.ask("GET", "overrides?ended=true")).document.overrides).toHaveLength(1);
    const audit = (await it.ask("GET", "audit")).document.entries;
    expect(
      audit.map((entry: { author: string; action: string }) => `${entry.author} ${entry.action}`),
    ).toEqual(["bob override-removed", "ada override-added", "test admin-token-created"]);
  });

  test("sent again: the same override, and nothing new in the audit trail", async () => {
    const first = await it.ask("POST", "overrides", OFF);
    const again = await it.ask("POST", "overrides", OFF);
    expect([again.status, again.document.id, again.document.outcome]).toEqual([
      200,
      first.document.id,
      "unchanged",
    ]);
    expect((await it.ask("GET", "audit")).document.entries).toHaveLength(2);
    const changed = await it.ask("POST", "overrides", { ...OFF, expires_at: "2026-07-01" });
    expect([changed.status, changed.document.outcome]).toEqual([200, "changed"]);
  });

  test("active before the answer is sent", async () => {
    await it.ask("POST", "overrides", OFF);
    expect(it.seen.refreshes).toBe(1);
  });

  test("an email address is kept as its hash, and nowhere else", async () => {
    const body = { value: "jane.doe@gmail.com", flag: "disposable", verdict: true, note: "x" };
    const made = await it.ask("POST", "overrides", body);
    expect(made.document).toMatchObject({ kind: "email_hash" });
    const everything = [made.document, (await it.ask("GET", "audit")).document, it.lines];
    expect(JSON.stringify(everything)).not.toContain("jane");
  });

  test("pages", async () => {
    for (let i = 0; i < 5; i++) {
      it.clock.now++;
      await it.ask("POST", "overrides", { ...OFF, value: `81.2.69.${i}` });
    }
    const values: string[] = [];
    let cursor = "";
    do {
      const { document } = await it.ask("GET", `overrides?limit=2${cursor && `&cursor=${cursor}`}`);
      values.push(...document.overrides.map(({ value }: { value: string }) => value));
      cursor = document.next_cursor ?? "";
    } while (cursor !== "");
    expect(values).toEqual([4, 3, 2, 1, 0].map((i) => `81.2.69.${i}`));
  });

  test("export, import elsewhere, import again: the same overrides, once", async () => {
    const bodies = [
      OFF,
      {
        value: "81.2.69.0/24",
        flag: "is_abuser",
        verdict: false,
        note: "too eager",
        expires_at: "2026-07-01",
      },
      { value: "mailinator.com", flag: "disposable", verdict: false, note: "a test" },
    ];
    for (const body of bodies) await it.ask("POST", "overrides", body);
    const file = (await it.ask("GET", "overrides/export")).document;
    const other = await adminServer();
    const first = await other.ask("POST", "overrides/import", file);
    expect(first.document).toEqual({ added: 3, changed: 0, unchanged: 0, expired: 0 });
    const second = await other.ask("POST", "overrides/import", file);
    expect(second.document).toEqual({ added: 0, changed: 0, unchanged: 3, expired: 0 });
    expect((await other.ask("GET", "overrides/export")).document).toEqual(file);
    other.clock.now = Date.parse("2026-07-02");
    expect((await other.ask("POST", "overrides/import", file)).document).toMatchObject({
      unchanged: 2,
      expired: 1,
    });
  });

  test("a file with one mistake changes nothing", async () => {
    await it.ask("POST", "overrides", OFF);
    const file = (await it.ask("GET", "overrides/export")).document;
    const row = file.overrides[0];
    const other = await adminServer();
    const broken = { ...file, overrides: [row, { ...row, value: "nowhere at all" }] };
    const refused = await other.ask("POST", "overrides/import", broken);
    expect([refused.status, refused.code]).toEqual([400, "BODY_INVALID"]);
    expect(refused.document.problems).toEqual([expect.stringMatching(/^overrides\.1\.value: /)]);
    const split = { ...file, overrides: [row, { ...row, verdict: true }] };
    const opposite = await other.ask("POST", "overrides/import", split);
    expect(opposite.code).toBe("OVERRIDE_CONTRADICTS");
    expect(opposite.document.problems).toEqual([
      `${row.value} ${row.flag}=true contradicts ${row.value} ${row.flag}=false (${row.note})`,
    ]);
    expect((await other.ask("GET", "overrides")).document.overrides).toEqual([]);
  });
});

const READS = [...ADMIN_ROUTES].flatMap(([id, { row }]) =>
  row.method === "GET" && row.names === undefined ? [id] : [],
);
test.each(READS)("%s answers as its row and its schema say", async (id) => {
  const { path, problems = [] } = ADMIN_ROUTES.get(id)!.row;
  // the harness checks the answer against the OpenAPI document
  const { status, code } = await it.ask("GET", path.slice(ADMIN_PATH.length));
  expect(status === 200 || problems.some((known) => known === code)).toBe(true);
});

describe("refusals", () => {
  type Row = [
    name: string,
    code: AdminProblemCode,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ];
  const rows: Row[] = [
    ["no token", "TOKEN_MISSING", "GET", "overrides", undefined, { Authorization: "" }],
    ["no token, no path", "TOKEN_MISSING", "GET", "nowhere", undefined, { Authorization: "" }],
    ["text", "TOKEN_INVALID", "GET", "overrides", undefined, { Authorization: "Bearer x" }],
    [
      "another token",
      "TOKEN_INVALID",
      "GET",
      "overrides",
      undefined,
      { Authorization: `Bearer ${newToken("ink_admin_", randomBytes)}` },
    ],
    [
      "an API key",
      "TOKEN_REQUIRED",
      "GET",
      "overrides",
      undefined,
      { Authorization: `Bearer ${freshToken()}` },
    ],
    ["an unknown path", "PATH_NOT_FOUND", "GET", "overides"],
    ["no id", "PATH_NOT_FOUND", "GET", "overrides/x"],
    ["an unknown id", "OVERRIDE_NOT_FOUND", "GET", "overrides/ovr_0123456789abcdef"],
    ["removing it", "OVERRIDE_NOT_FOUND", "DELETE", "overrides/ovr_0123456789abcdef"],
    ["a method", "METHOD_NOT_ALLOWED", "PUT", "overrides", "{}"],
    ["a method of another path", "METHOD_NOT_ALLOWED", "POST", "audit", "{}"],
    ["an encoded path", "PATH_NOT_FOUND", "GET", "%6Beys"],
    ["a slash at the end", "PATH_NOT_FOUND", "GET", "keys/"],
    [
      "another method of an open path",
      "TOKEN_MISSING",
      "POST",
      "openapi.json",
      undefined,
      { Authorization: "" },
    ],
    ["a parameter", "PARAMETER_INVALID", "GET", "overrides?limt=1"],
    ["a parameter that objects have", "PARAMETER_INVALID", "GET", "overrides?__proto__=1"],
    ["a text that PostgreSQL cannot store", "PARAMETER_INVALID", "GET", "decisions?event=a%00"],
    ["the same in a body", "BODY_INVALID", "POST", "rulesets", { text: "", note: "a\0" }],
    ["a limit with a space", "PARAMETER_INVALID", "GET", "overrides?limit=%201"],
    ["a limit with an exponent", "PARAMETER_INVALID", "GET", "overrides?limit=1e2"],
    ["a boolean in capitals", "PARAMETER_INVALID", "GET", "overrides?ended=TRUE"],
    ["a parameter twice", "PARAMETER_INVALID", "GET", "overrides?limit=1&limit=2"],
    ["a limit of 0", "PARAMETER_INVALID", "GET", "overrides?limit=0"],
    ["a limit of 1,001", "PARAMETER_INVALID", "GET", "overrides?limit=1001"],
    ["an invalid cursor", "PARAMETER_INVALID", "GET", "overrides?cursor=x"],
    ["a cursor of the other list", "PARAMETER_INVALID", "GET", "audit?cursor=1-ovr_0123456789abcdef"],
    [
      "an author of 101 characters",
      "AUTHOR_INVALID",
      "POST",
      "overrides",
      OFF,
      { "Inkling-Author": "x".repeat(101) },
    ],
    ["no body", "BODY_INVALID", "POST", "overrides"],
    ["no JSON", "BODY_INVALID", "POST", "overrides", "{"],
    ["JSON of another shape", "BODY_INVALID", "POST", "overrides", [OFF]],
    ["a misspelt field", "BODY_INVALID", "POST", "overrides", { ...OFF, vedrict: true }],
    ["a body of 17 KB", "CONTENT_TOO_LARGE", "POST", "overrides", { ...OFF, note: "x".repeat(17_000) }],
    ["a wide network", "OVERRIDE_TOO_WIDE", "POST", "overrides", { ...OFF, value: "81.0.0.0/8" }],
    ["the opposite", "OVERRIDE_CONTRADICTS", "POST", "overrides", { ...OFF, verdict: true }],
  ];
  test.each(rows)("%s: %s", async (_, code, method, path, body, headers) => {
    await it.ask("POST", "overrides", OFF);
    const before = it.lines.length;
    const refused = await it.ask(method, path, body, headers ?? {});
    expect([refused.code, refused.status]).toEqual([code, ADMIN_PROBLEMS[code].status]);
    expect(refused.headers.get("content-type")).toBe("application/problem+json");
    expect(Object.keys(refused.document).slice(0, 6)).toEqual([
      "type",
      "title",
      "status",
      "detail",
      "code",
      "request_id",
    ]);
    expect(it.lines.slice(before).join("")).toContain(`"status":${refused.status}`);
    expect((await it.ask("GET", "overrides")).document.overrides).toHaveLength(1);
  });

  test("while too many bodies arrive, a body is refused", async () => {
    const full = await adminServer({ bodies: new Bodies({ all: 10, alone: 10 }) });
    const refused = await full.ask("POST", "overrides", OFF);
    expect([refused.status, refused.code]).toEqual([429, "RATE_LIMITED"]);
  });

  test("a body without a declared length is cut off where it is too long", async () => {
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        sent += 1024;
        controller.enqueue(new TextEncoder().encode(" ".repeat(1024)));
        if (sent > 10_000_000) controller.close();
      },
    });
    const init = { method: "POST", headers: { Authorization: `Bearer ${it.token}` }, body };
    const response = await it.app.handle(new Request("http://t/admin/v1/overrides", init));
    expect(response.status).toBe(413);
    expect(sent).toBeLessThan(1_000_000);
  });

  test("random bodies are refused or accepted, and never a 500", async () => {
    const statuses = new Map<number, number>();
    const field = fc.oneof(
      fc.constantFrom<unknown>(
        "81.2.69.142",
        "gmail.com",
        "81.0.0.0/8",
        "is_proxy",
        "disposable",
        "ipsum-3",
        true,
        null,
      ),
      fc.constantFrom<unknown>(
        "note",
        "2027-01-01",
        "2001-01-01",
        1,
        "inkling-overrides",
        [],
        [{ value: "gmail.com" }],
      ),
      fc.jsonValue({ maxDepth: 2 }),
    );
    const keys = [
      "value",
      "flag",
      "verdict",
      "note",
      "author",
      "expires_at",
      "force",
      "format",
      "version",
      "overrides",
    ];
    const likely = fc.record({
      value: fc.constantFrom("81.2.69.142", "gmail.com", "81.0.0.0/8", "a@gmail.com", "co.uk", "x y"),
      flag: fc.constantFrom("is_proxy", "disposable", "is_prox"),
      verdict: fc.boolean(),
      note: fc.constantFrom("x", ""),
    });
    const body = fc.oneof(
      { weight: 3, arbitrary: likely },
      { weight: 1, arbitrary: fc.dictionary(fc.constantFrom(...keys), field) },
      { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
      {
        weight: 2,
        arbitrary: fc.record({
          format: fc.constant("inkling-overrides"),
          version: fc.constant(1),
          overrides: fc.array(likely, { maxLength: 3 }),
        }),
      },
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom("overrides", "overrides/import"), body, async (path, json) => {
        const { status } = await it.ask("POST", path, JSON.stringify(json));
        expect([200, 201, 400, 409, 422]).toContain(status);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }),
      { numRuns: 1_500 },
    );
    const seen = (status: number) => statuses.get(status) ?? 0;
    expect(seen(200) + seen(201)).toBeGreaterThan(40);
    for (const status of [400, 409, 422]) expect(seen(status)).toBeGreaterThan(5);
  });

  test("a refused query lists its mistakes", async () => {
    const { document } = await it.ask("GET", "overrides?limit=0&ended=1");
    expect(document.detail).toBe("Allowed here, each at most once: `limit`, `cursor`, `ended`.");
    expect(document.problems).toEqual([
      "limit: must be a whole number from 1 to 1000",
      "ended: must be true or false",
    ]);
  });

  test("405 lists the methods, including HEAD", async () => {
    expect((await it.ask("PATCH", "overrides", "{}")).headers.get("allow")).toBe("GET, HEAD, POST");
    const head = await it.ask("HEAD", "overrides");
    expect([head.status, head.document, head.headers.get("content-length")]).toEqual([200, undefined, "35"]);
  });

  test("a rotated token is invalid immediately", async () => {
    await it.store.adminToken.rotate({ author: "ada", source: "cli" });
    expect((await it.ask("GET", "overrides")).code).toBe("TOKEN_INVALID");
  });

  const UNUSED = { recordUse: () => Promise.reject(new Error("no token was found")) };
  const databaseErrors: [string, StoreError, RegExp][] = [
    [
      "is unreachable",
      new StoreError("UNREACHABLE", "db: gone", "look there"),
      /^The database is unreachable\. Nothing was changed, as far/,
    ],
    [
      "is full",
      new StoreError("UNREACHABLE", "db: full", "make room", true),
      /^The database cannot be written; /,
    ],
    ["is newer", new StoreError("NEWER", "db: newer", "upgrade"), /^This server cannot use the database; /],
  ];
  test.each(databaseErrors)(
    "a database that %s: why is in the log, not in the answer",
    async (_, error, detail) => {
      const failing = await adminServer({ adminToken: { ...UNUSED, find: () => Promise.reject(error) } });
      const away = await failing.ask("GET", "overrides");
      expect([away.code, away.headers.get("retry-after")]).toEqual(["DATABASE_UNREACHABLE", "5"]);
      expect(away.document.detail).toMatch(detail);
      expect(JSON.stringify(away.document)).not.toContain(error.message);
      const logged = failing.lines.map((line) => JSON.parse(line)).filter(({ level }) => level === "error");
      const { message: reason, hint } = error;
      expect(logged).toMatchObject([
        { event: "admin-database-failed", reason, hint, request_id: away.document.request_id },
      ]);
    },
  );

  test("a client that left, which is no error", async () => {
    const leaving = AbortSignal.abort(new Error("left"));
    const find = () => Promise.reject(leaving.reason);
    const { app, lines, token } = await adminServer({ adminToken: { ...UNUSED, find } });
    const headers = { Authorization: `Bearer ${token}` };
    const { status } = await app.handle(
      new Request("http://t/admin/v1/overrides", { headers, signal: leaving }),
    );
    expect([status, lines.join("").includes("error")]).toEqual([499, false]);
  });

  test("an unexpected error, which is logged", async () => {
    const broken = await adminServer({
      adminToken: { ...UNUSED, find: () => Promise.reject(new Error("a mistake")) },
    });
    expect((await broken.ask("GET", "overrides")).code).toBe("INTERNAL");
    expect(broken.lines.join("")).toContain("a mistake");
  });
});

describe("a switch, while the database cannot take its entry", () => {
  const away = () => Promise.reject(new StoreError("UNREACHABLE", "database or disk is full", "make room"));

  async function twoReleases() {
    const dataDir = temporaryFolder();
    for (const n of [1, 2]) smallRelease(dataDir, n);
    const [current, before] = releaseNames(dataDir);
    const releases = {
      ...(it.options.releases as object),
      current: { name: current } as never,
    };
    const server = await adminServer({ settings: testSettings({ dataDir }), releases });
    const { audit } = server.store;
    const stored = audit.record.bind(audit);
    audit.record = away;
    const rollBack = () =>
      server.ask("POST", "data/rollback", { current }, { "Inkling-Author": "ada@x.org" });
    return { ...server, dataDir, current: current!, before: before!, rollBack, stored };
  }

  test("is refused", async () => {
    const { dataDir, current, rollBack } = await twoReleases();
    expect(await rollBack()).toMatchObject({ status: 503, code: "DATABASE_UNREACHABLE" });
    expect(currentName(dataDir)).toBe(current);
  });

  test("that fails leaves a second entry with the reason", async () => {
    const { store, ask, dataDir, current, rollBack, stored } = await twoReleases();
    store.audit.record = stored;
    mkdirSync(temporaryPath(join(dataDir, "pinned"))); // a folder with this name makes it impossible to write the file
    expect(await rollBack()).toMatchObject({ status: 409, code: "ACTION_REFUSED" });
    expect(currentName(dataDir)).toBe(current);
    const { entries } = (await ask("GET", "audit?source=api")).document;
    expect(entries).toMatchObject([
      { action: "change-failed", after: { action: "release-rolled-back", reason: expect.any(String) } },
      { action: "release-rolled-back" },
    ]);
  });
});

test("feeds that came, changed and went away are those that changed between two releases", async () => {
  const dataDir = temporaryFolder();
  const feed = (id: string, sha256: string | undefined, entries: number) => ({
    id,
    sets: "is_abuser",
    source: "mirror" as const,
    state: "loaded" as const,
    entries,
    licence: "CC0",
    ...(sha256 !== undefined && { sha256: sha256.repeat(64) }),
  });
  const before = [
    feed("same", "a", 1),
    feed("changed", "b", 2),
    feed("gone", "c", 3),
    feed("lost", undefined, 0),
  ];
  smallRelease(dataDir, 1, [], before);
  smallRelease(dataDir, 2, [], [feed("same", "a", 1), feed("changed", "d", 4), feed("new", "e", 5)]);
  const { ask } = await adminServer({ settings: testSettings({ dataDir }) });
  const { releases } = (await ask("GET", "data/releases")).document;
  expect(releases[0].feeds_changed).toEqual([
    { feed: "changed", entries_before: 2, entries: 4 },
    { feed: "new", entries_before: 0, entries: 5 },
    { feed: "gone", entries_before: 3, entries: 0 },
  ]);
  expect(releases[1].feeds_changed).toBeNull();
});

test("audit filters: each by itself, together, and page by page", async () => {
  const { ask, clock } = it;
  const add = (value: string, author: string) =>
    ask("POST", "overrides", { ...OFF, value }, { "Inkling-Author": author });
  clock.now += 1_000;
  const { id } = (await add("81.2.69.1", "ada")).document;
  clock.now += 1_000;
  await add("81.2.69.2", "bob");
  clock.now += 1_000;
  await ask("DELETE", `overrides/${id}`, undefined, { "Inkling-Author": "bob" });
  const sequences = async (query: string) => {
    const { status, document } = await ask("GET", `audit?${query}`);
    return status === 200 ? document.entries.map((entry: { sequence: number }) => entry.sequence) : status;
  };
  expect(await sequences("")).toEqual([4, 3, 2, 1]);
  expect(await sequences("action=override-added")).toEqual([3, 2]);
  expect(await sequences("author=bob")).toEqual([4, 3]);
  expect(await sequences("author=bob&action=override-removed")).toEqual([4]);
  expect(await sequences(`subject=${id}`)).toEqual([4, 2]);
  expect(await sequences("source=cli")).toEqual([1]);
  expect(await sequences("source=console")).toEqual([]);
  expect(await sequences(`since=${new Date(clock.now - 1_000).toISOString()}`)).toEqual([4, 3]);
  expect(await sequences("since=2026-06-02")).toEqual([]);
  const first = (await ask("GET", "audit?author=bob&limit=1")).document;
  expect(first.next_cursor).toBe("4");
  expect(await sequences(`author=bob&limit=1&cursor=${first.next_cursor}`)).toEqual([3]);
  for (const wrong of ["action=deleted", "source=phone", "since=yesterday", "since=2026-13-01", "who=ada"])
    expect([wrong, await sequences(wrong)]).toEqual([wrong, 400]);
});
