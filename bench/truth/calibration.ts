// calibration.ts: measures what suggested weights are worth, with simulated sites whose truth is known.

import { REASON_CODES, REASON_ROWS } from "@inkling/contract";
import { suggestWeights, type Weights } from "../../packages/engine/src/assess/calibration.ts";
import {
  calibrationError,
  seeded,
  simulateSite,
  talliesOf,
} from "../../packages/engine/src/assess/simulated-visitors.testing.ts";
import { count } from "./rows.ts";

const SITES = 40;
const LABELS = [100, 300, 1_000, 3_000] as const;
const HELD_OUT = 4_000;
/** The score assumes that reasons are independent causes of fraud. The second kind of site breaks this assumption. */
const KINDS = {
  causes: "each reason causes fraud on its own",
  strongest: "only the strongest reason matters",
} as const;
const DEFAULTS = Object.fromEntries(REASON_CODES.map((code) => [code, REASON_ROWS[code].weight])) as Weights;

export function calibrationTable(): string {
  const lines = Object.entries(KINDS).flatMap(([combine, name]) =>
    LABELS.map((labels) => {
      const sites = Array.from({ length: SITES }, (_, i) =>
        site(combine as keyof typeof KINDS, labels, i + 1),
      );
      const [before, after] = [mean(sites.map((one) => one.before)), mean(sites.map((one) => one.after))];
      const better = sites.filter((one) => one.after < one.before).length;
      return `| ${name} | ${count(labels)} | ${before.toFixed(3)} | ${after.toFixed(3)} | ${better} of ${SITES} |\n`;
    }),
  );
  return `| simulated sites | labelled decisions | error with default weights | with suggested weights | better on |\n|---|---|---|---|---|\n${lines.join("")}`;
}

/** The errors on a site's next decisions, whose outcomes the suggestion has not seen. */
function site(combine: keyof typeof KINDS, labels: number, seed: number) {
  const visit = simulateSite(seeded(seed), combine);
  const suggested = Object.fromEntries(suggestWeights(talliesOf(visit(labels)), DEFAULTS));
  const heldOut = visit(HELD_OUT);
  return {
    before: calibrationError(heldOut, DEFAULTS),
    after: calibrationError(heldOut, { ...DEFAULTS, ...suggested }),
  };
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
