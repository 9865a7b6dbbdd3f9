import { expect, test } from "bun:test";
import { NXDOMAIN_CACHE_SECONDS, NxdomainCache, topLevelOf } from "./nxdomain-cache.ts";

const ONE = { address: "192.0.2.53", port: 53 };
const TWO = { address: "192.0.2.54", port: 53 };
const PORT = { address: "192.0.2.53", port: 54 };

test("an entry belongs to one server and one top-level domain, trusted or not", () => {
  const cache = new NxdomainCache(() => 0);
  cache.store(ONE, "com", true);
  cache.store(TWO, "com", false);
  const rows = [ONE, TWO, PORT].map((server) => ["com", "net"].map((top) => cache.find(server, top)));
  expect(rows).toEqual([
    [true, undefined],
    [false, undefined],
    [undefined, undefined],
  ]);
});

test.each([true, false])("%s expires soon", (isTrusted) => {
  let ms = 0;
  const cache = new NxdomainCache(() => ms);
  cache.store(ONE, "com", isTrusted);
  ms = NXDOMAIN_CACHE_SECONDS * 1000 - 1;
  expect(cache.find(ONE, "com")).toBe(isTrusted);
  ms++;
  expect(cache.find(ONE, "com")).toBeUndefined();
  expect(cache.size).toBe(0);
});

test("a full cache drops the oldest entry, and a new value makes an entry the newest", () => {
  const cache = new NxdomainCache(() => 0, 2);
  for (const topLevel of ["a", "b", "a", "c"]) cache.store(ONE, topLevel, true);
  expect(cache.size).toBe(2);
  expect(["a", "b", "c"].map((topLevel) => cache.find(ONE, topLevel))).toEqual([true, undefined, true]);
});

test("a new value for an entry drops no other", () => {
  const cache = new NxdomainCache(() => 0, 2);
  for (const topLevel of ["a", "b", "b"]) cache.store(ONE, topLevel, true);
  expect(cache.find(ONE, "a")).toBe(true);
});

test.each([
  ["example.com", "com"],
  ["a.b.co.uk", "uk"],
  ["x.xn--p1ai", "xn--p1ai"],
  ["localhost", "localhost"],
])("the top-level domain of %s: %s", (host, want) => expect(topLevelOf(host)).toBe(want));
