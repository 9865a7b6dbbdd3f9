// evidence.ts: evidence records of a segment, and answers with evidence appended.
//
// in   a record of the section `evidence`, the tail of each feed, and the members for the record's spans
// out  {…the plain answer…,"evidence":[…]}, and "evidence_truncated":true when entries did not fit
// err  EvidenceRecords.verify: SegmentError; nothing else throws, whatever the bytes
// src  packages/engine/segment-format.md (records), docs/evidence.md (responses)
// cost copies: two for an entry that names a network or domain, otherwise one
//
// A record has an entry's text but for two parts. Its network or domain contains the address or host, so a span, its
// length, is enough: a handful of records serve a hundred thousand networks. The time when its feed was fetched changes
// while the segment remains the same.

import { ascii, asciiText } from "../email/ascii.ts";
import { Answers, RECORD_SECTIONS } from "./answers.ts";
import { SegmentError, type SegmentFile } from "./segment.ts";

/** Limits of an answer's evidence: entries, and bytes from "[" to "]". */
export const MAX_EVIDENCE_ENTRIES = 32;
export const MAX_EVIDENCE_BYTES = 8192;

/** A record: number of entries, and 1 when more did not fit, a uint16 each; then the entries. */
export const EVIDENCE_HEADER_BYTES = 4;
/** An entry: uint16 feed, uint16 length of its text, uint8 span; then the text. */
export const EVIDENCE_ENTRY_BYTES = 5;

/** Spans: prefix bits of a network, labels of a domain, or one of these. */
export const SPAN_OF_ANSWER = 254; // the network that the answer holds for
export const SPAN_NONE = 255; // neither network nor domain
const MAX_SPAN = 128;

/** What an entry does to the answer. */
export const EFFECTS = ["sets", "removes", "fills", "label"] as const;
export type Effect = (typeof EFFECTS)[number];

/** The sections `evidence` and `evidenceFeeds` of a segment. */
export class EvidenceRecords {
  /** Ids, by the number that entries have for them. */
  readonly feeds: readonly string[];
  private readonly records: Answers;

  /** @throws SegmentError */
  constructor(segment: SegmentFile) {
    this.records = new Answers(segment, RECORD_SECTIONS.evidence);
    this.feeds = readFeeds(segment.u8("evidenceFeeds"));
  }

  /** A view: never write to it. */
  at(value: number): Uint8Array | undefined {
    return this.records.at(value);
  }

  /**
   * Reads every record.
   * @returns whether a value names one
   * @throws SegmentError naming the first record at fault
   */
  verify(): (value: number) => boolean {
    const isRecord = this.records.verify();
    for (let number = 0; number < this.records.count; number++) {
      const record = this.records.at(number);
      if (record !== undefined) verifyRecord(`evidence, record ${number}`, record, this.feeds);
    }
    return isRecord;
  }
}

function readFeeds(bytes: Uint8Array): string[] {
  const feeds = parsed(asciiText(bytes));
  const isList =
    Array.isArray(feeds) &&
    feeds.length < 65536 &&
    feeds.every((feed) => typeof feed === "string") &&
    new Set(feeds).size === feeds.length;
  if (!isList) throw new SegmentError("section evidenceFeeds", "is no JSON array of different texts");
  return feeds;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // not JSON
  }
}

function verifyRecord(place: string, record: Uint8Array, feeds: readonly string[]): void {
  const { count, truncated } = headOf(record);
  if (count < 1 || count > MAX_EVIDENCE_ENTRIES || truncated > 1) {
    throw new SegmentError(place, `has ${count} entries and mark ${truncated}`);
  }
  let at = EVIDENCE_HEADER_BYTES;
  for (let i = 0; i < count; i++) {
    const { feed, start, end, span } = entryAt(record, at);
    const entry = end > record.length ? undefined : parsed(`${asciiText(record.subarray(start, end))}}`);
    if (!isEntry(entry, feeds[feed])) throw new SegmentError(`${place}, entry ${i}`, "is no entry of a feed");
    if (span > MAX_SPAN && span < SPAN_OF_ANSWER)
      throw new SegmentError(`${place}, entry ${i}`, `span ${span}`);
    at = end;
  }
  if (at !== record.length)
    throw new SegmentError(place, `has ${record.length - at} bytes after its entries`);
}

function isEntry(entry: unknown, feed: string | undefined): boolean {
  if (typeof entry !== "object" || entry === null || feed === undefined) return false;
  const { feed: named, effect } = entry as { feed?: unknown; effect?: unknown };
  return named === feed && EFFECTS.includes(effect as Effect);
}

/** By record, while its view is kept. */
const knownLabels = new WeakMap<Uint8Array, readonly string[]>();

/** The labels of a record's entries. */
export function labelsIn(record: Uint8Array): readonly string[] {
  let labels = knownLabels.get(record);
  if (labels === undefined) {
    labels = readLabels(record);
    knownLabels.set(record, labels);
  }
  return labels;
}

