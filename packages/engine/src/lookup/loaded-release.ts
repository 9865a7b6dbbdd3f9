// loaded-release.ts: one release as it answers: its segments, and what is prepared once for all its answers.

import type { EmailSegment } from "../segment/email-segment.ts";
import type { IpSegment } from "../segment/ip-segment.ts";
import type { Release } from "../segment/release.ts";
import type { DataState, Lookup } from "./data-state.ts";

/** What closes an entry of each feed of a lookup, or of the network: when its copy was fetched and published. */
export type EvidenceTails = Readonly<Record<Lookup | "network", readonly Uint8Array[]>>;

/** One release, immutable. A request takes it once and answers from it alone. */
export interface LoadedRelease {
  readonly name: string;
  readonly manifest: Release;
  readonly geo: IpSegment | undefined;
  readonly reputation: IpSegment | undefined;
  readonly email: EmailSegment | undefined;
  /** Read for `include=network` alone. */
  readonly network: IpSegment | undefined;
  readonly states: Readonly<Record<Lookup, DataState>>;
  /** What every IP answer of this release has as ETag: a URL's answer changes only with the release. */
  readonly etag: string;
  readonly evidence: EvidenceTails;
}
