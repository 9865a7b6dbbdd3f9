// Tests the starter ruleset's rule against credential stuffing with simulated logins whose truth is known.

import { expect, test } from "bun:test";
import { challenged, school, stuffing } from "../../../../test/harness/login-simulation.ts";

test("10,000 accounts tried from 500 networks within an hour: most attempts would be challenged", async () => {
  const events = stuffing(10_000, 500, 1);
  const found = await challenged(events);
  expect(found.filter(Boolean).length).toBeGreaterThan(7_000);
  const entered = events.flatMap(({ event }, n) => (event === "login" ? [found[n]] : []));
  expect(entered.length).toBeGreaterThan(100);
  expect(entered.filter(Boolean).length / entered.length).toBeGreaterThan(0.6);
});

test("a school behind one address, where one in four attempts fails: fewer than 1 in 1,000 would be challenged", async () => {
  const events = school(1_500, 25);
  const failed = events.filter(({ event }) => event === "login_failed");
  expect(failed.length).toBeGreaterThan(400);
  const wrong = (await challenged(events)).filter(Boolean).length;
  expect(wrong / events.length).toBeLessThan(0.001);
});
