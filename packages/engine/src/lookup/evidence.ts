// evidence.ts: appends the evidence to an answer: which feed claims what, of which network or domain, since when.
//
// in   an answer's bytes, its subject, the release that answered
// out  the answer with "evidence" as its last member, at most 32 entries and 8 KB
// src  docs/evidence.md
// cost a quarter to a half more than the plain answer (bench/README.md)

import type { UnwrappedAddress } from "../address/ip.ts";
import { ascii } from "../email/ascii.ts";
import { isSpecialUseDomain } from "../email/domain.ts";
import type { EmailAddress } from "../email/email.ts";
import { EvidenceBody, SPAN_NONE, SPAN_OF_ANSWER } from "../segment/evidence.ts";
import type { IpSegment } from "../segment/ip-segment.ts";
import type { FeedReport } from "../segment/release.ts";
import type { IpLookup, Lookup } from "./data-state.ts";
import { labelEntries } from "./email-labels.ts";
import type { EvidenceTails, LoadedRelease } from "./loaded-release.ts";
import { networkText } from "./subject.ts";

/** Prepared once for a release: nothing else of an entry changes while its segment stays. */
export function evidenceTails(
  feedsOf: Readonly<Partial<Record<Lookup | "network", readonly string[] | undefined>>>,
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
    network: tails(feedsOf.network),
  };
}

/** One is enough for a thread: each call ends before the next, and no result shares memory with it. */
export class EvidenceAppender {
  private readonly body = new EvidenceBody();

  /**
   * @param first entries that come before those of the release
   * @param withNetwork those of the network follow
   */
  toAddressAnswer(
    answer: Uint8Array,
    lookup: IpLookup,
    address: UnwrappedAddress,
    release: LoadedRelease,
    first: readonly Uint8Array[] = [],
    withNetwork = false,
  ): Uint8Array {
    this.begin(first);
    const segment = lookup === "geolocate" ? release.geo : release.reputation;
    this.addSegment(segment, address, release.evidence[lookup]);
    if (withNetwork) this.addSegment(release.network, address, release.evidence.network);
    return this.body.appendTo(answer);
  }

  private addSegment(
    segment: IpSegment | undefined,
    address: UnwrappedAddress,
    tails: readonly Uint8Array[],
  ): void {
    const record = segment?.evidence(address);
    if (segment === undefined || record === undefined) return;
    this.body.addRecord(record, tails, (span) => {
      if (span === SPAN_NONE) return "";
      const network = networkText(address, span === SPAN_OF_ANSWER ? segment.networkBits(address) : span);
      return network === "" ? "" : `,"network":"${network}"`;
    });
  }

  /** @param first as {@link toAddressAnswer} takes them */
  toEmailAnswer(
    answer: Uint8Array,
    text: string,
    { host, registrableStart }: EmailAddress,
    release: LoadedRelease,
    first: readonly Uint8Array[] = [],
  ): Uint8Array {
    const { body } = this;
    this.begin(first);
    if (host !== undefined) {
      const unlisted = neverListed(host, registrableStart);
      if (unlisted !== undefined) body.add(unlisted);
      const record = release.email?.evidenceFrom(host, registrableStart);
      if (record !== undefined) {
        body.addRecord(record, release.evidence.email, (span) => domainMember(host, span));
      }
      for (const entry of labelEntries(text, host, record)) body.add(entry);
    }
    return body.appendTo(answer);
  }

  private begin(first: readonly Uint8Array[]): void {
    this.body.clear();
    for (const entry of first) this.body.add(entry);
  }
}

/** Names that are looked up in no feed. */
function neverListed(host: string, registrableStart: number): Uint8Array | undefined {
  const source = isSpecialUseDomain(host)
    ? { feed: "special-use", label: "special_use" }
    : registrableStart < 0
      ? { feed: "public-suffix-list", label: "public_suffix" }
      : undefined;
  return (
    source && ascii(JSON.stringify({ ...source, effect: "removes", flags: ["disposable"], domain: host }))
  );
}

/** The last `labels` labels of the host; undefined for {@link SPAN_NONE}. */
export function parentOf(host: string, labels: number): string | undefined {
  if (labels === SPAN_NONE) return undefined;
  let at = host.length;
  for (let i = 0; i < labels && at > 0; i++) at = host.lastIndexOf(".", at - 1);
  return host.slice(at + 1);
}

function domainMember(host: string, labels: number): string {
  const domain = parentOf(host, labels);
  return domain === undefined ? "" : `,"domain":"${domain}"`;
}
