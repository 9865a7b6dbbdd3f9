// evidence.ts: reads the evidence records of a segment, and appends evidence to answers.
//
// in   a record of the section `evidence`, the tail of each feed, and the fields for the record's spans
// out  {…the plain answer…,"evidence":[…]}, and "evidence_truncated":true if entries did not fit
// err  opening and verifying: SegmentError. labelsIn: SyntaxError if the record is damaged. Nothing else throws,
//      whatever the bytes
// src  packages/engine/segment-format.md (records), docs/evidence.md (responses)
// cost an entry with a network or domain takes two copies (its text and its tail); other entries take one copy
//
// A record contains the text of its entries, except for two parts. The first part is the network or domain. It contains
// the address or host that was looked up, so the record stores only its length, the span. This is why a handful of
// records can serve a hundred thousand networks. The second part is the feed's times, which change even if the segment
// does not.

import { ascii, asciiText } from "../email/ascii.ts";
import { Answers, RECORD_SECTIONS } from "./answers.ts";
import { SegmentError, type SegmentFile } from "./segment.ts";

/**
 * Limits for the evidence in an answer: the maximum number of entries, and the maximum number of bytes from "[" to "]".
 */
export const MAX_EVIDENCE_ENTRIES = 32;
export const MAX_EVIDENCE_BYTES = 8192;

/** A record begins with two uint16: the number of entries, and 1 if more entries did not fit. The entries follow. */
export const EVIDENCE_HEADER_BYTES = 4;
/** An entry begins with its feed (uint16), the length of its text (uint16) and its span (uint8). The text follows. */
export const EVIDENCE_ENTRY_BYTES = 5;

/** A span is the prefix length of a network, the number of labels of a domain, or one of these two values. */
export const SPAN_OF_ANSWER = 254; // the whole network that the answer applies to
export const SPAN_NONE = 255; // neither network nor domain
const MAX_SPAN = 128;

/** What an entry does to the answer. */
export const EFFECTS = ["sets", "removes", "fills", "label"] as const;
export type Effect = (typeof EFFECTS)[number];

/** The sections `evidence` and `evidenceFeeds` of a segment. */
export class EvidenceRecords {
  /** Feed ids, indexed by the feed number in entries. */
  readonly feeds: readonly string[];
  private readonly records: Answers;

  /** @throws SegmentError */
  constructor(segment: SegmentFile) {
    this.records = new Answers(segment, RECORD_SECTIONS.evidence);
    this.feeds = readFeeds(segment.u8("evidenceFeeds"));
  }

  /** Returns a view of a record, which callers must not write to; undefined if there is no such record. */
  at(value: number): Uint8Array | undefined {
    return this.records.at(value);
  }

  /**
   * Checks every record.
   * @returns a function that returns whether a value is that of a record
   * @throws SegmentError, which shows the first wrong record
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
  if (!isList) throw new SegmentError("section evidenceFeeds", "is not a JSON array of distinct strings");
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
    if (!isEntry(entry, feeds[feed])) throw new SegmentError(`${place}, entry ${i}`, "is not a feed entry");
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

/** Labels by record, for as long as the record's view is kept. */
const knownLabels = new WeakMap<Uint8Array, readonly string[]>();

/** Returns the labels of a record's entries. */
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

/** Reads the header of a record. In a truncated record, missing bytes read as 0. */
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

/** An entry of a record, and the tail that closes it. */
interface Entry {
  readonly span: number;
  readonly text: Uint8Array;
  readonly tail: Uint8Array;
  /** Text and tail together. */
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
    if (end > record.length) return { tails, entries, isTruncated: false }; // this happens only in a damaged file
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
 * Collects the evidence entries of one answer at a time, within the limits. A thread needs only one body, because
 * building an answer is synchronous, and results share no memory with the body.
 */
export class EvidenceBody {
  private readonly bytes = new Uint8Array(MAX_EVIDENCE_BYTES - 2); // without "[" and "]"
  private end = 0;
  private count = 0;
  private isTruncated = false;
  /**
   * Entries by record, for as long as the record's view is kept. A segment has only a few hundred records for all of
   * its answers.
   */
  private readonly known = new WeakMap<Uint8Array, Entries>();

  clear(): void {
    this.end = 0;
    this.count = 0;
    this.isTruncated = false;
  }

  /** Adds a complete entry. */
  add(entry: Uint8Array): void {
    if (!this.hasRoom(entry.length)) return;
    this.copy(entry);
  }

  /**
   * Adds the entries of a record.
   * @param tails for each feed, the text that closes its entries: `,"fetched_at":"…"}` or `}`
   * @param subjectOf returns the field for a span, with its comma: `,"network":"192.0.2.0/24"`; "" for none
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

  /**
   * Appends the collected entries to an answer.
   * @param plain a JSON object with at least one field
   */
  appendTo(plain: Uint8Array): Uint8Array {
    const foot = this.isTruncated ? FOOT_TRUNCATED : FOOT;
    const kept = plain.length - 1; // without the closing brace
    const whole = new Uint8Array(kept + HEAD.length + this.end + foot.length);
    whole.set(plain);
    whole.set(HEAD, kept);
    whole.set(this.bytes.subarray(0, this.end), kept + HEAD.length);
    whole.set(foot, kept + HEAD.length + this.end);
    return whole;
  }

  /**
   * Returns whether an entry of this length fits. If so, counts it and writes its comma; otherwise, marks the evidence
   * as truncated.
   */
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
