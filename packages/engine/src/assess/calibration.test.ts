// Tests what outcomes suggest, with simulated visitors whose truth is known. The outcomes that judge a suggestion are
// never those that it was made from.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { REASON_CODES, REASON_ROWS, type ReasonCode } from "@inkling/contract";
import {
  MIN_LABELS,
  precisionsOf,
  type ReasonTally,
  reasonsIn,
  suggestWeights,
  type Weights,
} from "./calibration.ts";
import { calibrationError, seeded, simulateSite, talliesOf } from "./simulated-visitors.testing.ts";

const DEFAULTS = Object.fromEntries(REASON_CODES.map((code) => [code, REASON_ROWS[code].weight])) as Weights;
const tally = (reasons: readonly ReasonCode[], fraud: number, legitimate: number): ReasonTally => ({
  reasons,
  decisions: fraud + legitimate,
  fraud,
  legitimate,
});
const suggested = (...tallies: readonly ReasonTally[]) =>
  Object.fromEntries(suggestWeights(tallies, DEFAULTS));

describe("suggested weights", () => {
  for (const combine of ["causes", "strongest"] as const) {
    test(`lower the calibration error on held-out outcomes (${combine})`, () => {
      let [before, after] = [0, 0];
      for (let seed = 1; seed <= 40; seed++) {
        const next = seeded(seed);
        const visit = simulateSite(next, combine);
        const weights = suggestWeights(talliesOf(visit(2_000)), DEFAULTS);
        for (const weight of weights.values()) assert.ok(weight >= 0 && weight < 1);
        const heldOut = visit(4_000);
        const [by, now] = [DEFAULTS, { ...DEFAULTS, ...Object.fromEntries(weights) }].map((used) =>
          calibrationError(heldOut, used),
        ) as [number, number];
        assert.ok(now < by, `seed ${seed}: ${now} with suggested weights, ${by} with default weights`);
        before += by;
        after += now;
      }
      assert.ok(after < before / 3, `${after} of ${before}`);
    });
  }

  test("exist for exactly the reasons with enough labels", () => {
    let fewer = 0;
    for (let seed = 1; seed <= 200; seed++) {
      const next = seeded(seed);
      const visitors = simulateSite(next, "causes")(Math.floor(next() * 400));
      const enough = REASON_CODES.filter(
        (code) => visitors.filter(({ reasons }) => reasons.includes(code)).length >= MIN_LABELS,
      );
      fewer += REASON_CODES.length - enough.length;
      const tallies = talliesOf(visitors);
      assert.deepEqual([...suggestWeights(tallies, DEFAULTS).keys()], enough);
      assert.deepEqual(Object.keys(precisionsOf(tallies)), enough);
    }
    assert.ok(fewer > 1_000 && fewer < 200 * REASON_CODES.length);
  });

  test("are shrunk towards the default, and follow the outcomes when there are many", () => {
    assert.deepEqual(suggested(tally(["proxy"], 19, 0)), {});
    assert.deepEqual(suggested(tally(["proxy"], 20, 0)), { proxy: 0.68 }); // (20 + 20 * 0.35) / 40
    assert.deepEqual(suggested(tally(["proxy"], 0, 20)), { proxy: 0.18 });
    assert.deepEqual(suggested(tally(["proxy"], 600, 400)), { proxy: 0.6 });
    assert.deepEqual(suggested(tally(["free_mail"], 100, 1_900)), { free_mail: 0.05 });
  });

  test("reasons that always apply together share the blame", () => {
    const { proxy, hosting_network } = suggested(tally(["proxy", "hosting_network"], 600, 400));
    const score = 1 - (1 - proxy!) * (1 - hosting_network!);
    assert.ok(Math.abs(score - 0.6) < 0.02, `${score}`);
  });

  test("a reason of a newer version is left out", () => {
    assert.deepEqual(reasonsIn("proxy of_the_future free_mail"), ["proxy", "free_mail"]);
    assert.deepEqual(reasonsIn(""), []);
  });
});
