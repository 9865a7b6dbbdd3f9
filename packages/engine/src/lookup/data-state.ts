// data-state.ts: describes a loaded release: its segments, the lookups that it supports, the age of its data, and the
// header that reports this state.
//
// Source: docs/errors.md (DATA_NOT_LOADED), docs/api.md (ages), RFC 9651 (the header is an item with parameters).

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
  /** Answers that no loaded feed provides. Feeds that only supplement other feeds do not count. */
  readonly missing: readonly Answer[];
  /** Lists the missing answers, or the lookup itself if none is missing. */
  readonly failure: LookupFailure;
}

export function dataStates(release: Pick<Release, "missing">): Readonly<Record<Lookup, DataState>> {
  return recordOf(LOOKUPS, (lookup) => {
    const missing = answersIn(SEGMENT_OF[lookup]).filter((answer) => release.missing.includes(answer));
    return { missing, failure: dataMissing(missing.length === 0 ? [lookup] : missing) };
  });
}

/**
 * A header such as `partial; missing="is_abuser"; incomplete="is_proxy"; age="is_proxy:3h is_tor_exit:93d"`, or
 * `complete; age="…"`.
 */
export interface StateHeader {
  /** Undefined if no data is missing and no age is known. */
  readonly plain: string | undefined;
  /** The header for an answer with its network. `missing` also lists `network` if the release has no network data. */
  readonly network: string | undefined;
}
type HeadersOfLookups = Readonly<Record<Lookup, StateHeader>>;

/**
 * @param feeds the current reports of the release's feeds
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

/** Milliseconds until the headers are rebuilt. Ages are in hours, so a minute changes little. */
const FRESH_MS = 60_000;

/**
 * The headers of the current release. They are rebuilt when the release changes, and otherwise at most once a minute.
 */
export class StateHeaders {
  private release: Release | undefined;
  private builtAt = 0;
  private headers: HeadersOfLookups | undefined;

  /**
   * @param feeds returns the current feed reports; called when the headers are built
   * @returns the same object until the headers are rebuilt
   */
  at(release: Release, feeds: () => readonly FeedReport[], now: number): HeadersOfLookups {
    const age = now - this.builtAt; // negative after the clock is set back
    if (this.headers === undefined || release !== this.release || age < 0 || age >= FRESH_MS) {
      this.release = release;
      this.builtAt = now;
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

/**
 * The bytes that close each feed's evidence entries. They contain the times when the feed's copy was fetched and
 * published. There is one list for each lookup and one for the network, each in the order of its segment's feeds.
 */
export type EvidenceTails = Readonly<Record<Lookup | "network", readonly Uint8Array[]>>;

/** One immutable release. A request takes the release once, and reads all its answers from it. */
export interface LoadedRelease {
  readonly name: string;
  readonly manifest: Release;
  readonly geo: IpSegment | undefined;
  readonly reputation: IpSegment | undefined;
  readonly email: EmailSegment | undefined;
  /** Answers `include=network` and lookups of networks and ASes. */
  readonly network: IpSegment | undefined;
  readonly states: Readonly<Record<Lookup, DataState>>;
  /** The ETag of IP answers from this release. Overridden answers and answers about the caller have other ETags. */
  readonly etag: string;
  readonly evidence: EvidenceTails;
}
