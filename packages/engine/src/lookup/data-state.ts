// data-state.ts: which lookups a release can answer, and the header for one that it cannot answer in full.
//
// in   a release manifest's missing and partial answers
// out  per lookup: what is missing, and the Inkling-Data-State header
// src  docs/errors.md (DATA_NOT_LOADED), RFC 9651 (the header is an item with parameters)

import { type Answer, answersIn, type Release } from "../segment/release.ts";
import type { SegmentKind } from "../segment/segment.ts";
import { dataMissing, type LookupFailure } from "./failure.ts";

/** The three lookups. */
export const LOOKUPS = ["geolocate", "reputation", "email"] as const;
export type Lookup = (typeof LOOKUPS)[number];
export type IpLookup = Exclude<Lookup, "email">;

/** The segment that each lookup reads. */
export const SEGMENT_OF = {
  geolocate: "geo",
  reputation: "reputation",
  email: "email",
} as const satisfies Record<Lookup, SegmentKind>;

export interface DataState {
  /** Answers without any loaded feed. */
  readonly missing: readonly Answer[];
  /** Names them, or the lookup where all are loaded. */
  readonly failure: LookupFailure;
  /** `partial; missing="is_abuser is_proxy"; incomplete="is_tor_exit"`; undefined when everything is there. */
  readonly header: string | undefined;
  /** The same for an answer with its network: `missing` then also names `network` where that has no data. */
  readonly networkHeader: string | undefined;
}

export function dataStates(
  release: Pick<Release, "missing" | "partial"> & Partial<Pick<Release, "segments">>,
): Readonly<Record<Lookup, DataState>> {
  const unknown = release.segments?.network === undefined ? ["network"] : [];
  const entries = LOOKUPS.map((lookup): [Lookup, DataState] => {
    const answers = answersIn(SEGMENT_OF[lookup]);
    const missing = answers.filter((answer) => release.missing.includes(answer));
    const incomplete = answers.filter(
      (answer) => !missing.includes(answer) && release.partial.some((row) => row.answer === answer),
    );
    const failure = dataMissing(missing.length === 0 ? [lookup] : missing);
    const header = headerOf(missing, incomplete);
    const networkHeader = headerOf([...missing, ...unknown], incomplete);
    return [lookup, { missing, failure, header, networkHeader }];
  });
  return Object.fromEntries(entries) as Record<Lookup, DataState>;
}

function headerOf(missing: readonly string[], incomplete: readonly string[]): string | undefined {
  const parameters = [parameter("missing", missing), parameter("incomplete", incomplete)].join("");
  return parameters === "" ? undefined : `partial${parameters}`;
}

function parameter(name: string, answers: readonly string[]): string {
  return answers.length === 0 ? "" : `; ${name}="${answers.join(" ")}"`;
}
