// unavailable.ts: what stands in place of an answer when the service is not there, and what a form makes of it.
//
// It cannot be mistaken for an answer: it has no flag of one. TypeScript asks for `instanceof Unavailable` before any
// flag can be read. JavaScript does not ask, so that reading a flag follows the choice: with "deny" it throws
// the error behind it, with "allow" it is undefined.

import type { InklingError } from "./errors.ts";

/** What a look-up does when the service is not there. */
export const ON_UNAVAILABLE = ["throw", "allow", "deny"] as const;
export type OnUnavailable = (typeof ON_UNAVAILABLE)[number];

const MEMBERS = [
  "city",
  "continent",
  "country",
  "location",
  "postal",
  "registered_country",
  "subdivisions",
  "is_abuser",
  "is_proxy",
  "is_tor_exit",
  "valid",
  "disposable",
  "providers",
  "evidence",
  "checks",
] as const;

/** No answer: the service could not be asked. */
export class Unavailable {
  readonly available = false;
  /** What `onUnavailable` of the client says. */
  readonly verdict: "allow" | "deny";
  /** Why there is no answer. */
  readonly error: InklingError;

  constructor(verdict: "allow" | "deny", error: InklingError) {
    this.verdict = verdict;
    this.error = error;
  }
}

for (const member of MEMBERS) {
  Object.defineProperty(Unavailable.prototype, member, {
    get(this: Unavailable) {
      if (this.verdict === "deny") throw this.error;
      return undefined;
    },
  });
}

/** What a client with this choice may answer instead. */
export type IfUnavailable<P extends OnUnavailable> = P extends "throw" ? never : Unavailable;

/**
 * Should the visitor be refused? Asks `refuses` about an answer; without one the client's `onUnavailable` decides.
 * @param answer of any look-up; an address without a place is refused by no test
 */
export function denies<T>(
  answer: T,
  refuses: (answer: NonNullable<Exclude<T, Unavailable>>) => boolean,
): boolean {
  if (answer instanceof Unavailable) return answer.verdict === "deny";
  if (answer === undefined || answer === null) return false;
  return refuses(answer as NonNullable<Exclude<T, Unavailable>>);
}
