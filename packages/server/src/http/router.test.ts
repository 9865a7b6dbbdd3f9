import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { anyText } from "../../../../test/harness/any-text.ts";
import { decodeSegment, decodeText, PathTemplate, pathEnd, Router, targetOf } from "./router.ts";

const routes = [
  { path: new PathTemplate("/keys/{id}", "key_\\d") },
  { path: new PathTemplate("/keys/{id}/rotate", "key_\\d") },
  { path: new PathTemplate("/keys/export"), alias: "/export" },
  { path: new PathTemplate("/files/{name}") },
];
const router = new Router(routes);

test.each([
  ["/keys/key_1", "/keys/{id}", "key_1"],
  ["/keys/key_1/rotate", "/keys/{id}/rotate", "key_1"],
  ["/keys/export", "/keys/export", ""],
  ["/export", "/keys/export", ""],
  ["/files/a%2Fb", "/files/{name}", "a%2Fb"],
])("%s is %s with the value %s", (path, template, value) => {
  const found = router.find(path)!;
  expect([found.path.text, found.path.valueOf({ target: path, pathEnd: path.length })]).toEqual([
    template,
    value,
  ]);
});

test.each([
  "",
  "/",
  "/keys",
  "/keys/",
  "/keys/key_1/",
  "/keys/key_12",
  "/keys/key_1/rotate/",
  "/keys//rotate",
  "/keys/x/rotate",
  "/keys/%6Bey_1",
  "/files/",
  "/files/a/b",
  "/Files/a",
])("nothing is at %p", (path) => expect(router.find(path)).toBeUndefined());

describe("targetOf", () => {
  test.each([
    ["with a host", "http://127.0.0.1:8080/v1/status?a=b", "/v1/status?a=b"],
    ["HTTP/1.0 without a host", "/v1/status", "/v1/status"],
    ["a host that is none", "http://[::/v1/x", "/v1/x"],
    ["a host of one character", "http://x/v1", "/v1"],
    ["https", "https://x/v1", "/v1"],
    ["the root", "http://x/", "/"],
    ["CONNECT", "foo:80", ""],
    ["no path at all", "http://example.org", ""],
    ["two slashes", "http://x//v1/status", "//v1/status"],
  ])("%s", (_, url, target) => {
    expect(targetOf(url)).toBe(target);
  });
});

describe("pathEnd", () => {
  test.each([
    ["no query", "/a"],
    ["a bare question mark", "/a?"],
    ["a query", "/a?b"],
    ["two question marks", "/a?b?c"],
  ])("%s", (_, target) => {
    expect(target.slice(0, pathEnd(target))).toBe("/a");
  });
});

describe("decodeSegment", () => {
  test.each([
    ["plain", "a+b@example.org", "a+b@example.org"],
    ["escaped colon", "%3A%3a1", "::1"],
    ["escaped slash", "a%2Fb@x.org", "a/b@x.org"],
    ["escaped percent", "100%25@x.org", "100%@x.org"],
    ["UTF-8", "%E7%94%A8", "用"],
    ["space", "a%20b", "a b"],
    ["cut escape", "a%4", undefined],
    ["lone percent", "a%", undefined],
    ["no hex", "%zz", undefined],
    ["not UTF-8", "%FF", undefined],
    ["overlong slash", "%C0%AF", undefined],
    ["surrogate", "%ED%A0%80", undefined],
    ["cut UTF-8", "%E7%94", undefined],
    ["NUL", "a%00b", undefined],
    ["raw UTF-8", "用", undefined],
    ["raw space", "a b", undefined],
    ["raw control", "a\x07", undefined],
    ["DEL", "a\x7f", undefined],
    ["fragment", "8.8.8.8#x", undefined],
  ])("%s", (_, segment, decoded) => {
    expect(decodeSegment(segment)).toBe(decoded);
  });

  test("as any text, NUL included", () => {
    expect([decodeText("a%00b"), decodeText("a%4"), decodeText("a\0")]).toEqual([
      "a\0b",
      undefined,
      undefined,
    ]);
  });

  test("inverts encodeURIComponent, but for NUL", () => {
    let escaped = 0;
    let withNul = 0;
    fc.assert(
      fc.property(anyText(), (text) => {
        const segment = encodeURIComponent(text);
        if (segment !== text) escaped++;
        if (text.includes("\0")) withNul++;
        expect(decodeSegment(segment)).toBe(text.includes("\0") ? undefined : text);
      }),
      { numRuns: 2_000 },
    );
    expect(escaped).toBeGreaterThan(500);
    expect(withNul).toBeGreaterThan(50);
  });
});
