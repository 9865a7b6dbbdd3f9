import { expect, test } from "bun:test";
import { BELIEF_SECONDS, Beliefs, topLevelOf } from "./nxdomain-cache.ts";

const ONE = { address: "192.0.2.53", port: 53 };
const TWO = { address: "192.0.2.54", port: 53 };
const PORT = { address: "192.0.2.53", port: 54 };

test("what is kept is of one server and one top-level domain, good or bad", () => {
  const beliefs = new Beliefs(() => 0);
  beliefs.keep(ONE, "com", true);
  beliefs.keep(TWO, "com", false);
  const rows = [ONE, TWO, PORT].map((server) => ["com", "net"].map((top) => beliefs.find(server, top)));
  expect(rows).toEqual([
    [true, undefined],
    [false, undefined],
    [undefined, undefined],
  ]);
});

test.each([true, false])("%s is kept for a short while", (isKnown) => {
  let ms = 0;
  const beliefs = new Beliefs(() => ms);
  beliefs.keep(ONE, "com", isKnown);
  ms = BELIEF_SECONDS * 1000 - 1;
  expect(beliefs.find(ONE, "com")).toBe(isKnown);
  ms++;
  expect(beliefs.find(ONE, "com")).toBeUndefined();
  expect(beliefs.size).toBe(0);
});

test("no more than asked for: the oldest goes, and what is told anew is the newest", () => {
  const beliefs = new Beliefs(() => 0, 2);
  for (const topLevel of ["a", "b", "a", "c"]) beliefs.keep(ONE, topLevel, true);
  expect(beliefs.size).toBe(2);
  expect(["a", "b", "c"].map((topLevel) => beliefs.find(ONE, topLevel))).toEqual([true, undefined, true]);
});

test("what is told anew takes no other's place", () => {
  const beliefs = new Beliefs(() => 0, 2);
  for (const topLevel of ["a", "b", "b"]) beliefs.keep(ONE, topLevel, true);
  expect(beliefs.find(ONE, "a")).toBe(true);
});

test.each([
  ["example.com", "com"],
  ["a.b.co.uk", "uk"],
  ["x.xn--p1ai", "xn--p1ai"],
  ["localhost", "localhost"],
])("the top-level domain of %s: %s", (host, want) => expect(topLevelOf(host)).toBe(want));
