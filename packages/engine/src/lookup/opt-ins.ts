// opt-ins.ts: appends the fields that a caller opted in to: the address with its prefix, the network that contains it,
// and the evidence, which is always the last field.
//
// Source: docs/api.md, docs/evidence.md, docs/email.md ("Labels"). Cost: each opt-in copies the answer. Over HTTP, a
// lookup with evidence takes 1.2 to 1.4 times the CPU time of a plain lookup (bench/README.md, Evidence).

import {
  clearHostBits,
  formatIp,
  holdsIpv4,
  IpAddress,
  parsePrefix,
  type UnwrappedAddress,
} from "../address/ip.ts";
import { ascii } from "../email/ascii.ts";
import { resembledDomain } from "../email/confusable.ts";
import { isSpecialUseDomain } from "../email/domain.ts";
import type { EmailAddress } from "../email/email.ts";
import { hasTag, isRoleAccount, meantInstead, suggestDomain } from "../email/email-labels.ts";
import { EvidenceBody, labelsIn, SPAN_NONE, SPAN_OF_ANSWER } from "../segment/evidence.ts";
import type { IpSegment } from "../segment/ip-segment.ts";
import type { FeedReport } from "../segment/release.ts";
import type { EvidenceTails, IpLookup, LoadedRelease, Lookup } from "./data-state.ts";

/**
 * Prepares the end of each feed's evidence entries, once for each release. The rest of an entry is in the segment,
 * which several releases may share.
 */
