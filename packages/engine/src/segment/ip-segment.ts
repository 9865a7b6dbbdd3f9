// ip-segment.ts: segments that answer for an IP address: geo, reputation and network.
//
// in   the bytes of a segment, then one address at a time
// out  the answer as the JSON bytes that the compiler wrote; separately, its evidence
// err  open and verify: SegmentError; a lookup never throws

import type { IpAddress, UnwrappedAddress } from "../address/ip.ts";
import type { PackedAddresses } from "../address/packed.ts";
import { asciiText } from "../email/ascii.ts";
import { Answers } from "./answers.ts";
import { EvidenceRecords } from "./evidence.ts";
import { RANGE_SECTIONS, RangeTable } from "./ranges.ts";
import { openSegment, SegmentError, type SegmentFile, verifyChecksum } from "./segment.ts";

type IpSegmentKind = "geo" | "reputation" | "network";

export class IpSegment {
  readonly kind: IpSegmentKind;
  private readonly file: SegmentFile;
  private readonly table: RangeTable;
  /** By number from {@link record}. */
  readonly answers: Answers;
  private readonly records: EvidenceRecords;
  /** Where the evidence for an address is found: its own table, elsewhere the note of each answer. */
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
   * @throws SegmentError when the bytes are no segment of this kind
   */
  static open(bytes: Uint8Array, kind: IpSegmentKind): IpSegment {
    return new IpSegment(kind, openSegment(bytes, kind));
  }

  /**
   * The answer for a public address, as JSON bytes; undefined if nothing is known about it.
   * Call `specialUse` first.
   */
  lookup(address: UnwrappedAddress): Uint8Array | undefined {
    return this.answers.at(this.table.find(address));
  }

  /**
   * The number of an address's answer within this segment; 0 when nothing is known about it. Also for walks through
   * the address space, which take addresses as they are.
   */
  record(address: IpAddress): number {
    return this.table.find(address);
  }

  /** The answer of a number from {@link record}. */
  answer(record: number): Uint8Array | undefined {
    return this.answers.at(record);
  }

  /** The ISO 3166-1 code of the country in a place of this number; undefined for none. Made for frequent calls. */
  countryOf(record: number): string | undefined {
    this.countries ??= new RecordCountries(this.answers);
    return this.countries.at(record);
  }

  /** As {@link record}, for many: much quicker than one after the other. */
  recordBlock(addresses: PackedAddresses, records: Uint32Array): void {
    this.table.findBlock(addresses, records);
  }

  /** The feeds that evidence names, by number. */
  get evidenceFeeds(): readonly string[] {
    return this.records.feeds;
  }

  /**
   * The evidence for the answer about a public address: a record whose spans are prefix bits; undefined for none.
   * A view of the segment: never write to it.
   */
  evidence(address: UnwrappedAddress): Uint8Array | undefined {
    const value = (this.evidenceTable ?? this.table).find(address);
    return this.records.at(this.notes === undefined ? value : (this.notes[value] ?? 0));
  }

  /** The prefix length of the largest network around an address that has the same answer. */
  networkBits(address: IpAddress): number {
    return this.table.networkBits(address);
  }

  /** The prefix length of the largest network around an address that has the same answer for the same reasons. */
  reasonBits(address: IpAddress): number {
    const bits = this.table.networkBits(address);
    return this.evidenceTable === undefined ? bits : Math.max(bits, this.evidenceTable.networkBits(address));
  }

  /**
   * Reads everything: checksum, order, every pointer.
   * @param isIntact a stronger hash of the file was checked already
   * @throws SegmentError naming the first place at fault
   */
  verify(isIntact = false): void {
    if (!isIntact) verifyChecksum(this.file);
    const isAnswer = this.answers.verify();
    this.table.verify(isAnswer);
    const isEvidence = this.records.verify();
    this.evidenceTable?.verify(isEvidence);
    this.notes?.forEach((note, number) => {
      if (!isEvidence(note)) throw new SegmentError(`answerNotes[${number}]`, `names no evidence: ${note}`);
    });
  }
}

/** Countries by the number of their answer, each read from its JSON once. */
class RecordCountries {
  private readonly answers: Answers;
  /** Places in `codes`; 0: not read yet. */
  private readonly places: Uint16Array;
  private readonly codes: (string | undefined)[] = [undefined, undefined];

  constructor(answers: Answers) {
    this.answers = answers;
    this.places = new Uint16Array(answers.count);
  }

  at(record: number): string | undefined {
    return this.codes[this.places[record] || this.read(record)];
  }

  /** Names that are not ASCII are misread; codes are ASCII. */
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
