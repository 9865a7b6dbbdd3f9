// Tests keys over the admin API: creation, changes, rotation, revocation, usage, and refusals.

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { ADMIN_PROBLEMS, type AdminProblemCode, recordOf } from "@inkling/contract";
import { OVERRIDE_FLAGS } from "@inkling/engine";
import { hashToken, isWellFormedToken } from "@inkling/store/keys/token";
import {
  ADMIN_NOW,
  type AdminTest,
  adminServer,
  closeAdminServers,
} from "../../../../test/harness/admin-server.ts";
import { tokensOf } from "../../../../test/harness/key-updates.ts";

let it: AdminTest;
beforeEach(async () => {
  it = await adminServer();
});
afterAll(closeAdminServers);

const WANTED = {
  name: "shop",
  scopes: ["email"],
  networks: ["10.0.0.0/8"],
  rate: 5,
  expires_at: "2026-07-01",
};
const ADA = { "Inkling-Author": "ada" };

async function make(body: object = WANTED) {
  const { document } = await it.ask("POST", "keys", body, ADA);
  return document as { id: string; token: string; created_at: string };
}

describe("keys", () => {
  test("created: the token is shown once, and is valid before the answer is sent", async () => {
    const made = await it.ask("POST", "keys", WANTED, ADA);
    const { id, token, ...rest } = made.document;
    expect([made.status, made.headers.get("location")]).toEqual([201, `/admin/v1/keys/${id}`]);
    expect(isWellFormedToken(token)).toBe(true);
    expect((await it.store.findKeyByHash(hashToken(token)))?.id).toBe(id);
    expect(it.seen.keyRefreshes).toBe(1);
    expect(rest).toMatchObject({
      ...WANTED,
      expires_at: "2026-07-01T00:00:00.000Z",
      state: "live",
      quota: null,
    });
    const others = [
      await it.ask("GET", `keys/${id}`),
      await it.ask("GET", "keys"),
      await it.ask("GET", "audit"),
    ].map(({ document }) => document);
    expect(JSON.stringify([others, it.lines])).not.toContain(token);
    expect(others[0]).toEqual({ ...{ id, ...rest }, last_used_at: null });
  });

  test("created with only a name: everything else is the server's default", async () => {
    const { document } = await it.ask("POST", "keys", { name: "x", rate: null, expires_at: null });
    expect(document).toMatchObject({
      mode: "live",
      scopes: ["geolocate", "reputation", "email", "assess"],
      networks: [],
      rate: null,
      expires_at: null,
    });
  });

  test("changed: only the given fields, and null unsets; the same request again changes nothing", async () => {
    const { id, token: _, ...made } = await make();
    const changed = await it.ask(
      "PATCH",
      `keys/${id}`,
      { name: "till", expires_at: null, networks: [] },
      ADA,
    );
    expect([changed.status, changed.document]).toEqual([
      200,
      { id, ...made, name: "till", expires_at: null, networks: [] } as object,
    ]);
    await it.ask("PATCH", `keys/${id}`, { name: "till" }, ADA);
    const { entries } = (await it.ask("GET", "audit")).document;
    expect(
      entries.map(({ author, action }: { author: string; action: string }) => `${author} ${action}`),
    ).toEqual(["ada key-changed", "ada key-created", "test admin-token-created"]);
    expect([entries[0].before.name, entries[0].after.name]).toEqual(["shop", "till"]);
  });

  test("rotated: both tokens for a while", async () => {
    const { id, token } = await make();
    const rotated = await it.ask("POST", `keys/${id}/rotate`, { overlap_seconds: 60 });
    expect(rotated.document).toMatchObject({ id, old_token_valid_until: "2026-06-01T12:01:00.000Z" });
    expect(rotated.document.token).not.toBe(token);
    const tokens = tokensOf(await it.store.loadKeys());
    expect(new Map(tokens.map(({ hash, validUntil }) => [hash, validUntil]))).toEqual(
      new Map([
        [hashToken(token), ADMIN_NOW + 60_000],
        [hashToken(rotated.document.token), undefined],
      ]),
    );
  });

  test("traced for at most 7 days, and no longer when asked; the audit trail has both", async () => {
    const { id } = await make();
    const trace = (until: string | null) => it.ask("PATCH", `keys/${id}`, { traced_until: until }, ADA);
    const until = new Date(ADMIN_NOW + 7 * 86_400_000).toISOString();
    expect((await trace(until)).document.traced_until).toBe(until);
    expect(tokensOf(await it.store.loadKeys())[0]!.key.tracedUntil).toBe(Date.parse(until));
    for (const wrong of ["2026-06-08T12:00:01Z", "2026-06-01T11:59:59Z", "soon"])
      expect((await trace(wrong)).status).toBe(400);
    expect((await trace(null)).document.traced_until).toBeNull();
    const { entries } = (await it.ask("GET", "audit?action=key-changed")).document;
    expect(
      entries.map(({ before, after }: Record<string, { traced_until: string | null }>) => [
        before!.traced_until,
        after!.traced_until,
      ]),
    ).toEqual([
      [until, null],
      [null, until],
    ]);
  });

  test("revoked, for good; again is the same", async () => {
    const { id } = await make();
    const revoked = await it.ask("DELETE", `keys/${id}`);
    expect([revoked.status, revoked.document.state]).toEqual([200, "revoked"]);
    it.clock.now += 1000;
    expect((await it.ask("DELETE", `keys/${id}`)).document).toEqual(revoked.document);
    expect((await it.ask("PATCH", `keys/${id}`, { name: "back" })).code).toBe("KEY_REVOKED");
    expect((await it.ask("POST", `keys/${id}/rotate`, {})).code).toBe("KEY_REVOKED");
  });

  test("only keys that expire soon", async () => {
    const at = (days: number) => new Date(it.clock.now + days * 86_400_000).toISOString();
    for (const [name, days] of [
      ["past", 1],
      ["soon", 9],
      ["revoked", 9],
      ["later", 99],
    ] as const)
      await make({ name, expires_at: at(days) });
    await make({ name: "never" });
    it.clock.now += 2 * 86_400_000;
    const { document: all } = await it.ask("GET", "keys");
    const { id } = all.keys.find(({ name }: { name: string }) => name === "revoked");
    await it.ask("DELETE", `keys/${id}`);
    const { document } = await it.ask("GET", "keys?expires_in_days=14");
    expect(document.keys.map(({ name }: { name: string }) => name)).toEqual(["soon"]);
    expect((await it.ask("GET", "keys?expires_in_days=0")).code).toBe("PARAMETER_INVALID");
  });

  test("pages, newest first, with today's lookups", async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      it.clock.now++;
      ids.unshift((await make({ name: `key ${i}` })).id);
    }
    const entry = { keyId: ids[0]!, day: "2026-06-01", lookup: "email", count: 3 } as const;
    await it.store.usage.add({ recorder: "r", sequence: 1, entries: [entry] });
    const seen: { id: string; lookups_today: object }[] = [];
    let cursor = "";
    do {
      const { document } = await it.ask("GET", `keys?limit=2${cursor && `&cursor=${cursor}`}`);
      seen.push(...document.keys);
      cursor = document.next_cursor ?? "";
    } while (cursor !== "");
    expect(seen.map(({ id }) => id)).toEqual(ids);
    expect(seen.map((key) => (key as { last_used_at?: string | null }).last_used_at)).toEqual(
      seen.map(({ lookups_today }) =>
        Object.values(lookups_today).some((n) => n > 0) ? expect.stringMatching(/^2026-06-01$/) : null,
      ),
    );
    expect(seen[0]?.lookups_today).toEqual({ geolocate: 0, reputation: 0, email: 3, assess: 0 });
    expect(seen[1]?.lookups_today).toEqual({ geolocate: 0, reputation: 0, email: 0, assess: 0 });
  });

  test("usage by day", async () => {
    const NOTHING = { not_allowed: 0, rate_limited: 0, quota_exceeded: 0 };
    const FIVE = { ...NOTHING, rate_limited: 5 };
    const SINGLE = { geolocate: 0, reputation: 0, email: 0, assess: 0 };
    const CLEAN = recordOf(OVERRIDE_FLAGS, () => 0);
    const FLAGGED = { ...CLEAN, is_proxy: 2, disposable: 1 };
    const BATCH = { ...SINGLE, geolocate: 3 };
    const { id } = await make();
    const entries = [
      { keyId: id, day: "2026-05-31", lookup: "email", count: 2 },
      { keyId: id, day: "2026-06-01", lookup: "email", count: 3 },
      { keyId: id, day: "2026-06-01", lookup: "geolocate", count: 4 },
      { keyId: id, day: "2026-06-01", lookup: "geolocate_batch", count: 3 },
      { keyId: id, day: "2026-06-01", lookup: "rate_limited", count: 5 },
      { keyId: id, day: "2026-06-01", lookup: "is_proxy", count: 2 },
      { keyId: id, day: "2026-06-01", lookup: "disposable", count: 1 },
    ] as const;
    await it.store.usage.add({ recorder: "r", sequence: 1, entries });
    expect((await it.ask("GET", `keys/${id}/usage`)).document).toEqual({
      from: "2026-05-02",
      to: "2026-06-01",
      usage: [
        {
          at: "2026-05-31",
          geolocate: 0,
          reputation: 0,
          email: 2,
          assess: 0,
          total: 2,
          batch: SINGLE,
          refused: NOTHING,
          flagged: CLEAN,
        },
        {
          at: "2026-06-01",
          geolocate: 4,
          reputation: 0,
          email: 3,
          assess: 0,
          total: 7,
          batch: BATCH,
          refused: FIVE,
          flagged: FLAGGED,
        },
      ],
    });
    const { keys } = (await it.ask("GET", "keys")).document;
    const row = keys.find((key: { id: string }) => key.id === id);
    expect(row).toMatchObject({
      lookups_today: { geolocate: 4, reputation: 0, email: 3, assess: 0 },
      refused_today: FIVE,
    });
  });
});

