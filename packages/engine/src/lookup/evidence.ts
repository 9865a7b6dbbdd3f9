// evidence.ts: an answer and the evidence for it: which feed says what, of which network or domain, since when.
//
// in   an answer's bytes, what was asked, the release that answered
// out  the answer with "evidence" as its last member, at most 32 entries and 8 KB
// err  none thrown
// src  docs/evidence.md
// cost a quarter to a half more than the plain answer (bench/README.md); nothing for those who do not ask

import { formatIp, IpAddress } from "../address/ip.ts";
import { ascii } from "../email/ascii.ts";
import { isSpecialUseDomain } from "../email/domain.ts";
import { parseEmail } from "../email/email.ts";
import { EvidenceBody, SPAN_NONE, SPAN_OF_ANSWER } from "../segment/evidence.ts";
import type { FeedReport } from "../segment/release.ts";
import type { IpLookup, Lookup } from "./data-state.ts";
import { labelEntries } from "./email-labels.ts";
import type { EvidenceTails, LoadedRelease } from "./loaded-release.ts";

/** Prepared once for a release: nothing else of an entry changes while its segment stays. */
export function evidenceTails(
  feedsOf: Readonly<Record<Lookup, readonly string[] | undefined>>,
  reports: readonly FeedReport[],
): EvidenceTails {
  const byId = new Map(reports.map((report) => [report.id, report]));
  const tail = (id: string) => {
    const { fetched_at, published_at } = byId.get(id) ?? {};
    const times = JSON.stringify({ fetched_at, published_at });
    return ascii(times === "{}" ? "}" : `,${times.slice(1)}`);
  };
  const tails = (ids: readonly string[] | undefined) => (ids ?? []).map(tail);
  return {
    geolocate: tails(feedsOf.geolocate),
    reputation: tails(feedsOf.reputation),
    email: tails(feedsOf.email),
  };
}

/** Overrides beyond these are left out, so that what lists say, which explains a flag, has room. */
const MOST_OVERRIDES = 8;
/** A record of no entry that says that more did not fit: see EvidenceBody.addRecord. */
const TRUNCATED = Uint8Array.of(0, 0, 1, 0);

/** Begins with the entries of overrides. */
function begin(overrides: readonly Uint8Array[]): void {
  body.clear();
  for (const entry of overrides.slice(0, MOST_OVERRIDES)) body.add(entry);
  if (overrides.length > MOST_OVERRIDES) body.addRecord(TRUNCATED, [], () => "");
}

// An answer is made without a pause, so one of each is enough.
const body = new EvidenceBody();
const masked = new IpAddress();

/**
 * @param address IPv4 unwrapped
 * @param overrides entries that come before those of the release: the first eight of them
 */
export function withAddressEvidence(
  answer: Uint8Array,
  lookup: IpLookup,
  address: IpAddress,
  release: LoadedRelease,
  overrides: readonly Uint8Array[] = [],
): Uint8Array {
  const segment = lookup === "geolocate" ? release.geo : release.reputation;
  begin(overrides);
  const record = segment?.evidence(address);
  if (record !== undefined) {
    body.addRecord(record, release.evidence[lookup], (span) => {
      if (span === SPAN_NONE) return "";
      return networkMember(address, span === SPAN_OF_ANSWER ? segment!.networkBits(address) : span);
    });
  }
  return body.appendTo(answer);
}

function networkMember(address: IpAddress, bits: number): string {
  const width = address.family === 4 ? 32 : 128;
  if (bits > width) return ""; // only in a damaged file
  masked.family = address.family;
  for (let k = 0; k < width / 32; k++) {
    const kept = Math.min(32, Math.max(0, bits - 32 * k));
    masked.words[k] = kept === 0 ? 0 : address.words[k]! & (0xffffffff << (32 - kept));
  }
  return `,"network":"${formatIp(masked)}/${bits}"`;
}

/** @param overrides as {@link withAddressEvidence} takes them */
export function withEmailEvidence(
  answer: Uint8Array,
  text: string,
  release: LoadedRelease,
  overrides: readonly Uint8Array[] = [],
): Uint8Array {
  const { host, registrableStart } = parseEmail(text);
  begin(overrides);
  if (host !== undefined) {
    const never = neverListed(host, registrableStart);
    if (never !== undefined) body.add(never);
    const record = release.email?.evidenceFrom(host, registrableStart);
    if (record !== undefined) {
      body.addRecord(record, release.evidence.email, (span) => domainMember(host, span));
    }
    for (const entry of labelEntries(text, host, record)) body.add(entry);
  }
  return body.appendTo(answer);
}

/** Names that no list is asked about. */
function neverListed(host: string, registrableStart: number): Uint8Array | undefined {
  const why = isSpecialUseDomain(host)
    ? { feed: "special-use", label: "special_use" }
    : registrableStart < 0
      ? { feed: "public-suffix-list", label: "public_suffix" }
      : undefined;
  return why && ascii(JSON.stringify({ ...why, effect: "removes", flags: ["disposable"], domain: host }));
}

/** The last `labels` labels of the host. */
function domainMember(host: string, labels: number): string {
  if (labels === SPAN_NONE) return "";
  let at = host.length;
  for (let i = 0; i < labels && at > 0; i++) at = host.lastIndexOf(".", at - 1);
  return `,"domain":"${host.slice(at + 1)}"`;
}
