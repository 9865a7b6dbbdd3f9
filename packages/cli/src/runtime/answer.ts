// answer.ts: lookups in this process, with the release in use; no HTTP, no key.
//
// in   a release, one value, the overrides in force
// out  the body that the API would answer with
// err  Refused for whatever the API would refuse or not find, with the API's code for it, and its document

import { Answerer, type AnswerSource, bodyOf, type LoadedRelease, Overrides } from "@inkling/engine";
import type { Scope } from "@inkling/server";
import { problemOf } from "@inkling/server/failures";
import { type Problem, problemBody } from "@inkling/server/problems";
import { CliError, EXIT } from "../terminal/errors.ts";

const decoder = new TextDecoder();

/**
 * The body for `value`, from the data that there is: the caller reports what is missing.
 * @param include bits of INCLUDE
 * @throws Refused for whatever the API would not answer with 200
 */
export function answer(
  release: LoadedRelease,
  lookup: Scope,
  value: string,
  overrides = Overrides.NONE,
  now = 0,
  include = 0,
): string {
  const source: AnswerSource = { release, overrides, now, mode: "up" };
  const outcome = new Answerer().answer(lookup, value, source, include);
  if (!("reason" in outcome)) return decoder.decode(bodyOf(outcome));
  const problem = problemOf(outcome);
  if (outcome.reason === "address_invalid") {
    throw new Refused(
      `${JSON.stringify(value.slice(0, 60))} is not an IP address`,
      "for example 81.2.69.142 or 2001:4860:4860::8888, without port, brackets or prefix",
      problem,
    );
  }
  const [line, ...more] = problem.detail.split(/(?<=[.:]) /);
  throw new Refused(line!.replace(/[.:]$/, ""), more.length > 0 ? more.join(" ") : undefined, problem);
}

/** The API would not answer with 200. */
export class Refused extends CliError {
  /** The API's problem document: docs/errors.md. */
  readonly document: string;
  constructor(message: string, hint: string | undefined, problem: Problem) {
    super(`${message} (${problem.code})`, hint, problem.status === 400 ? EXIT.usage : EXIT.error);
    this.document = problemBody(problem);
  }
}