function readLabels(record: Uint8Array): string[] {
  const { count } = headOf(record);
  const labels: string[] = [];
  for (let i = 0, at = EVIDENCE_HEADER_BYTES; i < count; i++) {
    const { start, end } = entryAt(record, at);
    const entry = JSON.parse(`${asciiText(record.subarray(start, end))}}`) as { readonly label: string };
    labels.push(entry.label);
    at = end;
  }
  return labels;
}

/** Bytes beyond a record that is cut short read as 0. */
function headOf(record: Uint8Array) {
  return { count: word16(record, 0), truncated: word16(record, 2) };
}

function entryAt(record: Uint8Array, at: number) {
  const start = at + EVIDENCE_ENTRY_BYTES;
  return {
    feed: word16(record, at),
    span: record[at + 4] ?? SPAN_NONE,
    start,
    end: start + word16(record, at + 2),
  };
}

function word16(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
}

const COMMA = 0x2c;
const HEAD = ascii(',"evidence":[');
const FOOT = ascii("]}");
const FOOT_TRUNCATED = ascii('],"evidence_truncated":true}');
const NO_TAIL = ascii("}");

/** An entry of a record, and what closes it. */
interface Entry {
  readonly span: number;
  readonly text: Uint8Array;
  readonly tail: Uint8Array;
  /** Both. */
  readonly whole: Uint8Array;
}

interface Entries {
  readonly tails: readonly Uint8Array[];
  readonly entries: readonly Entry[];
  readonly isTruncated: boolean;
}

function entriesOf(record: Uint8Array, tails: readonly Uint8Array[]): Entries {
  const { count, truncated } = headOf(record);
  const entries: Entry[] = [];
  for (let i = 0, at = EVIDENCE_HEADER_BYTES; i < count; i++) {
    const { feed, span, start, end } = entryAt(record, at);
    if (end > record.length) return { tails, entries, isTruncated: false }; // only in a damaged file
    const tail = tails[feed] ?? NO_TAIL;
    const whole = new Uint8Array(end - start + tail.length);
    whole.set(record.subarray(start, end));
    whole.set(tail, end - start);
    entries.push({ span, text: whole.subarray(0, end - start), tail, whole });
    at = end;
  }
  return { tails, entries, isTruncated: truncated !== 0 };
}

/**
 * Collects the entries of one answer after the other, within the limits.
 * One is enough for a process: an answer is made without a pause, and no result shares memory with it.
 */
export class EvidenceBody {
  private readonly bytes = new Uint8Array(MAX_EVIDENCE_BYTES - 2); // "[" and "]" are not in it
  private end = 0;
  private count = 0;
  private isTruncated = false;
  /** By record, while its view is kept: a segment has some hundred records for all of its answers. */
  private readonly known = new WeakMap<Uint8Array, Entries>();

  clear(): void {
    this.end = 0;
    this.count = 0;
    this.isTruncated = false;
  }

  /** Adds an entry that is complete. */
  add(entry: Uint8Array): void {
    if (!this.hasRoom(entry.length)) return;
    this.copy(entry);
  }

  /**
   * Adds the entries of a record.
   * @param tails by feed, what closes an entry: `,"fetched_at":"…"}` or `}`
   * @param subjectOf the member for a span, with its comma: `,"network":"192.0.2.0/24"`; "" for none
   */
  addRecord(record: Uint8Array, tails: readonly Uint8Array[], subjectOf: (span: number) => string): void {
    let known = this.known.get(record);
    if (known?.tails !== tails) {
      known = entriesOf(record, tails);
      this.known.set(record, known);
    }
    for (const { span, text, tail, whole } of known.entries) {
      const subject = subjectOf(span);
      if (!this.hasRoom(whole.length + subject.length)) continue;
      if (subject === "") {
        this.copy(whole);
        continue;
      }
      this.copy(text);
      for (let k = 0; k < subject.length; k++) this.bytes[this.end++] = subject.charCodeAt(k);
      this.copy(tail);
    }
    if (known.isTruncated) this.isTruncated = true;
  }

  /** The plain answer, a JSON object with at least one member, with what was collected at its end. */
  appendTo(plain: Uint8Array): Uint8Array {
    const foot = this.isTruncated ? FOOT_TRUNCATED : FOOT;
    const kept = plain.length - 1; // without its brace
    const whole = new Uint8Array(kept + HEAD.length + this.end + foot.length);
    whole.set(plain);
    whole.set(HEAD, kept);
    whole.set(this.bytes.subarray(0, this.end), kept + HEAD.length);
    whole.set(foot, kept + HEAD.length + this.end);
    return whole;
  }

  /** Makes room for one entry more and writes its comma; false, and remembered, when it does not fit. */
  private hasRoom(length: number): boolean {
    const comma = this.count > 0 ? 1 : 0;
    if (this.count === MAX_EVIDENCE_ENTRIES || this.end + comma + length > this.bytes.length) {
      this.isTruncated = true;
      return false;
    }
    if (comma > 0) this.bytes[this.end++] = COMMA;
    this.count++;
    return true;
  }

  private copy(bytes: Uint8Array): void {
    this.bytes.set(bytes, this.end);
    this.end += bytes.length;
  }
}
