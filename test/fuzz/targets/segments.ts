// Fuzzes segment files, half of them with checksums that match the damage. The result is a SegmentError, or lookups
// that end without throwing.

import { readFileSync } from "node:fs";
import {
  answerEmail,
  bodyStart,
  crc32,
  EmailSegment,
  HEADER_BYTES,
  headerChecksum,
  IpAddress,
  IpSegment,
  parseIp,
  SEGMENT_KINDS,
  SegmentError,
  type SegmentKind,
} from "@inkling/engine";
import { smallRelease, temporaryFolder } from "../../harness/release.ts";
import type { Random, Target } from "../target.ts";

const ADDRESSES = ["81.2.69.142", "8.8.8.8", "2001:db9::1", "223.255.255.255"].map((text) => parseIp(text)!);
const HOSTS = ["disposable-1.com", "a.b.disposable-1.com", "gmail.com", "com"];

/** Updates the checksums in half of the cases. */
function repair(damaged: Uint8Array, random: Random): Uint8Array {
  const bytes = Uint8Array.from(damaged); // aligned as a segment must be
  if (random(2) === 0 || bytes.length < HEADER_BYTES) return bytes;
  const header = new DataView(bytes.buffer);
  header.setBigUint64(16, BigInt(bytes.length), true);
  const body = bodyStart(header);
  if (body > bytes.length) return bytes;
  header.setUint32(28, crc32(bytes.subarray(body)), true);
  header.setUint32(32, headerChecksum(bytes, body), true);
  return bytes;
}

export default function segments(): Target {
  const corpus = smallRelease(temporaryFolder(), 1).files.map((path) => Uint8Array.from(readFileSync(path)));
  const address = new IpAddress();
  const read = (bytes: Uint8Array, kind: SegmentKind) => {
    if (kind === "email") {
      const segment = EmailSegment.open(bytes);
      for (const host of HOSTS) {
        answerEmail(`a@${host}`, segment);
        segment.evidenceFrom(host, 0);
      }
      return segment;
    }
    const segment = IpSegment.open(bytes, kind);
    for (const one of ADDRESSES) {
      segment.lookup(one);
      segment.evidence(one);
      segment.reasonBits(one);
    }
    for (let word = 0; word < 2 ** 32; word += 2 ** 26 + 12_345) {
      address.words[0] = word;
      segment.answer(segment.record(address));
    }
    return segment;
  };
  return {
    corpus,
    repair,
    check: (input) => {
      const bytes = input.byteOffset % 8 === 0 ? input : Uint8Array.from(input);
      const kinds = Object.keys(SEGMENT_KINDS) as SegmentKind[];
      const kind = kinds.find((name) => SEGMENT_KINDS[name] === bytes[12]) ?? "geo";
      try {
        const segment = read(bytes, kind);
        try {
          segment.verify();
        } catch (error) {
          if (error instanceof SegmentError) return "found by verify";
          throw error;
        }
        return "sound";
      } catch (error) {
        if (error instanceof SegmentError) return "refused at open";
        throw error;
      }
    },
  };
}
