// requests.ts: requests about values.

import type { Answer, Lookup } from "@inkling/server/admin-answers";
import { api } from "../../api.ts";

/** Values of one request, and bytes of its body, that the admin API takes. */
const MAX_AT_ONCE = 100;
const MAX_BYTES = 12_000;
/** Parts of a network that are listed at first. */
const FIRST_PARTS = 25;

/** @throws {ApiError} */
export async function lookUp(values: readonly string[], signal: AbortSignal): Promise<Lookup> {
  const all: Answer[] = [];
  for (;;) {
    const body = { values: nextOf(values, all.length), parts: FIRST_PARTS };
    const { answers, ...rest } = await api<Lookup>("lookup", { method: "POST", body, signal });
    all.push(...answers);
    if (all.length >= values.length || answers.length === 0) return { ...rest, answers: all };
  }
}

/** The values from one on that fit into a request. */
function nextOf(values: readonly string[], from: number): readonly string[] {
  let [to, bytes] = [from, 0];
  while (to < values.length && to - from < MAX_AT_ONCE && bytes < MAX_BYTES) {
    bytes += 3 * (values[to++]?.length ?? 0);
  }
  return values.slice(from, to);
}

/**
 * @param parts how many parts of a network are listed
 * @throws {ApiError}
 */
export async function lookUpOne(value: string, parts: number): Promise<Answer | undefined> {
  const body = { values: [value], parts };
  const { answers } = await api<Lookup>("lookup", { method: "POST", body });
  return answers[0];
}
