// subject.ts: appends to an answer what it is about: the address with its prefix, and whose network that is.
//
// in   an answer's JSON bytes, a public address, the segment that has the prefix or the network
// out  {…the answer…,"ip":"192.0.2.1","prefix":"192.0.2.0/24"} and {…,"network":{"prefix":…}}
// src  docs/api.md
// cost a copy of the answer; the network segment is read here and for its evidence alone

import { clearHostBits, formatIp, IpAddress, type UnwrappedAddress } from "../address/ip.ts";
import { ascii } from "../email/ascii.ts";
import type { IpSegment } from "../segment/ip-segment.ts";

const masked = new IpAddress();

/** The network of so many bits around an address; "" for more bits than it has, in a damaged file only. */
export function networkText({ family, words }: UnwrappedAddress, bits: number): string {
  const width = family === 4 ? 32 : 128;
  if (bits > width) return "";
  masked.family = family;
  masked.words.set(words);
  clearHostBits(masked, bits);
  return `${formatIp(masked)}/${bits}`;
}

/** @param segment that has the answer: `prefix` is the largest network around the address with the same one */
export function appendSubject(answer: Uint8Array, address: UnwrappedAddress, segment: IpSegment): Uint8Array {
  const prefix = networkText(address, segment.networkBits(address));
  return append(answer, `,"ip":"${formatIp(address)}","prefix":"${prefix}"}`);
}

/** @param segment undefined where the release has none: the network is unknown, `null` */
export function appendNetwork(
  answer: Uint8Array,
  address: UnwrappedAddress,
  segment: IpSegment | undefined,
): Uint8Array {
  const facts = segment?.lookup(address);
  if (segment === undefined || facts === undefined) return append(answer, ',"network":null}');
  const prefix = networkText(address, segment.networkBits(address));
  return append(answer, `,"network":{"prefix":"${prefix}",`, facts.subarray(1), "}");
}

/** @param answer a JSON object with at least one member, whose brace is dropped */
function append(answer: Uint8Array, ...pieces: (string | Uint8Array)[]): Uint8Array {
  const parts = pieces.map((piece) => (typeof piece === "string" ? ascii(piece) : piece));
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, answer.length - 1));
  whole.set(answer.subarray(0, answer.length - 1));
  let at = answer.length - 1;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
