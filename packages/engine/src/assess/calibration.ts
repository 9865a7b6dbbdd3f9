// calibration.ts: how often each reason was right, judged by outcomes, and the weights that these outcomes suggest.
//
// The score treats reasons as independent causes of fraud (a "noisy or"), so the suggested weights are the most likely
// parameters of that model. A reason's own share of fraud would be wrong: if two reasons always apply together and 60%
// of their visitors are fraud, two weights of 0.6 give a score of 0.84. Source: Pearl, Probabilistic Reasoning in
// Intelligent Systems (1988), 4.3.2; the parameters are found by expectation maximization. Cost: 40 ms for 850 sets
// of reasons; neither time nor memory grows with the number of decisions.

import { REASON_CODES, REASON_ROWS, type ReasonCode } from "@inkling/contract";
import type { Decision } from "./assess.ts";

/** With fewer labelled decisions, the figures about a reason are too uncertain to use. */
export const MIN_LABELS = 20;
/** The default weight counts as much as this many labelled decisions. */
const PRIOR_LABELS = 20;
/** Rounds of the fit. Another 100 change no weight of a simulated site by more than 0.01. */
const ROUNDS = 100;
/** A weight of 1 would leave no room for doubt, or for other reasons. */
const MAX_WEIGHT = 0.98;

/** Decisions to which exactly these reasons applied. */
export interface ReasonTally {
  readonly reasons: readonly ReasonCode[];
  readonly decisions: number;
  readonly fraud: number;
  readonly legitimate: number;
}

export type Weights = Readonly<Record<ReasonCode, number>>;
/** For each reason with enough labelled decisions, the share of these decisions that were fraud. */
export type Precisions = Readonly<Partial<Weights>>;

/** Returns the reasons of a stored set of reasons, except those that this version does not have. */
export const reasonsIn = (names: string): readonly ReasonCode[] =>
  names.split(" ").filter((name): name is ReasonCode => Object.hasOwn(REASON_ROWS, name));

/** Sums the decisions to which each reason applied, whatever other reasons applied as well. */
export function tallyByReason(tallies: readonly ReasonTally[]): ReadonlyMap<ReasonCode, ReasonTally> {
  return new Map(
    REASON_CODES.map((code) => {
      const all = tallies.filter(({ reasons }) => reasons.includes(code));
      const sum = (name: "decisions" | "fraud" | "legitimate") => all.reduce((n, one) => n + one[name], 0);
      const sums = { decisions: sum("decisions"), fraud: sum("fraud"), legitimate: sum("legitimate") };
      return [code, { reasons: [code], ...sums }];
    }),
  );
}

export function precisionsOf(tallies: readonly ReasonTally[]): Precisions {
  const known = [...tallyByReason(tallies)].filter(
    ([, { fraud, legitimate }]) => fraud + legitimate >= MIN_LABELS,
  );
  return Object.fromEntries(
    known.map(([code, { fraud, legitimate }]) => [code, rounded(fraud / (fraud + legitimate))]),
  );
}

/** Adds to each reason of a decision how often it was right, if that is known. */
export const withPrecisions = (decision: Decision, precisions: Precisions): Decision =>
  decision.reasons.every(({ code }) => precisions[code] === undefined)
    ? decision
    : {
        ...decision,
        reasons: decision.reasons.map((reason) => {
          const precision = precisions[reason.code];
          return precision === undefined ? reason : { ...reason, precision };
        }),
      };

/**
 * Suggests weights under which scores agree with outcomes.
 * @param weights the current weights, which reasons with fewer than MIN_LABELS labelled decisions keep
 * @returns the weights of the other reasons, rounded to two decimal places
 */
export function suggestWeights(
  tallies: readonly ReasonTally[],
  weights: Weights,
): ReadonlyMap<ReasonCode, number> {
  const labelled = tallies.filter(({ fraud, legitimate }) => fraud + legitimate > 0);
  const fitted = [...tallyByReason(labelled)].filter(
    ([, { fraud, legitimate }]) => fraud + legitimate >= MIN_LABELS,
  );
  // Arrays by the reason's index, because maps would take ten times as long.
  const indexes = new Map(REASON_CODES.map((code, i) => [code, i]));
  const now = Float64Array.from(REASON_CODES, (code) => weights[code]);
  for (const [code] of fitted) now[indexes.get(code)!] = 0.5; // 0 would remain 0
  const sets = labelled
    .filter(({ fraud }) => fraud > 0)
    .map(({ reasons, fraud }) => ({ fraud, of: Uint8Array.from(reasons, (code) => indexes.get(code)!) }));
  const causes = new Float64Array(REASON_CODES.length);
  for (let round = 0; round < ROUNDS; round++) {
    causes.fill(0);
    for (const { of, fraud } of sets) {
      let innocent = 1;
      for (const i of of) innocent *= 1 - now[i]!;
      if (innocent < 1) for (const i of of) causes[i]! += (fraud * now[i]!) / (1 - innocent);
    }
    for (const [code, { fraud, legitimate }] of fitted) {
      const i = indexes.get(code)!;
      const share =
        (causes[i]! + PRIOR_LABELS * REASON_ROWS[code].weight) / (fraud + legitimate + PRIOR_LABELS);
      now[i] = Math.min(MAX_WEIGHT, share);
    }
  }
  return new Map(fitted.map(([code]) => [code, rounded(now[indexes.get(code)!]!)]));
}

const rounded = (share: number) => Math.round(share * 100) / 100;
