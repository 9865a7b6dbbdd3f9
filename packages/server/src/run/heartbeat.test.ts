import { expect, test } from "bun:test";
import { GONE_LOOKS, Heartbeat, SILENT_LOOKS } from "./heartbeat.ts";

test("a primary that beats is alive, also when beats are missed", () => {
  const primary = new Heartbeat();
  for (let look = 0; look < 100; look++) expect(primary.look(Math.floor(look / SILENT_LOOKS))).toBe("alive");
  expect(primary.isSilent).toBe(false);
});

test("one that does not is silent, then gone; with a beat it is alive again", () => {
  const primary = new Heartbeat();
  primary.look(7);
  const states = Array.from({ length: GONE_LOOKS }, () => primary.look(7));
  expect(states.indexOf("silent")).toBe(SILENT_LOOKS - 1);
  expect(states.indexOf("gone")).toBe(GONE_LOOKS - 1);
  expect(primary.isSilent).toBe(true);
  expect(primary.look(8)).toBe("alive");
});
