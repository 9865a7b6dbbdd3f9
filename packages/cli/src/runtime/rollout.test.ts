// Tests how a roll-out is reported.

import { expect, test } from "bun:test";
import { nextStep, rolloutText } from "./rollout.ts";

test("of a roll-out without a server the text names how many others report", () => {
  const none = { ready: [], failed: [], waiting: [], next: 37 };
  expect(rolloutText({ ...none, others: 0 })).toBe("no server in the roll-out sends reports");
  expect(rolloutText({ ...none, others: 3 })).toBe(
    "none of the 3 reporting servers is in this share: no server has tried the release; 37 % is the smallest share that reaches a server",
  );
  expect(rolloutText({ ...none, ready: ["a"], others: 3 })).toBe(
    "1 of 1 servers in the roll-out report the release ready",
  );
});

test("if servers cannot follow the channel, the remedy of the fault comes before a rollback", () => {
  const waiting = (...faults: string[]) => faults.map((fault) => ({ name: "web-1", why: "x", fault }));
  const rollback = "`inkling channel rollback` goes back";
  expect(nextStep({ waiting: [{ name: "web-1", why: "does not use it yet" }] }, rollback)).toBe(rollback);
  expect(nextStep({ waiting: waiting("wrong-object", "wrong-object") }, rollback)).toMatch(
    /^for web-1, web-1: find out who wrote to the store, then run `inkling channel publish --again`[^;]*; or `inkling channel rollback` goes back$/,
  );
  expect(nextStep({ waiting: waiting("a fault of a newer version", "toString") }, rollback)).toBe(rollback);
});
