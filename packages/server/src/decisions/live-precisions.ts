// live-precisions.ts: keeps the precision of each reason in memory, so that a decision can show it without a query.
//
// Cost: every five minutes, the counts of 90 days are read in 90 steps (store, decision-counts.ts).

import { Live } from "@inkling/data";
import type { Precisions } from "@inkling/engine/assess";
import type { DecisionStore } from "@inkling/store/decisions";
import { DAY_MS } from "@inkling/store/keys/day";

const REFRESH_MS = 300_000;
const DAYS = 90;

export type LivePrecisions = Live<Precisions>;

/** @param onChange called when a precision has changed */
export const livePrecisions = (
  decisions: Pick<DecisionStore, "tallies">,
  refreshMs = REFRESH_MS,
  onChange = () => {},
): LivePrecisions =>
  new Live<Precisions>({
    initial: {},
    source: {
      load: async () => {
        const { tallies } = await decisions.tallies(Date.now() - DAYS * DAY_MS);
        const labelled = tallies.filter(
          ({ kind, fraud, legitimate }) => kind === "reasons" && fraud + legitimate > 0,
        );
        if (labelled.length === 0) return { version: "{}", value: {} }; // loading the parser would slow down the start
        const { precisionsOf, reasonsIn } = await import("@inkling/engine/assess");
        const value = precisionsOf(labelled.map(({ name, ...of }) => ({ ...of, reasons: reasonsIn(name) })));
        return { version: JSON.stringify(value), value };
      },
    },
    onApplied: (value, { before }) => {
      if (JSON.stringify(value) !== JSON.stringify(before)) onChange();
    },
    pollMs: refreshMs,
    longestWaitMs: REFRESH_MS,
  });
