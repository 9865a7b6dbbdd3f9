// segment-writer.ts: writes sections into the bytes of a segment file.
//
// Source: packages/engine/segment-format.md; the reader is packages/engine/src/segment/segment.ts.

import { crc32 } from "node:zlib";
import {
  HEADER_BYTES,
  headerChecksum,
  SECTION,
  SECTION_ALIGN,
  SECTION_ENTRY_BYTES,
  SEGMENT_KINDS,
  SEGMENT_MAGIC,
  SEGMENT_VERSION,
  type SectionName,
  type SegmentKind,
} from "@inkling/engine";

export interface SectionData {
  readonly name: SectionName;
  /** The bytes, or several pieces to be written one after the other. */
  readonly data: Uint8Array | Uint16Array | Uint32Array | readonly Uint8Array[];
}

/** Returns the segment as chunks, so that a large segment is never copied whole. */
export function segmentChunks(
  kind: SegmentKind,
  sections: readonly SectionData[],
  meta: unknown,
): Uint8Array[] {
  const all = [
    { name: "meta" as const, data: new TextEncoder().encode(JSON.stringify(meta)) },
    ...sections,
  ].sort((a, b) => SECTION[a.name] - SECTION[b.name]);
  const tableEnd = HEADER_BYTES + all.length * SECTION_ENTRY_BYTES;
  const head = new Uint8Array(tableEnd);
  const view = new DataView(head.buffer);
  const chunks: Uint8Array[] = [head];
  let end = tableEnd;
  let bodyCrc = 0;
  const append = (chunk: Uint8Array) => {
    chunks.push(chunk);
    bodyCrc = crc32(chunk, bodyCrc);
    end += chunk.length;
  };
  all.forEach(({ name, data }, index) => {
    const padding = -end & (SECTION_ALIGN - 1);
    if (padding > 0) append(new Uint8Array(padding));
    const at = HEADER_BYTES + index * SECTION_ENTRY_BYTES;
    const start = end;
    const pieces = "BYTES_PER_ELEMENT" in data ? [data] : data;
    for (const piece of pieces) {
      if (piece.byteLength > 0) append(new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength));
    }
    view.setUint32(at, SECTION[name], true);
    view.setUint32(at + 4, pieces[0]?.BYTES_PER_ELEMENT ?? 1, true);
    view.setBigUint64(at + 8, BigInt(start), true);
    view.setBigUint64(at + 16, BigInt(end - start), true);
  });
  for (let i = 0; i < SEGMENT_MAGIC.length; i++) head[i] = SEGMENT_MAGIC.charCodeAt(i);
  view.setUint32(8, SEGMENT_VERSION, true);
  view.setUint32(12, SEGMENT_KINDS[kind], true);
  view.setBigUint64(16, BigInt(end), true);
  view.setUint32(24, all.length, true);
  view.setUint32(28, bodyCrc, true);
  view.setUint32(32, headerChecksum(head, tableEnd), true);
  return chunks;
}

/** Returns the segment in one piece, for small segments and tests. */
export function writeSegment(kind: SegmentKind, sections: readonly SectionData[], meta: unknown): Uint8Array {
  return Buffer.concat(segmentChunks(kind, sections, meta));
}
