import { expect, test } from "bun:test";
import { withWeights } from "./calibration.ts";

const WEIGHTS = new Map([
  ["proxy", 0.6],
  ["tor_exit", 0.4],
] as const);

test.each([
  ["", "[weights]\nproxy = 0.6\ntor_exit = 0.4"],
  ['on_missing = "deny"', 'on_missing = "deny"\n\n[weights]\nproxy = 0.6\ntor_exit = 0.4'],
  [
    "[weights]  # ours\n  proxy = 0.35 # a note\n# tor_exit = 1\n\n[facts]\nproxy = 'number'",
    "[weights]  # ours\ntor_exit = 0.4\n  proxy = 0.6 # a note\n# tor_exit = 1\n\n[facts]\nproxy = 'number'",
  ],
])("suggested weights are set in %j, and nothing else changes", (before, after) => {
  expect(withWeights(before, WEIGHTS)).toBe(after);
});

test.each(["weights = { proxy = 0.5 }", "weights.proxy = 0.5"])(
  "weights in another form are refused: %s",
  (text) => {
    expect(() => withWeights(text, WEIGHTS)).toThrow("RULESET_INVALID");
  },
);
