// data-state.ts: a release as it answers: its segments, which lookups it can answer, how old its data is, and the header
// that says so.
//
// in   a release manifest's missing and partial answers, the reports of its feeds, and the time
// out  per lookup: what is missing, and the Inkling-Data-State header
// src  docs/errors.md (DATA_NOT_LOADED), docs/api.md (ages), RFC 9651 (the header is an item with parameters)

import { LOOKUPS, type Lookup, recordOf } from "@inkling/contract";
import type { EmailSegment } from "../segment/email-segment.ts";
import type { IpSegment } from "../segment/ip-segment.ts";
import {
  type Answer,
  ageText,
  answersIn,
  dataAges,
  type FeedReport,
  type Release,
} from "../segment/release.ts";
import type { SegmentKind } from "../segment/segment.ts";
import { dataMissing, type LookupFailure } from "./failure.ts";

export { LOOKUPS, type Lookup };
export type IpLookup = Exclude<Lookup, "email">;

/** The segment that each lookup reads. */
export const SEGMENT_OF = {
  geolocate: "geo",
  reputation: "reputation",
  email: "email",
} as const satisfies Record<Lookup, SegmentKind>;

export interface DataState {
  /** Answers without any loaded feed but such as only add to others. */
  readonly missing: readonly Answer[];
  /** Names them, or the lookup where all are loaded. */
  readonly failure: LookupFailure;
}

export function dataStates(release: Pick<Release, "missing">): Readonly<Record<Lookup, DataState>> {
  return recordOf(LOOKUPS, (lookup) => {
    const missing = answersIn(SEGMENT_OF[lookup]).filter((answer) => release.missing.includes(answer));
    return { missing, failure: dataMissing(missing.length === 0 ? [lookup] : missing) };
  });
}

/** `partial; missing="is_abuser"; incomplete="is_proxy"; age="is_proxy:3h is_tor_exit:93d"`, or `complete; age="…"`. */
export interface StateHeader {
  /** Undefined if everything is there and no age is known. */
  readonly plain: string | undefined;
  /** The same for an answer with its network: `missing` then also names `network` where that has no data. */
  readonly network: string | undefined;
}
type HeadersOfLookups = Readonly<Record<Lookup, StateHeader>>;

/**
 * @param feeds the feeds of the release, in their present state
 * @param now epoch ms
 */
export function stateHeaders(
  release: Pick<Release, "missing" | "partial"> & Partial<Pick<Release, "segments">>,
  feeds: readonly FeedReport[],
  now: number,
): HeadersOfLookups {
  const ages = dataAges(feeds, now);
  const isSet = (answer: Answer) => feeds.some(({ sets, state }) => sets === answer && state === "loaded");
  const unknown = release.segments?.network === undefined ? ["network"] : [];
  return recordOf(LOOKUPS, (lookup) => {
    const answers = answersIn(SEGMENT_OF[lookup]);
    const missing = answers.filter((answer) => release.missing.includes(answer) && !isSet(answer));
    const incomplete = answers.filter(
      (answer) =>
        !missing.includes(answer) &&
        (release.missing.includes(answer) || release.partial.some((row) => row.answer === answer)),
    );
    const age = ages
      .filter(({ answer }) => answers.includes(answer))
      .map(({ answer, seconds }) => `${answer}:${ageText(seconds)}`);
    return {
      plain: headerOf(missing, incomplete, age),
      network: headerOf([...missing, ...unknown], incomplete, age),
    };
  });
}

/** How long the texts of the headers are used: ages count in hours. */
const FRESH_MS = 60_000;

/** The headers of the release in use, made when it is taken and once a minute after that, not for each request. */
export class StateHeaders {
  private release: Release | undefined;
  private madeAt = 0;
  private headers: HeadersOfLookups | undefined;

  /**
   * @param feeds called when the headers are made
   * @returns the same object until they change
   */
  at(release: Release, feeds: () => readonly FeedReport[], now: number): HeadersOfLookups {
    const age = now - this.madeAt; // negative after a clock was set back
    if (this.headers === undefined || release !== this.release || age < 0 || age >= FRESH_MS) {
      this.release = release;
      this.madeAt = now;
      this.headers = stateHeaders(release, feeds(), now);
    }
    return this.headers;
  }
}

function headerOf(
  missing: readonly string[],
  incomplete: readonly string[],
  age: readonly string[],
): string | undefined {
  const parameters = [parameter("missing", missing), parameter("incomplete", incomplete)].join("");
  if (parameters === "" && age.length === 0) return undefined;
  return `${parameters === "" ? "complete" : "partial"}${parameters}${parameter("age", age)}`;
}

function parameter(name: string, values: readonly string[]): string {
  return values.length === 0 ? "" : `; ${name}="${values.join(" ")}"`;
}

/** What closes an entry of each feed of a lookup, or of the network: when its copy was fetched and published. */
export type EvidenceTails = Readonly<Record<Lookup | "network", readonly Uint8Array[]>>;

/** One release, immutable. A request takes it once and answers from it alone. */
export interface LoadedRelease {
  readonly name: string;
  readonly manifest: Release;
  readonly geo: IpSegment | undefined;
  readonly reputation: IpSegment | undefined;
  readonly email: EmailSegment | undefined;
  /** Read for `include=network` only. */
  readonly network: IpSegment | undefined;
  readonly states: Readonly<Record<Lookup, DataState>>;
  /** What every IP answer of this release has as ETag: a URL's answer changes only with the release. */
  readonly etag: string;
  readonly evidence: EvidenceTails;
}
