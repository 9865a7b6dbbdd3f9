// simulated-visitors.testing.ts: visitors whose truth is known, to measure what suggested weights are worth. Used by
// calibration.test.ts and `npm run bench -- truth`.

import { REASON_CODES, type ReasonCode } from "@inkling/contract";
import type { ReasonTally, Weights } from "./calibration.ts";

interface SimulatedVisitor {
  readonly reasons: readonly ReasonCode[];
  readonly isFraud: boolean;
}

/**
 * Returns a function that returns the next number from 0 up to 1: splitmix32, as in test/harness/random.ts. The
 * package's tests import nothing from outside the package, because they also run from its build.
 */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}

/**
 * A site's visitors. Each reason applies to a random share of them and causes fraud with a random probability. Half of
 * the reasons imitate the reason before them, as a VPN's address is often in a data centre. Some fraud has no reason.
 * @param random returns a number from 0 up to 1
 * @param combine "causes": each reason causes fraud on its own, as the score assumes; "strongest": only the strongest
 *   reason matters
 */
export function simulateSite(random: () => number, combine: "causes" | "strongest") {
  const rows = REASON_CODES.map((code, i) => ({
    code,
    share: 0.02 + 0.2 * random(),
    causes: random() ** 2,
    copies: i % 2 === 1 ? 0.8 * random() : 0,
  }));
  const unexplained = 0.02 * random();
  const visit = (): SimulatedVisitor => {
    const reasons: ReasonCode[] = [];
    let innocent = 1 - unexplained;
    let strongest = unexplained;
    let before = false;
    for (const { code, share, causes, copies } of rows) {
      before = before && random() < copies ? true : random() < share;
      if (!before) continue;
      reasons.push(code);
      innocent *= 1 - causes;
      strongest = Math.max(strongest, causes);
    }
    return { reasons, isFraud: random() < (combine === "causes" ? 1 - innocent : strongest) };
  };
  return (count: number) => Array.from({ length: count }, visit);
}

export function talliesOf(visitors: readonly SimulatedVisitor[]): ReasonTally[] {
  const sums = new Map<string, { reasons: readonly ReasonCode[] } & Record<"fraud" | "legitimate", number>>();
  for (const { reasons, isFraud } of visitors) {
    const sum = sums.get(reasons.join()) ?? { reasons, fraud: 0, legitimate: 0 };
    sums.set(reasons.join(), sum);
    sum[isFraud ? "fraud" : "legitimate"]++;
  }
  return Array.from(sums.values(), (sum) => ({ ...sum, decisions: sum.fraud + sum.legitimate }));
}

/**
 * Returns the expected calibration error: the mean difference between score and share of fraud, over tenths of the
 * score. Source: Guo et al., On Calibration of Modern Neural Networks (2017), section 2.
 */
export function calibrationError(visitors: readonly SimulatedVisitor[], weights: Weights): number {
  const bins = Array.from({ length: 10 }, () => ({ scores: 0, fraud: 0 }));
  for (const { reasons, isFraud } of visitors) {
    const score = 1 - reasons.reduce((innocent, code) => innocent * (1 - weights[code]), 1);
    const bin = bins[Math.min(9, Math.floor(score * 10))]!;
    bin.scores += score;
    bin.fraud += Number(isFraud);
  }
  return bins.reduce((sum, { scores, fraud }) => sum + Math.abs(scores - fraud), 0) / visitors.length;
}
