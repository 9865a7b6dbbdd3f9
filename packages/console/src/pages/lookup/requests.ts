// requests.ts: sends requests about values to the admin API.

import type { Answer, Lookup } from "../../answers.ts";
import { call } from "../../api.ts";

/** Maximum number of values in one request that the admin API accepts. */
const MAX_AT_ONCE = 100;
const MAX_BYTES = 12_000;
/** Number of network parts to list at first. */
const FIRST_PARTS = 25;

/** Networks and AS numbers may take seconds, so each has its own request. */
const isLong = (value: string) => /\/|^as\d+$/i.test(value);

/**
 * @param show called with the answers so far
 * @throws {ApiError}
 */
export async function lookUp(
  values: readonly string[],
  signal: AbortSignal,
  show: (part: Lookup) => void = () => {},
): Promise<Lookup> {
  const all: Answer[] = [];
  for (;;) {
    const input = { values: nextOf(values, all.length), parts: FIRST_PARTS };
    const { answers, ...rest } = await call("POST lookup", input, signal);
    all.push(...answers);
    const lookup = { ...rest, answers: [...all] };
    if (all.length >= values.length || answers.length === 0) return lookup;
    show(lookup);
  }
}

/** Returns the values from index `from` on that fit into one request. */
function nextOf(values: readonly string[], from: number): string[] {
  let [to, bytes] = [from, 0];
  while (to < values.length && to - from < MAX_AT_ONCE && bytes < MAX_BYTES) {
    const value = values[to] ?? "";
    if (to > from && isLong(value)) break;
    bytes += 3 * value.length;
    to++;
    if (isLong(value)) break;
  }
  return values.slice(from, to);
}

/**
 * @param parts number of network parts to list
 * @throws {ApiError}
 */
export async function lookUpOne(value: string, parts: number): Promise<Answer | undefined> {
  const { answers } = await call("POST lookup", { values: [value], parts });
  return answers[0];
}
