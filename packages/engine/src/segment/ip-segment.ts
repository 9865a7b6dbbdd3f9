// ip-segment.ts: reads the segments with answers about IP addresses: geo, reputation and network.
//
// in   the bytes of a segment, then one address or a block of addresses at a time
// out  the answer as the JSON bytes that the compiler wrote; in a separate call, its evidence
// err  open and verify: SegmentError. A lookup never throws, except countryOf: SyntaxError if the answer is damaged

import { type IpAddress, networkText, type UnwrappedAddress } from "../address/ip.ts";
import type { PackedAddresses } from "../address/packed.ts";
import { asciiText } from "../email/ascii.ts";
import { Answers } from "./answers.ts";
import { type EvidenceBody, EvidenceRecords, SPAN_NONE, SPAN_OF_ANSWER } from "./evidence.ts";
import { RANGE_SECTIONS, RangeTable } from "./ranges.ts";
import { openSegment, SegmentError, type SegmentFile, verifyChecksum } from "./segment.ts";

type IpSegmentKind = "geo" | "reputation" | "network";

export class IpSegment {
  readonly kind: IpSegmentKind;
  private readonly file: SegmentFile;
  private readonly table: RangeTable;
  /** Answers by record number ({@link record}). */
  readonly answers: Answers;
  private readonly records: EvidenceRecords;
  /**
   * In a reputation segment, evidence has a separate table. In other segments, `notes` has the number of each
   * answer's evidence record.
   */
  private readonly evidenceTable: RangeTable | undefined;
  private readonly notes: Uint32Array | undefined;
  private countries: RecordCountries | undefined;

  private constructor(kind: IpSegmentKind, file: SegmentFile) {
    this.kind = kind;
    this.file = file;
    this.table = new RangeTable(file);
    this.answers = new Answers(file);
    this.records = new EvidenceRecords(file);
    if (kind === "reputation") this.evidenceTable = new RangeTable(file, RANGE_SECTIONS.evidence);
    else {
      this.notes = file.u32("answerNotes");
      const { length } = this.notes;
      if (length !== this.answers.count)
        throw new SegmentError("section answerNotes", `got ${length} entries, want ${this.answers.count}`);
    }
  }

  /**
   * Opens a segment without reading its contents.
   * @throws SegmentError if the bytes are not a segment of this kind
   */
  static open(bytes: Uint8Array, kind: IpSegmentKind): IpSegment {
    return new IpSegment(kind, openSegment(bytes, kind));
  }

  /**
   * Returns the answer for a public address, as JSON bytes; undefined if nothing is known about it. Call `specialUse`
   * first.
   */
  lookup(address: UnwrappedAddress): Uint8Array | undefined {
    return this.answers.at(this.table.find(address));
  }

  /**
   * Returns the record number of an address's answer; 0 if nothing is known about the address. The address need not be
   * unwrapped, so code that iterates over the address space can call this method.
   */
  record(address: IpAddress): number {
    return this.table.find(address);
  }

  /** Returns the answer with a record number from {@link record}. */
  answer(record: number): Uint8Array | undefined {
    return this.answers.at(record);
  }

  /**
   * Returns the ISO 3166-1 code of the country in this answer; undefined if the answer has none. It is fast enough for
   * frequent calls.
   */
  countryOf(record: number): string | undefined {
    this.countries ??= new RecordCountries(this.answers);
    return this.countries.at(record);
  }

  /** Like {@link record}, but for many addresses. It is much faster than one call per address. */
  recordBlock(addresses: PackedAddresses, records: Uint32Array): void {
    this.table.findBlock(addresses, records);
  }

  /** Ids of the feeds in the evidence, indexed by feed number. */
  get evidenceFeeds(): readonly string[] {
    return this.records.feeds;
  }

  /**
   * Returns the evidence for the answer about a public address, as a record whose spans are prefix lengths; undefined
   * if there is no evidence. The record is a view of the segment, which callers must not write to.
   */
  evidence(address: UnwrappedAddress): Uint8Array | undefined {
    const value = (this.evidenceTable ?? this.table).find(address);
    return this.records.at(this.notes === undefined ? value : (this.notes[value] ?? 0));
  }

  /**
   * Adds the evidence for the answer about a public address.
   * @param tails the end of each feed's entries
   */
  addEvidence(address: UnwrappedAddress, tails: readonly Uint8Array[], body: EvidenceBody): void {
    const record = this.evidence(address);
    if (record === undefined) return;
    body.addRecord(record, tails, (span) => {
      if (span === SPAN_NONE) return "";
      const network = span === SPAN_OF_ANSWER ? this.networkText(address) : networkText(address, span);
      return network === "" ? "" : `,"network":"${network}"`;
    });
  }

  /** Returns the text of the largest network around an address in which every address has the same answer. */
  networkText(address: IpAddress): string {
    return networkText(address, this.networkBits(address));
  }

  /** Returns the prefix length of {@link networkText}. */
  networkBits(address: IpAddress): number {
    return this.table.networkBits(address);
  }

  /** Like {@link networkBits}, but every address in the network also has the same evidence. */
  reasonBits(address: IpAddress): number {
    const bits = this.table.networkBits(address);
    return this.evidenceTable === undefined ? bits : Math.max(bits, this.evidenceTable.networkBits(address));
  }

  /**
   * Checks the checksum, the order of all parts and every pointer.
   * @param isIntact true if a stronger hash of the file has already been checked; the checksum is then skipped
   * @throws SegmentError, which shows the first error in the segment
   */
  verify(isIntact = false): void {
    if (!isIntact) verifyChecksum(this.file);
    const isAnswer = this.answers.verify();
    this.table.verify(isAnswer);
    const isEvidence = this.records.verify();
    this.evidenceTable?.verify(isEvidence);
    this.notes?.forEach((note, number) => {
      if (!isEvidence(note))
        throw new SegmentError(`answerNotes[${number}]`, `does not point at an evidence record: ${note}`);
    });
  }
}

/** The country in each answer, by record number. Each answer's JSON is parsed only once. */
class RecordCountries {
  private readonly answers: Answers;
  /** Indexes into `codes`; 0 if the answer has not been read yet. */
  private readonly places: Uint16Array;
  private readonly codes: (string | undefined)[] = [undefined, undefined];

  constructor(answers: Answers) {
    this.answers = answers;
    this.places = new Uint16Array(answers.count);
  }

  at(record: number): string | undefined {
    return this.codes[this.places[record] || this.read(record)];
  }

  /**
   * Reads the answer as ASCII. Names in other alphabets come out wrong, but only the code is used, and codes are ASCII.
   */
  private read(record: number): number {
    const answer = this.answers.at(record);
    const place = answer && (JSON.parse(asciiText(answer)) as { country?: { iso_code?: string } });
    const code = place?.country?.iso_code;
    const known = this.codes.indexOf(code, 1);
    const number = known < 0 ? this.codes.push(code) - 1 : known;
    this.places[record] = number;
    return number;
  }
}
