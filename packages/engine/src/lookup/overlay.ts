// overlay.ts: applies the operator's overrides to an answer from the release.
//
// Source: docs/overrides.md. Cost: an address with a forced flag gets one of eight prepared answers.

import { formatPrefix } from "../address/ip.ts";
import { ascii } from "../email/ascii.ts";
import type { OverrideVerdict, PlacedOverride } from "../overrides/compiled.ts";
import { bitsOfAnswer, forcedBits, REPUTATION_ANSWERS } from "../overrides/reputation-flags.ts";
import { cleanAnswer, isDisposableAnswer } from "../segment/email-segment.ts";

export interface Overridden {
  /** The same bytes as the plain answer if overrides change nothing. */
  readonly body: Uint8Array;
  readonly isChanged: boolean;
  readonly verdict: OverrideVerdict;
  /** Part of the ETag: distinguishes the different answers that one release can have for the same request. */
  readonly mark: string;
}

export function overrideReputation(answer: Uint8Array, verdict: OverrideVerdict): Overridden {
  const before = bitsOfAnswer(answer);
  const bits = forcedBits(before, verdict);
  const isChanged = bits !== before;
  return { body: isChanged ? REPUTATION_ANSWERS[bits]! : answer, isChanged, verdict, mark: `o${bits}` };
}

export function overrideEmail(answer: Uint8Array, valid: boolean, verdict: OverrideVerdict): Overridden {
  const before = isDisposableAnswer(answer);
  const disposable = verdict.flags.get("disposable") ?? before;
  const isChanged = disposable !== before;
  const forced = () =>
    disposable
      ? ascii(JSON.stringify({ valid, disposable, providers: forcedProviders(verdict) }))
      : cleanAnswer(valid);
  return { body: isChanged ? forced() : answer, isChanged, verdict, mark: disposable ? "o1" : "o0" };
}

/**
 * Returns the domain of the closest override. An override of a single email address has no domain, so the list is
 * empty.
 */
function forcedProviders({ applied: [closest] }: OverrideVerdict): readonly string[] {
  return closest?.domain === undefined ? [] : [closest.domain];
}

/**
 * Returns the overrides that have an effect, as evidence entries. An entry contains the override's id, never its note.
 */
export function overrideEntries(
  { applied }: Pick<OverrideVerdict, "applied"> = { applied: [] },
): Uint8Array[] {
  return applied.map((placed) => ascii(JSON.stringify(entryOf(placed))));
}

function entryOf({ override: { id, flag, verdict }, network, domain }: PlacedOverride) {
  const effect = verdict ? "sets" : "removes";
  return {
    feed: "override",
    label: "override",
    effect,
    flags: [flag],
    id,
    ...(network && { network: formatPrefix(network) }),
    ...(domain && { domain }),
  };
}
