// marked.ts: a second release of full size beside the current one, with another letter in the texts of its answers, so that
// its segments have other bytes; and paths that both releases answer.

import { readFileSync } from "node:fs";
import * as engine from "@inkling/engine";
import * as store from "@inkling/release-store";
import type { CurrentRelease } from "./data.ts";
import { knownAddresses } from "./data.ts";

type SegmentKind = (typeof engine.SEGMENT_OF)[engine.Lookup];
/** A text that answers of a kind have. */
const TEXTS: Readonly<Record<SegmentKind, string>> = {
  geo: '"continent":',
  reputation: '"is_proxy":',
  email: '.com"', // of a provider: the rest of an answer is not in the segment
};

/** Replaces a text in the answers of a segment, and renews its checksums (docs/segment-format.md). */
function markSegment(bytes: Uint8Array, kind: SegmentKind): void {
  const segment = engine.openSegment(bytes, kind);
  const text = TEXTS[kind];
  let count = 0;
  for (const name of ["answers", "answerTemplates"] as const) {
    if (!segment.has(name)) continue;
    const { buffer, byteOffset, length } = segment.u8(name);
    const section = Buffer.from(buffer, byteOffset, length);
    for (let at = section.indexOf(text); at >= 0; at = section.indexOf(text, at + 1), count++)
      section.write(text.replace("o", "q"), at);
  }
  if (count === 0) throw new Error(`no answer of the ${kind} segment has ${text}`);
  const header = new DataView(bytes.buffer, bytes.byteOffset, engine.HEADER_BYTES);
  const body = engine.bodyStart(header);
  header.setUint32(28, engine.crc32(bytes.subarray(body)), true);
  header.setUint32(32, engine.headerChecksum(bytes, body), true);
}

/** Publishes the current release of a data folder again, marked in these kinds. @returns its manifest */
export function publishMarked(
  dataDir: string,
  { manifest, segmentPath }: CurrentRelease,
  kinds: readonly SegmentKind[],
): engine.Release {
  const segments = { ...manifest.segments };
  for (const kind of kinds) {
    const before = segments[kind];
    if (before === undefined) continue;
    const bytes = new Uint8Array(readFileSync(segmentPath(kind)).buffer);
    markSegment(bytes, kind);
    segments[kind] = { ...before, ...store.writeSegmentFile(dataDir, [bytes]) };
  }
  const created_at = new Date(Date.parse(manifest.created_at) + 1000).toISOString();
  const content = { ...manifest, created_at, segments };
  const release = { ...content, id: store.releaseId(content) };
  store.publish(dataDir, release);
  return release;
}

/** Paths of geolocations and email verdicts in turn. */
export function pathsOf({ segmentPath }: CurrentRelease, count: number): string[] {
  const { known } = knownAddresses(segmentPath("geo"), count);
  const emails = engine.EmailSegment.open(readFileSync(segmentPath("email"))).domains();
  return known.flatMap((address) => {
    const { value, done } = emails.next();
    const geo = `/v1/ip-intel/geolocate/${address}`;
    return done ? [geo] : [geo, `/v1/user-intel/email/someone@${value.name}`];
  });
}
