// opt-ins.ts: appends the fields that a caller opted in to: the address with its prefix, the network that contains it,
// and last the evidence, with `evidence_truncated` if entries did not fit.
//
// Source: docs/api.md, docs/evidence.md, docs/email.md ("Labels"). Cost: each opt-in copies the answer. Over HTTP, a
// lookup with evidence takes 1.2 to 1.4 times the CPU time of a plain lookup (bench/README.md, Evidence).

import { formatIp, type UnwrappedAddress } from "../address/ip.ts";
import { ascii } from "../email/ascii.ts";
import { resembledDomain } from "../email/confusable.ts";
import { isSpecialUseDomain } from "../email/domain.ts";
import type { EmailAddress } from "../email/email.ts";
import { hasTag, isRoleAccount, meantInstead, suggestDomain } from "../email/email-labels.ts";
import { EvidenceBody, labelsIn, SPAN_NONE } from "../segment/evidence.ts";
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
    const network = (include & INCLUDE.network) === 0 ? undefined : release.network;
    const fields: (string | Uint8Array)[] = [];
    if (segment !== undefined && (include & INCLUDE.subject) !== 0)
      fields.push(`,"ip":"${formatIp(address)}","prefix":"${segment.networkText(address)}"`);
    if ((include & INCLUDE.network) !== 0) {
      const facts = network?.lookup(address);
      if (network === undefined || facts === undefined)
        fields.push(',"network":null'); // which means unknown
      else fields.push(`,"network":{"prefix":"${network.networkText(address)}",`, facts.subarray(1));
    }
    const body = fields.length === 0 ? answer : append(answer, fields);
    if ((include & INCLUDE.evidence) === 0) return body;
    this.begin(first);
    segment?.addEvidence(address, release.evidence[lookup], this.body);
    network?.addEvidence(address, release.evidence.network, this.body);
    return this.body.appendTo(body);
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

/**
 * Appends fields to an answer, which is a JSON object with at least one field.
 * @param fields pieces of JSON, beginning with a comma
 */
function append(answer: Uint8Array, fields: readonly (string | Uint8Array)[]): Uint8Array {
  const pieces = [...fields, "}"].map((piece) => (typeof piece === "string" ? ascii(piece) : piece));
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, answer.length - 1));
  whole.set(answer.subarray(0, answer.length - 1));
  let at = answer.length - 1;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
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
