// ip-segment.ts: segments that answer for an IP address: geo and reputation.
//
// in   the bytes of a segment, then one address at a time
// out  the answer as JSON bytes, written at compile time
// err  open and verify: SegmentError; a look-up never throws

import { Answers } from "./answers.ts";
import type { IpAddress } from "./ip.ts";
import { RangeTable } from "./ranges.ts";
import { openSegment, type SegmentFile, verifyChecksum } from "./segment.ts";

export type IpSegmentKind = "geo" | "reputation";

export class IpSegment {
  readonly kind: IpSegmentKind;
  private readonly file: SegmentFile;
  private readonly table: RangeTable;
  private readonly answers: Answers;

  private constructor(kind: IpSegmentKind, file: SegmentFile) {
    this.kind = kind;
    this.file = file;
    this.table = new RangeTable(file);
    this.answers = new Answers(file.u8("answers"));
  }

  /**
   * Opens a segment without reading its contents.
   * @throws SegmentError when the bytes are no segment of this kind
   */
  static open(bytes: Uint8Array, kind: IpSegmentKind): IpSegment {
    return new IpSegment(kind, openSegment(bytes, kind));
  }

  /**
   * The answer for a public address, as JSON bytes; undefined when nothing is known about it.
   * Call `unwrapIpv4` and `specialUse` first. The bytes are a view of the segment: never write to them.
   */
  lookup(address: IpAddress): Uint8Array | undefined {
    const value =
      address.family === 4 ? this.table.find4(address.words[0]!) : this.table.find6(address.words);
    return this.answers.at(value);
  }

  /**
   * Reads everything: checksum, order, every pointer.
   * @throws SegmentError naming the first place at fault
   */
  verify(): void {
    verifyChecksum(this.file);
    this.table.verify(this.answers.verify());
  }
}