describe("an Idempotency-Key", () => {
  const once = { "Idempotency-Key": "abc-1" };
  test("makes one key, and returns it again", async () => {
    const all = await Promise.all([1, 2, 3].map(() => it.ask("POST", "keys", WANTED, once)));
    all.push(await it.ask("POST", "keys", WANTED, once));
    expect(new Set(all.map(({ document }) => document.token)).size).toBe(1);
    expect((await it.ask("GET", "keys")).document.keys).toHaveLength(1);
    it.clock.now += 600_001;
    expect((await it.ask("POST", "keys", WANTED, once)).document.token).not.toBe(all[0]!.document.token);
  });
  test("of another request is refused; a request that failed may be tried again", async () => {
    expect((await it.ask("POST", "keys", { name: "" }, once)).code).toBe("BODY_INVALID");
    expect((await it.ask("POST", "keys", WANTED, once)).status).toBe(201);
    const other = await it.ask("POST", "keys", { ...WANTED, name: "other" }, once);
    expect(other.code).toBe("IDEMPOTENCY_KEY_INVALID");
    expect((await it.ask("POST", "keys", WANTED, { "Idempotency-Key": "a b" })).code).toBe(
      "IDEMPOTENCY_KEY_INVALID",
    );
  });
  test("without one there are two", async () => {
    await make();
    await make();
    expect((await it.ask("GET", "keys")).document.keys).toHaveLength(2);
  });
});

