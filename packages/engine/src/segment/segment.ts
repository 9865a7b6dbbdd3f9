// segment.ts: reads the container format of all segments: header, section table and checksums (CRC-32).
//
// in   any bytes (the caller maps or reads the file)
// out  typed views of the sections, checked against the file's bounds
// err  SegmentError, which shows the part that is wrong
// src  packages/engine/segment-format.md describes every byte
// cost opening reads only the header and the section table; verifying reads every byte

export const SEGMENT_MAGIC = "INKLING\0";
export const SEGMENT_VERSION = 8;
export const HEADER_BYTES = 64;
export const SECTION_ENTRY_BYTES = 24;
/**
 * Sections start at multiples of this many bytes: the size of a cache line, and enough alignment for any typed view.
 */
export const SECTION_ALIGN = 64;
const MAX_SECTIONS = 32;
/** The header and the section table fit into this many bytes at the start of a segment. */
export const SEGMENT_START_BYTES = HEADER_BYTES + MAX_SECTIONS * SECTION_ENTRY_BYTES;
/** Number of bytes that one CRC call checks. */
const CHECKED_AT_ONCE = 1 << 16;
const VERSION_AT = 8;
/** Header bytes from this offset on are zeros. */
const RESERVED_FROM = 36;

/** The number that stands for each segment kind in the header. */
export const SEGMENT_KINDS = { geo: 1, reputation: 2, email: 3, network: 4 } as const;
export type SegmentKind = keyof typeof SEGMENT_KINDS;

/** Section numbers. segment-format.md lists the sections of each kind of segment. */
export const SECTION = {
  meta: 1, // JSON: what the segment was built from
  answers: 2, // answer records, see answers.ts
  evidence: 3, // evidence records, see evidence.ts
  evidenceFeeds: 4, // JSON: the feeds in the evidence records
  answerStarts: 5,
  answerNotes: 6, // the evidence for each answer
  evidenceStarts: 7,
  answerTemplates: 8, // the text that many answers share, see answers.ts
  v4Directory: 10,
  v4Nodes: 11,
  v6Directory: 20,
  v6Nodes: 21,
  domainSlots: 30,
  domainNames: 31,
  evidenceSlots: 32,
  evidenceNames: 33,
  evidenceV4Directory: 40,
  evidenceV4Nodes: 41,
  evidenceV6Directory: 50,
  evidenceV6Nodes: 51,
} as const;
export type SectionName = keyof typeof SECTION;

/** A segment that cannot be used. `place` is the header field, section or record that is wrong. */
export class SegmentError extends Error {
  override readonly name = "SegmentError";
  readonly place: string;
  constructor(place: string, problem: string) {
    super(`${place}: ${problem}`);
    this.place = place;
  }
}

interface Section {
  readonly elementBytes: number;
  readonly offset: number;
  readonly length: number;
}

/**
 * An opened segment. The bounds of its sections have been checked, but not their contents (see {@link verifyChecksum}).
 */
export class SegmentFile {
  readonly bytes: Uint8Array;
  readonly kind: SegmentKind;
  private readonly sections: ReadonlyMap<number, Section>;

  constructor(bytes: Uint8Array, kind: SegmentKind, sections: ReadonlyMap<number, Section>) {
    this.bytes = bytes;
    this.kind = kind;
    this.sections = sections;
  }

  has(name: SectionName): boolean {
    return this.sections.has(SECTION[name]);
  }

  u8(name: SectionName): Uint8Array {
    const { offset, length } = this.section(name, 1);
    return new Uint8Array(this.bytes.buffer, this.bytes.byteOffset + offset, length);
  }

  u16(name: SectionName): Uint16Array {
    const { offset, length } = this.section(name, 2);
    return new Uint16Array(this.bytes.buffer, this.bytes.byteOffset + offset, length / 2);
  }

  u32(name: SectionName): Uint32Array {
    const { offset, length } = this.section(name, 4);
    return new Uint32Array(this.bytes.buffer, this.bytes.byteOffset + offset, length / 4);
  }

