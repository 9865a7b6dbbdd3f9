// unavailable.ts: defines the result of a lookup when the service is unavailable, and how a form should then decide.
//
// The result has none of an answer's fields. TypeScript requires a check with `instanceof Unavailable` before a field
// is read. In JavaScript, reading a field throws the underlying error with "deny", and returns undefined with "allow".

import { InklingError } from "./errors.ts";
import { FIELDS } from "./generated.ts";

/** What a lookup does when the service is unavailable. */
export const ON_UNAVAILABLE = ["throw", "allow", "deny"] as const;
export type OnUnavailable = (typeof ON_UNAVAILABLE)[number];
/** What `denies()` returns for a lookup without an answer: "deny" means true. */
export type Verdict = Exclude<OnUnavailable, "throw">;

/** There is no answer, because the service is unavailable. */
export class Unavailable {
  readonly available = false;
  /** The client's `onUnavailable`, or its `onThrottled` while the server throttles the key. */
  readonly verdict: Verdict;
  /** Why there is no answer. */
  readonly error: InklingError;

  constructor(verdict: Verdict, error: InklingError) {
    this.verdict = verdict;
    this.error = error;
  }
}

for (const field of [...FIELDS, "data"]) {
  Object.defineProperty(Unavailable.prototype, field, {
    get(this: Unavailable) {
      if (this.verdict === "deny") throw this.error;
      return undefined;
    },
  });
}

/** Returns the result of `work`, or an `Unavailable` if `onUnavailable` or `onThrottled` applies to its failure. */
export async function settle<T, P extends OnUnavailable>(
  onUnavailable: P,
  onThrottled: Verdict,
  work: Promise<T>,
): Promise<T | IfUnavailable<P>> {
  try {
    return await work;
  } catch (error) {
    const isApplied = onUnavailable === "allow" || onUnavailable === "deny";
    if (!isApplied || !(error instanceof InklingError) || !error.isUnavailable) throw error;
    return new Unavailable(error.isThrottled ? onThrottled : onUnavailable, error) as IfUnavailable<P>;
  }
}

/** What a client with this option may return instead of an answer. */
export type IfUnavailable<P extends OnUnavailable> = P extends "throw" ? never : Unavailable;

/**
 * Should the visitor be refused? If there is an answer, `refuses` decides. If not, the client's
 * `onUnavailable` or `onThrottled` decides.
 * @param answer the answer of any lookup; undefined, for an address whose location is unknown, is never refused
 */
export function denies<T>(
  answer: T,
  refuses: (answer: NonNullable<Exclude<T, Unavailable>>) => boolean,
): boolean {
  if (answer instanceof Unavailable) return answer.verdict === "deny";
  if (answer === undefined || answer === null) return false;
  return refuses(answer as NonNullable<Exclude<T, Unavailable>>);
}