describe("refusals", () => {
  const rows: [name: string, code: AdminProblemCode, method: string, path: string, body?: unknown][] = [
    ["no name", "BODY_INVALID", "POST", "keys", {}],
    ["no JSON", "BODY_INVALID", "POST", "keys", "{"],
    ["a list", "BODY_INVALID", "POST", "keys", []],
    ["an unknown field", "BODY_INVALID", "POST", "keys", { ...WANTED, expiresAt: "2027-01-01" }],
    ["a time that is over", "BODY_INVALID", "POST", "keys", { ...WANTED, expires_at: "2020-01-01" }],
    ["no scope", "BODY_INVALID", "POST", "keys", { ...WANTED, scopes: [] }],
    ["a network with bits after it", "BODY_INVALID", "POST", "keys", { ...WANTED, networks: ["10.0.0.1/8"] }],
    ["a rate below 0", "BODY_INVALID", "POST", "keys", { ...WANTED, rate: -1 }],
    ["another mode for a key", "BODY_INVALID", "PATCH", "keys/ID", { mode: "test" }],
    ["a name of nothing", "BODY_INVALID", "PATCH", "keys/ID", { name: " " }],
    ["a change to a time that is over", "BODY_INVALID", "PATCH", "keys/ID", { expires_at: "2020-01-01" }],
    ["an overlap of a year", "BODY_INVALID", "POST", "keys/ID/rotate", { overlap_seconds: 31_536_000 }],
    ["an overlap in words", "BODY_INVALID", "POST", "keys/ID/rotate", { overlap_seconds: "1d" }],
    ["a body of 17 KB", "CONTENT_TOO_LARGE", "POST", "keys", { name: "x".repeat(17_000) }],
    ["no such key", "KEY_NOT_FOUND", "GET", "keys/key_0123456789abcdef"],
    ["to change no key", "KEY_NOT_FOUND", "PATCH", "keys/key_0123456789abcdef", { name: "x" }],
    ["to rotate no key", "KEY_NOT_FOUND", "POST", "keys/key_0123456789abcdef/rotate", {}],
    ["to revoke no key", "KEY_NOT_FOUND", "DELETE", "keys/key_0123456789abcdef"],
    ["usage of no key", "KEY_NOT_FOUND", "GET", "keys/key_0123456789abcdef/usage"],
    ["no id", "PATH_NOT_FOUND", "GET", "keys/1"],
    ["a method", "METHOD_NOT_ALLOWED", "DELETE", "keys"],
    ["a cursor of another list", "PARAMETER_INVALID", "GET", "keys?cursor=1-ovr_0123456789abcdef"],
    ["usage by the hour", "PARAMETER_INVALID", "GET", "keys/ID/usage?by=hour"],
    ["usage from an hour", "PARAMETER_INVALID", "GET", "keys/ID/usage?from=2026-06-01T00"],
    [
      "usage that ends before it begins",
      "PARAMETER_INVALID",
      "GET",
      "keys/ID/usage?from=2026-06-02&to=2026-06-01",
    ],
    [
      "usage of a day that is none",
      "PARAMETER_INVALID",
      "GET",
      "keys/ID/usage?from=2026-13-01&to=2026-13-02",
    ],
    ["usage of ten years", "PARAMETER_INVALID", "GET", "keys/ID/usage?from=2016-06-02"],
  ];
  test.each(rows)("%s: %s", async (_, code, method, path, body) => {
    const { id } = await make();
    const before = (await it.ask("GET", "keys")).document;
    const refused = await it.ask(method, path.replace("ID", id), body);
    expect([refused.code, refused.status]).toEqual([code, ADMIN_PROBLEMS[code].status]);
    if (code === "BODY_INVALID" && body !== "{") expect(refused.document.problems).not.toEqual([]);
    expect((await it.ask("GET", "keys")).document).toEqual(before);
  });
});