  private section(name: SectionName, elementBytes: number): Section {
    const section = this.sections.get(SECTION[name]);
    if (section === undefined) throw new SegmentError(`section ${name}`, "is missing");
    if (section.elementBytes !== elementBytes) {
      throw new SegmentError(
        `section ${name}`,
        `has elements of ${section.elementBytes} bytes, want ${elementBytes}`,
      );
    }
    return section;
  }
}

/**
 * Opens a segment at little cost. It checks the magic number, version, kind, length, header checksum and the bounds of
 * every section.
 * @param bytes the whole file; must remain unchanged for as long as the result is used
 * @throws SegmentError if the file is not a segment of this kind, has an unsupported version, or is truncated
 */
export function openSegment(bytes: Uint8Array, kind: SegmentKind): SegmentFile {
  return new SegmentFile(bytes, kind, readStart(bytes, bytes.length, kind));
}

/**
 * Runs the same checks as {@link openSegment} for a file that is not in memory.
 * @param start the file's first {@link SEGMENT_START_BYTES}, or the whole file if it is shorter
 * @throws SegmentError for the same reasons as {@link openSegment}
 */
export function checkSegmentStart(start: Uint8Array, fileLength: number, kind: SegmentKind): void {
  readStart(start, fileLength, kind);
}

function readStart(bytes: Uint8Array, fileLength: number, kind: SegmentKind): Map<number, Section> {
  if (new Uint8Array(new Uint32Array([1]).buffer)[0] !== 1) {
    throw new SegmentError("machine", "segments are little-endian, but this machine is not");
  }
  if (bytes.byteOffset % 8 !== 0)
    throw new SegmentError("bytes", "must start at a multiple of 8 in their buffer");
  if (bytes.length < HEADER_BYTES) {
    throw new SegmentError("header", `needs ${HEADER_BYTES} bytes, the file has ${bytes.length}`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let i = 0; i < SEGMENT_MAGIC.length; i++) {
    if (bytes[i] !== SEGMENT_MAGIC.charCodeAt(i))
      throw new SegmentError("magic", "this is not an Inkling segment");
  }
  const version = view.getUint32(VERSION_AT, true);
  if (version !== SEGMENT_VERSION) {
    throw new SegmentError(
      "version",
      `got ${version}, this engine reads ${SEGMENT_VERSION}: build the release again`,
    );
  }
  const kindNumber = view.getUint32(12, true);
  if (kindNumber !== SEGMENT_KINDS[kind]) {
    throw new SegmentError("kind", `got ${kindNumber}, want ${SEGMENT_KINDS[kind]} (${kind})`);
  }
  const length = readU64(view, 16, "file length");
  if (length !== fileLength)
    throw new SegmentError("file length", `header says ${length}, file has ${fileLength}`);
  const count = view.getUint32(24, true);
  if (count > MAX_SECTIONS) throw new SegmentError("section count", `got ${count}, at most ${MAX_SECTIONS}`);
  const tableEnd = HEADER_BYTES + count * SECTION_ENTRY_BYTES;
  if (tableEnd > bytes.length) throw new SegmentError("section table", "runs past the end of the file");
  for (let at = RESERVED_FROM; at < HEADER_BYTES; at++) {
    if (bytes[at] !== 0) throw new SegmentError(`header, byte ${at}`, "is reserved and must be 0");
  }
  const wantHeader = view.getUint32(32, true);
  const gotHeader = headerChecksum(bytes, tableEnd);
  if (gotHeader !== wantHeader) {
    throw new SegmentError("header checksum", `got ${hex(gotHeader)}, want ${hex(wantHeader)}`);
  }
  return readSections(view, count, tableEnd, fileLength);
}

function readSections(
  view: DataView,
  count: number,
  tableEnd: number,
  fileLength: number,
): Map<number, Section> {
  const sections = new Map<number, Section>();
  let end = tableEnd;
  for (let i = 0; i < count; i++) {
    const at = HEADER_BYTES + i * SECTION_ENTRY_BYTES;
    const id = view.getUint32(at, true);
    const place = `section ${id}`;
    const elementBytes = view.getUint32(at + 4, true);
    const offset = readU64(view, at + 8, place);
    const length = readU64(view, at + 16, place);
    if (elementBytes !== 1 && elementBytes !== 2 && elementBytes !== 4) {
      throw new SegmentError(place, `has elements of ${elementBytes} bytes`);
    }
    if (offset % SECTION_ALIGN !== 0)
      throw new SegmentError(place, `starts at ${offset}, not a multiple of ${SECTION_ALIGN}`);
    if (length % elementBytes !== 0) throw new SegmentError(place, `has ${length} bytes, not whole elements`);
    if (offset < end) throw new SegmentError(place, `starts at ${offset}, overlapping the previous section`);
    if (offset + length > fileLength) throw new SegmentError(place, "runs past the end of the file");
    if (sections.has(id)) throw new SegmentError(place, "appears twice");
    end = offset + length;
    sections.set(id, { elementBytes, offset, length });
  }
  return sections;
}

/**
 * Reads every byte after the section table, and compares the CRC of these bytes with the checksum in the header.
 * @throws SegmentError if they differ
 */
export function verifyChecksum(segment: SegmentFile): void {
  const view = new DataView(segment.bytes.buffer, segment.bytes.byteOffset, HEADER_BYTES);
  const want = view.getUint32(28, true);
  let got = 0;
  // The file is checked in pieces, because within a single long call, the runtime is slow to switch to code that it has
  // compiled in the meantime. One call for 300 MB takes 1.5 s instead of 0.9 s.
  for (let at = bodyStart(view); at < segment.bytes.length; at += CHECKED_AT_ONCE) {
    got = crc32(segment.bytes.subarray(at, at + CHECKED_AT_ONCE), got);
  }
  if (got !== want) throw new SegmentError("body checksum", `got ${hex(got)}, want ${hex(want)}`);
}

/** Returns the CRC-32 of the header up to the field for this checksum, and of the section table. */
export function headerChecksum(bytes: Uint8Array, tableEnd: number): number {
  return crc32(bytes.subarray(HEADER_BYTES, tableEnd), crc32(bytes.subarray(0, 32)));
}

/** Returns the offset of the checksummed body, right after the section table. */
export function bodyStart(header: DataView): number {
  return HEADER_BYTES + header.getUint32(24, true) * SECTION_ENTRY_BYTES;
}

function readU64(view: DataView, at: number, place: string): number {
  const high = view.getUint32(at + 4, true);
  if (high > 0x1fffff) throw new SegmentError(place, "a 64-bit number is greater than 2^53");
  return high * 2 ** 32 + view.getUint32(at, true);
}

function hex(value: number): string {
  return `0x${value.toString(16).padStart(8, "0")}`;
}

const TABLES = Array.from({ length: 8 }, () => new Uint32Array(256));
for (let n = 0; n < 256; n++) {
  let c = n;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  TABLES[0]![n] = c >>> 0;
}
for (let t = 1; t < 8; t++) {
  for (let n = 0; n < 256; n++) {
    const c = TABLES[t - 1]![n]!;
    TABLES[t]![n] = TABLES[0]![c & 255]! ^ (c >>> 8);
  }
}
const [T0, T1, T2, T3, T4, T5, T6, T7] = TABLES as [
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
];

/**
 * Returns the CRC-32 of `bytes`, as an unsigned 32-bit number.
 * @param seed the CRC of the preceding bytes, to continue from
 */
export function crc32(bytes: Uint8Array, seed = 0): number {
  let c = ~seed;
  let i = 0;
  const whole = bytes.length - (bytes.length % 8);
  for (; i < whole; i += 8) {
    c ^= bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
    c =
      T7[c & 255]! ^
      T6[(c >>> 8) & 255]! ^
      T5[(c >>> 16) & 255]! ^
      T4[c >>> 24]! ^
      T3[bytes[i + 4]!]! ^
      T2[bytes[i + 5]!]! ^
      T1[bytes[i + 6]!]! ^
      T0[bytes[i + 7]!]!;
  }
  for (; i < bytes.length; i++) c = T0[(c ^ bytes[i]!) & 255]! ^ (c >>> 8);
  return ~c >>> 0;
}
