import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { LogLevel } from "@inkling/contract";
import { Log, scrub } from "./log.ts";

function setUp(level: LogLevel) {
  const lines: string[] = [];
  const log = new Log({ level, write: (text) => lines.push(text), now: () => 0 });
  return { log, lines };
}
const ACCESS = {
  method: "GET",
  route: "/v1/ip-intel/geolocate/{ip}",
  status: 200,
  ms: 0.0123,
  keyId: "key_a",
  requestId: "r1",
};

describe("log", () => {
  test("an access line is one JSON object", () => {
    const { log, lines } = setUp("access");
    log.access(ACCESS);
    log.access({ ...ACCESS, keyId: undefined });
    expect(lines).toEqual([]);
    log.flush();
    expect(lines.length).toBe(1);
    const [first, second, rest] = lines[0]!.split("\n");
    expect(JSON.parse(first!)).toEqual({
      time: "1970-01-01T00:00:00.000Z",
      level: "access",
      method: "GET",
      route: "/v1/ip-intel/geolocate/{ip}",
      status: 200,
      ms: 0.012,
      key: "key_a",
      request_id: "r1",
    });
    expect(JSON.parse(second!).key).toBeUndefined();
    expect(rest).toBe("");
  });

  test("a refused request has its code, and docs/log-events.md lists every field of a line", () => {
    const { log, lines } = setUp("access");
    log.access({ ...ACCESS, status: 401, code: "KEY_INVALID", values: 3, traceId: "t1" });
    log.flush();
    const line: Record<string, unknown> = JSON.parse(lines[0]!);
    expect(line).toMatchObject({ status: 401, code: "KEY_INVALID", values: 3 });
    const page = readFileSync(join(import.meta.dir, "../../../../docs/log-events.md"), "utf8");
    const [, table = ""] = page.split("## Access lines");
    expect([...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)).toEqual(Object.keys(line));
  });

  test("lines stay in order: an event writes what was gathered first", () => {
    const { log, lines } = setUp("access");
    log.access(ACCESS);
    log.info("stopping");
    expect(lines.map((line) => JSON.parse(line).level)).toEqual(["access", "info"]);
  });

  test("many access lines are written before their time", () => {
    const { log, lines } = setUp("access");
    for (let i = 0; i < 1_000; i++) log.access(ACCESS);
    expect(lines.length).toBeGreaterThan(0);
    log.flush();
  });

  test.each([
    ["error", ["error"]],
    ["info", ["info", "error"]],
    ["access", ["info", "error"]],
  ] as const)("level %s", (level, expected) => {
    const { log, lines } = setUp(level);
    log.info("listening");
    log.error("no-release");
    expect(lines.map((line) => JSON.parse(line).level)).toEqual([...expected]);
    expect(log.hasAccess).toBe(level === "access");
  });

  test("an unexpected error keeps its stack and loses what the caller sent", () => {
    const { log, lines } = setUp("error");
    log.crash("request-failed", new TypeError("jane@example.org and 81.2.69.142 are odd"), ["81.2.69.142"]);
    const line = JSON.parse(lines[0]!);
    expect(line.error).toBe("TypeError: [removed] and [removed] are odd");
    expect(line.stack.length).toBeGreaterThan(0);
    expect(lines[0]).not.toContain("jane");
    expect(lines[0]).not.toContain("81.2.69.142");
  });

  test.each([
    ["a key", "no ink_live_3fK9aaaa_bbb here", "no [removed] here"],
    ["an email address", 'at "a b@c.de" there', 'at "a [removed]" there'],
    ["a given text, everywhere", "x 8.8.8.8 y 8.8.8.8", "x [removed] y [removed]"],
    ["nothing", "all is well", "all is well"],
  ])("scrub: %s", (_, text, clean) => {
    expect(scrub(text, ["8.8.8.8", ""])).toBe(clean);
  });
});
