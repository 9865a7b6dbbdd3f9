// domain-table.ts: which value a host has, in a hash table of domain names.
//
// in   two sections of a segment: slots and names (docs/segment-format.md)
// out  the value of the closest name: the host itself, then each parent, never a public suffix
// err  open and verify: SegmentError; a look-up never throws and always ends, whatever the bytes
// cost one pass over the host from its end: the hash of each parent falls out on the way to the next.
//      A host that is not listed costs one cache line for each level that may be registered.

import { asciiText } from "./ascii.ts";
import { toAsciiDomain } from "./domain.ts";
import { basis, finish, hashDomain, LOWER_CASE, step } from "./domain-hash.ts";
import type { PlainMailbox } from "./plain-mailbox.ts";
import { type SectionName, SegmentError, type SegmentFile } from "./segment.ts";

/** Words of a slot section before the first slot: the seed of the hash, and a zero. */
export const DOMAIN_SLOTS_HEADER = 2;
/** A name is at most this many slots from its home: what bounds a look-up in any bytes at all. */
export const MAX_DOMAIN_PROBES = 64;
/** Names start at multiples of this many bytes; a pointer counts in these. */
export const DOMAIN_NAME_ALIGN = 4;

/** Which sections hold a table, by their role. */
export const DOMAIN_SECTIONS = {
  answers: { slots: "domainSlots", names: "domainNames" },
  evidence: { slots: "evidenceSlots", names: "evidenceNames" },
} as const satisfies Record<string, Record<string, SectionName>>;
export type DomainSections = (typeof DOMAIN_SECTIONS)[keyof typeof DOMAIN_SECTIONS];

const DOT = 0x2e;

export { hashDomain };

export class DomainTable {
  private readonly sections: DomainSections;
  private readonly slots: Uint32Array;
  private readonly names: Uint8Array;
  private readonly nameWords: Uint32Array;
  private readonly mask: number;
  private readonly basis: number;

  /** @throws SegmentError when a section is missing or has a length that none has */
  constructor(file: SegmentFile, sections: DomainSections = DOMAIN_SECTIONS.answers) {
    this.sections = sections;
    this.slots = file.u32(sections.slots);
    this.names = file.u8(sections.names);
    const count = (this.slots.length - DOMAIN_SLOTS_HEADER) / 2;
    if (!(count >= 1) || (count & (count - 1)) !== 0 || !Number.isInteger(count)) {
      throw new SegmentError(`section ${sections.slots}`, `has ${count} slots, want a power of two`);
    }
    if (this.names.length < DOMAIN_NAME_ALIGN || this.names.length % DOMAIN_NAME_ALIGN !== 0) {
      throw new SegmentError(
        `section ${sections.names}`,
        `has ${this.names.length} bytes, want a multiple of ${DOMAIN_NAME_ALIGN}`,
      );
    }
    this.nameWords = new Uint32Array(this.names.buffer, this.names.byteOffset, this.names.length / 4);
    this.mask = count - 1;
    this.basis = basis(this.slots[0]!);
  }

  /**
   * The value of the closest name, or 0.
   * @param host from `toAsciiDomain`
   * @param registrableStart where its registrable domain begins; -1: nowhere
   */
  closest(host: string, registrableStart: number): number {
    if (registrableStart < 0) return 0;
    let hash = this.basis;
    let value = 0;
    for (let i = host.length - 1; i >= 0; i--) {
      const c = host.charCodeAt(i);
      if (c === DOT && i < registrableStart) value = this.find(finish(hash), host, i + 1) || value;
      hash = step(hash, c);
    }
    return this.find(finish(hash), host, 0) || value;
  }

  /** As {@link closest}, for a mailbox that was read, whose host may have capitals. */
  closestTo(
    text: string,
    { starts, hashes, labels, registrableLabel, registrableStart, hostStart }: PlainMailbox,
  ): number {
    if (this.basis !== basis(0))
      return this.closest(text.slice(hostStart).toLowerCase(), registrableStart - hostStart);
    for (let i = labels - 1; i >= registrableLabel; i--) {
      const value = this.find(hashes[i]! >>> 0, text, starts[i]!);
      if (value !== 0) return value;
    }
    return 0;
  }

  /** The value of the name that `host` is from `start` on, or 0. */
  private find(hash: number, host: string, start: number): number {
    const pointer = this.pointerTo(hash, host, start);
    return pointer === 0 ? 0 : this.nameWords[pointer]!;
  }

