import { describe, expect, test } from "bun:test";
import { parseIp } from "@inkling/engine";
import { isSourceAllowed, type Key, KeyInputError, keyFromRow, rowFromKey, SCOPES } from "./key.ts";
import { parseNewKey } from "./key-input.ts";

const NOW = Date.parse("2026-06-01T00:00:00Z");

function problems(input: unknown): readonly string[] {
  try {
    parseNewKey(input, NOW);
  } catch (error) {
    if (error instanceof KeyInputError) return error.problems;
    throw error;
  }
  return [];
}

const FULL: Key = {
  ...parseNewKey(
    {
      name: "checkout",
      scopes: ["email", "geolocate"],
      networks: ["10.0.0.0/8", "2001:db8::/32", "192.0.2.7", "::ffff:198.51.100.0/120"],
      rate: 0.5,
      burst: 10,
      quota: 1_000_000_000_000,
      expires_at: "2027-01-31T12:00:00+01:00",
    },
    NOW,
  ),
  id: "key_0123456789abcdef",
  hint: "ink_live_0123…",
  createdAt: NOW,
  revokedAt: undefined,
  tracedUntil: NOW + 1,
};

describe("a new key", () => {
  test("only needs a name: live, every scope, from anywhere, the server's limits, for ever", () => {
    expect(parseNewKey({ name: "  shop " }, NOW)).toEqual({
      name: "shop",
      mode: "live",
      scopes: [...SCOPES],
      networks: [],
      rate: undefined,
      burst: undefined,
      quota: undefined,
      expiresAt: undefined,
    });
  });

  test("scopes are put in order, without repeats", () => {
    expect(parseNewKey({ name: "x", scopes: ["email", "geolocate", "email"] }, NOW).scopes).toEqual([
      "geolocate",
      "email",
    ]);
  });

  test("a bare date is its first moment in UTC", () => {
    expect(parseNewKey({ name: "x", expires_at: "2027-01-31" }, NOW).expiresAt).toBe(Date.UTC(2027, 0, 31));
  });

  const refused: [string, unknown, string][] = [
    ["no name", {}, "`name` is required"],
    ["blank name", { name: "   " }, "name"],
    ["name of 101 characters", { name: "x".repeat(101) }, "name"],
    ["control character in the name", { name: "a\u0000b" }, "name"],
    ["half a surrogate pair in the name", { name: "a\ud800" }, "name"],
    ["no scope", { name: "x", scopes: [] }, "scopes"],
    ["unknown scope", { name: "x", scopes: ["admin"] }, "scopes"],
    ["unknown mode", { name: "x", mode: "prod" }, "mode"],
    ["network with host bits", { name: "x", networks: ["10.0.0.1/8"] }, "networks"],
    ["network that is a name", { name: "x", networks: ["localhost"] }, "networks"],
    ["negative rate", { name: "x", rate: -1 }, "rate"],
    ["rate without end", { name: "x", rate: Infinity }, "rate"],
    ["burst of 0", { name: "x", burst: 0 }, "burst"],
    ["half a burst", { name: "x", burst: 1.5 }, "burst"],
    ["negative quota", { name: "x", quota: -1 }, "quota"],
    ["expired", { name: "x", expires_at: "2026-05-31" }, "expires_at"],
    ["expiry that is no time", { name: "x", expires_at: "next year" }, "expires_at"],
    ["expiry on a day that does not exist", { name: "x", expires_at: "2027-02-31" }, "expires_at"],
    ["unknown field", { name: "x", scope: "email" }, "unknown field `scope`"],
    ["not an object", "x", "key"],
  ];
  for (const [name, input, place] of refused) {
    test(`refused: ${name}`, () => {
      expect(problems(input).map((line) => line.split(":")[0])).toEqual([place]);
    });
  }

  test("all problems are reported together", () => {
    expect(problems({ name: "", mode: "x", rate: -1 })).toHaveLength(3);
  });
});

describe("rows", () => {
  test("a key survives its row", () => {
    const row = rowFromKey(FULL);
    expect(row.networks).toBe("10.0.0.0/8 2001:db8::/32 192.0.2.7/32 198.51.100.0/24");
    expect(rowFromKey(keyFromRow(row))).toEqual(row);
  });

  test("64-bit integers as text are read (PostgreSQL)", () => {
    const row = rowFromKey(FULL);
    expect(keyFromRow({ ...row, created_at: String(row.created_at), quota: String(row.quota) })).toEqual(
      keyFromRow(row),
    );
  });

  test("a row of an older version, which knew no traces, is read", () => {
    const { traced_until: _, ...row } = rowFromKey(FULL);
    expect(keyFromRow(row).tracedUntil).toBeUndefined();
  });

  const broken: [string, Record<string, string>][] = [
    ["mode", { mode: "prod" }],
    ["network", { networks: "10.0.0.0/8 everywhere" }],
  ];
  for (const [name, change] of broken) {
    test(`an unknown ${name} is an error, never less than what was meant`, () => {
      expect(() => keyFromRow({ ...rowFromKey(FULL), ...change })).toThrow(
        Object.values(change)[0]!.split(" ").at(-1),
      );
    });
  }

  test("a scope of a newer version is left out and reported", () => {
    const reasons: string[] = [];
    const key = keyFromRow({ ...rowFromKey(FULL), scopes: "geolocate future" }, (reason) =>
      reasons.push(reason),
    );
    expect([key.scopes, reasons]).toEqual([["geolocate"], ['unknown scope "future"']]);
  });
});

describe("allowed networks", () => {
  const rows: [string, string, boolean][] = [
    ["inside", "10.255.0.1", true],
    ["single address", "192.0.2.7", true],
    ["its neighbour", "192.0.2.8", false],
    ["IPv6", "2001:db8:1::1", true],
    ["IPv4-mapped network, written as IPv6", "198.51.100.200", true],
    ["outside", "11.0.0.0", false],
  ];
  for (const [name, text, want] of rows) {
    test(name, () => {
      expect(isSourceAllowed(FULL, parseIp(text)!)).toBe(want);
    });
  }
  test("none means anywhere", () => {
    expect(isSourceAllowed({ ...FULL, networks: [] }, parseIp("11.0.0.0")!)).toBe(true);
  });
});
