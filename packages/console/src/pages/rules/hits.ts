// hits.ts: loads how often each rule of the newest ruleset matched in the last 24 hours.

import { call } from "../../api.ts";
import { formatCount, timeIn } from "../../format.ts";

/**
 * By the rule's name: the decisions that it made, and those that it matched in shadow. Empty if no decision was stored,
 * because zeros would then say nothing about the rules.
 */
export type Hits = ReadonlyMap<string, RuleHits>;
interface RuleHits {
  readonly live: number;
  readonly shadow: number;
}

export async function loadHits(signal: AbortSignal): Promise<Hits> {
  const since = timeIn(-1);
  const { decisions, rules } = await call("GET decisions/calibration", { since }, signal);
  return new Map(decisions === 0 ? [] : rules.map(({ rule, live, shadow }) => [rule, { live, shadow }]));
}

export const hitsText = ({ live, shadow }: RuleHits) =>
  `24 h: ${formatCount(live)} live, ${formatCount(shadow)} in shadow`;