  private pointerTo(hash: number, host: string, start: number): number {
    const slots = this.slots;
    let slot = hash & this.mask;
    for (let probes = 0; probes < MAX_DOMAIN_PROBES; probes++) {
      const at = DOMAIN_SLOTS_HEADER + 2 * slot;
      const pointer = slots[at + 1]!;
      if (pointer === 0) return 0;
      if (slots[at] === hash && this.isNamed(pointer, host, start)) return pointer;
      slot = (slot + 1) & this.mask;
    }
    return 0;
  }

  private isNamed(pointer: number, host: string, start: number): boolean {
    const names = this.names;
    const length = host.length - start;
    const at = pointer * DOMAIN_NAME_ALIGN + 4;
    if (names[at] !== length) return false; // also when the pointer is out of bounds
    for (let i = 0; i < length; i++) {
      if (names[at + 1 + i] !== (host.charCodeAt(start + i) | LOWER_CASE)) return false;
    }
    return true;
  }

  /** Every name with its value, in the order of the section; ends with the section, whatever the bytes. */
  *entries(): Generator<{ readonly name: string; readonly value: number }> {
    for (let at = DOMAIN_NAME_ALIGN; at + 5 <= this.names.length; ) {
      const end = at + 5 + this.names[at + 4]!;
      yield { name: asciiText(this.names.subarray(at + 5, end)), value: this.nameWords[at / 4]! };
      at = Math.ceil(end / DOMAIN_NAME_ALIGN) * DOMAIN_NAME_ALIGN;
    }
  }

  /**
   * Reads everything: every name, every slot, every pointer, and whether each name is found.
   * @param isRecord whether a value names a record
   * @param checkValue asked once for each value that names have
   * @throws SegmentError naming the first place at fault
   */
  verify(isRecord: (value: number) => boolean, checkValue: (value: number, place: string) => void): void {
    const names = this.verifyNames(isRecord, checkValue);
    const { slots } = this.sections;
    if (this.slots[1] !== 0) throw new SegmentError(`${slots}[1]`, `got ${this.slots[1]}, want 0`);
    for (let slot = 0; slot <= this.mask; slot++) this.verifySlot(slot, names);
    for (const name of names.values())
      throw new SegmentError(`name ${name}`, "is stored, but no slot points at it");
  }

  /** Walks all names, pointer -> name. */
  private verifyNames(
    isRecord: (value: number) => boolean,
    checkValue: (value: number, place: string) => void,
  ): Map<number, string> {
    const section = this.sections.names;
    if (this.nameWords[0] !== 0) throw new SegmentError(`${section}, byte 0`, "want four zeros");
    const names = new Map<number, string>();
    const checked = new Set<number>();
    let at = DOMAIN_NAME_ALIGN;
    while (at < this.names.length) {
      const place = `${section}, byte ${at}`;
      const end = at + 5 + (this.names[at + 4] ?? 0);
      if (end > this.names.length) throw new SegmentError(place, "name runs past the end of the section");
      const name = asciiText(this.names.subarray(at + 5, end));
      if (toAsciiDomain(name) !== name)
        throw new SegmentError(place, `is no domain name in lower-case A-labels: ${JSON.stringify(name)}`);
      const pointer = at / DOMAIN_NAME_ALIGN;
      const value = this.nameWords[pointer]!;
      if (!isRecord(value)) throw new SegmentError(place, `${name} points at no record: ${value}`);
      if (!checked.has(value)) {
        checked.add(value);
        checkValue(value, `${place} (${name})`);
      }
      names.set(pointer, name);
      at = Math.ceil(end / DOMAIN_NAME_ALIGN) * DOMAIN_NAME_ALIGN;
    }
    return names;
  }

  /** Checks one slot, and takes its name out of `names`. */
  private verifySlot(slot: number, names: Map<number, string>): void {
    const at = DOMAIN_SLOTS_HEADER + 2 * slot;
    const hash = this.slots[at]!;
    const pointer = this.slots[at + 1]!;
    const place = `${this.sections.slots}[${at}]`;
    if (pointer === 0) {
      if (hash !== 0) throw new SegmentError(place, `an empty slot has a hash: ${hash}`);
      return;
    }
    const name = names.get(pointer);
    if (name === undefined)
      throw new SegmentError(place, `points at no name, or at one seen before: ${pointer}`);
    const want = hashDomain(name, this.slots[0]!);
    if (hash !== want) throw new SegmentError(place, `hash of ${name}: got ${hash}, want ${want}`);
    if (this.pointerTo(hash, name, 0) !== pointer)
      throw new SegmentError(place, `${name} is not found from its hash, or is stored twice`);
    names.delete(pointer);
  }
}
