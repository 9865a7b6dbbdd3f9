// data-state.ts: which look-ups a release can answer, and how a caller is told when it cannot in full.
//
// in   a release manifest's missing and partial answers
// out  per look-up: what is missing, and the Inkling-Data-State header
// src  docs/errors.md (DATA_NOT_LOADED), RFC 9651 (the header is an item with parameters)

import type { Answer, Release } from "@inkling/engine";
import { SCOPES, type Scope } from "../keys/key.ts";

/** The answers that each look-up is made of. */
export const ANSWERS_OF: Readonly<Record<Scope, readonly Answer[]>> = {
  geolocate: ["geolocation"],
  reputation: ["is_abuser", "is_proxy", "is_tor_exit"],
  email: ["disposable"],
};

export interface DataState {
  /** Answers without any loaded feed. */
  readonly missing: readonly Answer[];
  /** `partial; missing="is_abuser is_proxy"; incomplete="is_tor_exit"`; undefined when everything is there. */
  readonly header: string | undefined;
}

export function dataStates(
  release: Pick<Release, "missing" | "partial">,
): Readonly<Record<Scope, DataState>> {
  const entries = SCOPES.map((scope): [Scope, DataState] => {
    const missing = ANSWERS_OF[scope].filter((answer) => release.missing.includes(answer));
    const incomplete = ANSWERS_OF[scope].filter(
      (answer) => !missing.includes(answer) && release.partial.some((row) => row.answer === answer),
    );
    const parameters = [parameter("missing", missing), parameter("incomplete", incomplete)].join("");
    return [scope, { missing, header: parameters === "" ? undefined : `partial${parameters}` }];
  });
  return Object.fromEntries(entries) as Record<Scope, DataState>;
}

function parameter(name: string, answers: readonly Answer[]): string {
  return answers.length === 0 ? "" : `; ${name}="${answers.join(" ")}"`;
}