export function evidenceTails(
  feedsOf: Readonly<Partial<Record<Lookup | "network", readonly string[] | undefined>>>,
  reports: readonly FeedReport[],
): EvidenceTails {
  const byId = new Map(reports.map((report) => [report.id, report]));
  const tail = (id: string) => {
    const { fetched_at, published_at, sets } = byId.get(id) ?? {};
    // An entry of a list was last seen in the copy that the release has.
    const seen = sets === "is_proxy" || sets === "is_abuser" ? (published_at ?? fetched_at) : undefined;
    const times = JSON.stringify({ fetched_at, published_at, last_seen: seen?.slice(0, 10) });
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

/** Optional fields of an answer about an address, as bits of a set. */
export const INCLUDE = { evidence: 1, network: 4, subject: 8 } as const;

/** A thread needs only one object, because calls are synchronous, and results share no memory with the object. */
export class OptIns {
  private readonly body = new EvidenceBody();

  /**
   * @param include bits of {@link INCLUDE}
   * @param first evidence entries that come before the entries of the release
   */
  addToAddress(
    answer: Uint8Array,
    lookup: IpLookup,
    address: UnwrappedAddress,
    release: LoadedRelease,
    include: number,
    first: readonly Uint8Array[] = [],
  ): Uint8Array {
    const segment = lookup === "geolocate" ? release.geo : release.reputation;
    const withNetwork = (include & INCLUDE.network) !== 0;
    let body = answer;
    if (segment !== undefined && (include & INCLUDE.subject) !== 0)
      body = appendSubject(body, address, segment);
    if (withNetwork) body = appendNetwork(body, address, release.network);
    if ((include & INCLUDE.evidence) === 0) return body;
    this.begin(first);
    this.addSegment(segment, address, release.evidence[lookup]);
    if (withNetwork) this.addSegment(release.network, address, release.evidence.network);
    return this.body.appendTo(body);
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

  /**
   * Appends the evidence about an email address.
   * @param first entries that come before the entries of the release
   */
  addToEmail(
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
      if (unlisted !== undefined)
        body.add(
          ascii(JSON.stringify({ ...unlisted, effect: "removes", flags: ["disposable"], domain: host })),
        );
      const record = release.email?.evidenceFrom(host, registrableStart);
      if (record !== undefined) {
        body.addRecord(record, release.evidence.email, (span) => domainField(host, span));
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

/** Returns an evidence entry with the reason why no feed can list this host, or undefined if a feed can. */
function neverListed(host: string, registrableStart: number) {
  if (isSpecialUseDomain(host)) return { feed: "special-use", label: "special_use" };
  return registrableStart < 0 ? { feed: "public-suffix-list", label: "public_suffix" } : undefined;
}

/** Returns the labels in the evidence about an email address, without the labels of overrides. */
export function emailLabels(
  text: string,
  { host, registrableStart }: EmailAddress,
  { email }: LoadedRelease,
): string[] {
  if (host === undefined) return [];
  const unlisted = neverListed(host, registrableStart);
  const record = email?.evidenceFrom(host, registrableStart);
  return [
    ...(unlisted === undefined ? [] : [unlisted.label]),
    ...(record === undefined ? [] : labelsIn(record)),
    ...labelsOfText(text, host, record).map(({ label }) => label),
  ];
}

/** Returns the last `labels` labels of the host; undefined for {@link SPAN_NONE}. */
function parentOf(host: string, labels: number): string | undefined {
  if (labels === SPAN_NONE) return undefined;
  let at = host.length;
  for (let i = 0; i < labels && at > 0; i++) at = host.lastIndexOf(".", at - 1);
  return host.slice(at + 1);
}

function domainField(host: string, labels: number): string {
  const domain = parentOf(host, labels);
  return domain === undefined ? "" : `,"domain":"${domain}"`;
}

const masked = new IpAddress();

/**
 * Returns the text of the network with this prefix length around an address. The result is "" if the address has fewer
 * bits, which happens only if the file is damaged.
 */
export function networkText({ family, words }: IpAddress, bits: number): string {
  const width = family === 4 ? 32 : 128;
  if (bits > width) return "";
  masked.family = family;
  masked.words.set(words);
  clearHostBits(masked, bits);
  return `${formatIp(masked)}/${bits}`;
}

/**
 * Returns the network that stands for a visitor in counts and stored decisions: the /24 (IPv4) or /48 (IPv6) around it.
 */
export function visitorNetwork(address: UnwrappedAddress): string {
  return networkText(address, address.family === 4 ? 24 : 48);
}

/**
 * Returns the network that stands for an address in decisions.
 * @param text an address; its /24 (IPv4) or /48 (IPv6); or a network inside that /24 or /48
 * @returns "81.2.69.0/24"; undefined for any other text, such as a wider network
 */
export function visitorNetworkOf(text: string): string | undefined {
  const prefix = parsePrefix(text);
  if (prefix === undefined || holdsIpv4(prefix)) return undefined;
  const bits = prefix.address.family === 4 ? 24 : 48;
  return prefix.bits < bits ? undefined : networkText(prefix.address, bits);
}

/** @param segment the answer's segment; `prefix` is the largest network around the address with the same answer */
function appendSubject(answer: Uint8Array, address: UnwrappedAddress, segment: IpSegment): Uint8Array {
  const prefix = networkText(address, segment.networkBits(address));
  return append(answer, `,"ip":"${formatIp(address)}","prefix":"${prefix}"}`);
}

/** @param segment undefined if the release has no network segment; `network` is then `null`, which means unknown */
function appendNetwork(
  answer: Uint8Array,
  address: UnwrappedAddress,
  segment: IpSegment | undefined,
): Uint8Array {
  const facts = segment?.lookup(address);
  if (segment === undefined || facts === undefined) return append(answer, ',"network":null}');
  const prefix = networkText(address, segment.networkBits(address));
  return append(answer, `,"network":{"prefix":"${prefix}",`, facts.subarray(1), "}");
}

/** @param answer a JSON object with at least one field; its closing brace is dropped */
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

interface TextLabel {
  readonly label: string;
  readonly entry: () => Uint8Array;
}

const entryOf = (label: string, more: object = {}) =>
  ascii(JSON.stringify({ feed: "inkling", label, effect: "label", ...more }));

/** Returns a label whose entry is always the same. */
function fixedLabel(label: string): TextLabel {
  const entry = entryOf(label);
  return { label, entry: () => entry };
}

const suggestion = (label: string, did_you_mean: string): TextLabel => ({
  label,
  entry: () => entryOf(label, { did_you_mean }),
});

const ROLE_ACCOUNT = fixedLabel("role_account");
const ALIAS = fixedLabel("alias");

/** @param record the release's evidence about the host, if it has any */
export const labelEntries = (text: string, host: string, record?: Uint8Array): Uint8Array[] =>
  labelsOfText(text, host, record).map(({ entry }) => entry());

function labelsOfText(text: string, host: string, record: Uint8Array | undefined): TextLabel[] {
  const local = text.slice(0, text.lastIndexOf("@"));
  const labels: TextLabel[] = [];
  if (isRoleAccount(local)) labels.push(ROLE_ACCOUNT);
  if (hasTag(local)) labels.push(ALIAS);
  const meant = suggestDomain(host);
  if (meant !== undefined && (meantInstead(host) !== undefined || !isInUse(record)))
    labels.push(suggestion("mistyped", meant));
  const resembled = resembledDomain(host);
  if (resembled !== undefined) labels.push(suggestion("confusable", resembled));
  return labels;
}

/** Returns whether the domain is on an allow-list. Such a domain receives real mail, even if it looks like a typo. */
function isInUse(record: Uint8Array | undefined): boolean {
  return record !== undefined && labelsIn(record).some((label) => label === "free_mail" || label === "relay");
}
