// domain-table.ts: finds the answer and the evidence for a host in a hash table of domain names.
//
// in   two sections of a segment: slots and names (packages/engine/segment-format.md). An email segment has one table
//      of names with an answer, and another of names that only have evidence
// out  the value of the closest name that has one: the host itself, then each parent. Only closestName may find a
//      public suffix
// err  open and verify: SegmentError; a lookup never throws and always ends, even in a damaged segment
// cost one pass over the host from its end, which yields the hash of every parent on the way. Looking up a host that is
//      not listed reads one cache line for each level that may be registered

import { asciiText } from "../email/ascii.ts";
import { toAsciiDomain } from "../email/domain.ts";
import { type DomainKeys, domainKeys, finish, hashWithKeys, LOWER_CASE } from "../email/domain-hash.ts";
import type { PlainMailbox } from "../email/plain-mailbox.ts";
import { type SectionName, SegmentError, type SegmentFile } from "./segment.ts";

/** Number of words before the first slot: the seed from which the hash keys are derived. */
export const DOMAIN_SLOTS_HEADER = 2;
/**
 * A name is fewer than this many slots away from its home slot. This limit bounds every lookup, even in a damaged
 * segment.
 */
export const MAX_DOMAIN_PROBES = 64;
/** Names start at multiples of this many bytes. Pointers count in this unit. */
export const DOMAIN_NAME_ALIGN = 4;

/** What a name may refer to: an answer record, and an evidence record. A value of 0 means none. */
type ValueKind = "answer" | "evidence";

/** Returns the number of bytes before the characters of a name: one word for each value, and its length. */
export const domainNameHeader = (values: readonly ValueKind[]): number => 4 * values.length + 1;

/** A name that was found, with a value other than 0. */
interface FoundName {
  readonly value: number;
  /** Number of characters. */
  readonly length: number;
}

/** The sections of the two tables, and the values of their names in the order of a name's header. */
export const DOMAIN_TABLES = {
  answered: { slots: "domainSlots", names: "domainNames", values: ["answer", "evidence"] },
  evidenceOnly: { slots: "evidenceSlots", names: "evidenceNames", values: ["evidence"] },
} as const satisfies Record<string, DomainTableLayout>;
export interface DomainTableLayout {
  readonly slots: SectionName;
  readonly names: SectionName;
  readonly values: readonly ValueKind[];
}

/** Returns what is wrong with a name, if anything. `answer` is the value of its answer. */
type NameCheck = (name: string, answer: number) => string | undefined;

/** Checks values of one kind. */
interface ValueCheck {
  /** Returns whether this value is that of a record. */
  readonly isRecord: (value: number) => boolean;
  /** Called once for each distinct value except 0. */
  readonly check: (value: number, place: string) => void;
}

const DOT = 0x2e;

export { domainKeys, hashWithKeys };

export class DomainTable {
  private readonly slots: Uint32Array;
  private readonly names: Uint8Array;
  private readonly nameWords: Uint32Array;
  /** Number of slots. */
  private readonly count: number;
  /** The number of slots minus one if it is a power of two, otherwise 0. */
  private readonly mask: number;
  private readonly layout: DomainTableLayout;
  /** The word of each value in a name's header; -1 if the names of this table do not have it. */
  private readonly words: Readonly<Record<ValueKind, number>>;
  /** Number of bytes before the characters of a name. */
  private readonly header: number;
  readonly keys: DomainKeys;

  /** @throws SegmentError if a section is missing or has an impossible length */
  constructor(file: SegmentFile, layout: DomainTableLayout) {
    const { values } = layout;
    this.layout = layout;
    this.words = { answer: values.indexOf("answer"), evidence: values.indexOf("evidence") };
    this.header = domainNameHeader(values);
    this.slots = file.u32(layout.slots);
    this.names = file.u8(layout.names);
    const count = (this.slots.length - DOMAIN_SLOTS_HEADER) / 2;
    if (!(count >= 1) || !Number.isInteger(count))
      throw new SegmentError(`section ${layout.slots}`, `has ${count} slots, want a whole number from 1`);
    if (this.names.length < DOMAIN_NAME_ALIGN || this.names.length % DOMAIN_NAME_ALIGN !== 0) {
      throw new SegmentError(
        `section ${layout.names}`,
        `has ${this.names.length} bytes, want a multiple of ${DOMAIN_NAME_ALIGN}`,
      );
    }
    this.nameWords = new Uint32Array(this.names.buffer, this.names.byteOffset, this.names.length / 4);
    this.count = count;
    this.mask = (count & (count - 1)) === 0 ? count - 1 : 0;
    this.keys = domainKeys(this.slots[0]!, this.slots[1]!);
  }

  /**
   * Finds the closest name that has this value.
   * @param host a result of `toAsciiDomain`
   * @param registrableStart index where the registrable domain begins; -1 if there is none
   */
  closest(host: string, registrableStart: number, kind: ValueKind): FoundName | undefined {
    const what = this.words[kind];
    if (registrableStart < 0 || what < 0) return undefined;
    const { keys } = this;
    let found: FoundName | undefined;
    let sum = 0;
    for (let i = host.length - 1, at = 0; i >= 0; i--, at++) {
      const c = host.charCodeAt(i);
      if (c === DOT && i < registrableStart) found = this.find(finish(sum) >>> 0, host, i + 1, what) ?? found;
      sum = (sum + Math.imul(keys[at]!, c)) | 0;
    }
    return this.find(finish(sum) >>> 0, host, 0, what) ?? found;
  }

  /** Finds the name `host.slice(start)`, if it has a value in this word of its header. */
  private find(hash: number, host: string, start: number, what: number): FoundName | undefined {
    const pointer = this.pointerTo(hash, host, start);
    const value = pointer === 0 ? 0 : this.nameWords[pointer + what]!;
    return value === 0 ? undefined : { value, length: host.length - start };
  }

  /**
   * Finds the closest name that has an answer, even if it is a public suffix.
   * @param mailbox a mailbox that was read with {@link keys}; its host may have capitals
   * @returns a pointer to the name; 0 if there is none
   */
  closestName(text: string, { starts, keyedHashes, labels }: PlainMailbox): number {
    for (let i = labels - 1; i > 0; i--) {
      const pointer = this.pointerTo(keyedHashes[i]! >>> 0, text, starts[i]!);
      if (pointer !== 0 && this.answerOf(pointer) !== 0) return pointer;
    }
    return 0;
  }

  /** Returns the value of a name's answer, or 0. The names of this table must have such a value. */
  answerOf(pointer: number): number {
    return this.nameWords[pointer]!;
  }

  /** Returns the number of characters in a name. */
  lengthOf(pointer: number): number {
    return this.names[pointer * DOMAIN_NAME_ALIGN + this.header - 1]!;
  }

  /** Every pointer to a name is below this number. */
  get pointers(): number {
    return this.nameWords.length;
  }

  private pointerTo(hash: number, host: string, start: number): number {
    const { slots, count, mask } = this;
    // For a power of two, both expressions are equal, but a remainder takes 2 ns more on Bun and 8 ns more on Node.
    let slot = mask !== 0 ? hash & mask : (hash % count) | 0;
    for (let probes = 0; probes < MAX_DOMAIN_PROBES; probes++) {
      const at = DOMAIN_SLOTS_HEADER + 2 * slot;
      const pointer = slots[at + 1]!;
      if (pointer === 0) return 0;
      if (slots[at] === hash && this.isNamed(pointer, host, start)) return pointer;
      if (++slot === count) slot = 0;
    }
    return 0;
  }

  private isNamed(pointer: number, host: string, start: number): boolean {
    const names = this.names;
    const length = host.length - start;
    const at = pointer * DOMAIN_NAME_ALIGN + this.header;
    if (names[at - 1] !== length) return false; // also if the pointer is out of bounds
    for (let i = 0; i < length; i++) {
      if (names[at + i] !== (host.charCodeAt(start + i) | LOWER_CASE)) return false;
    }
    return true;
  }

  /**
   * Yields every name that has an answer, with its value, in the order of the section. It always ends, even in a
   * damaged segment.
   */
  *answers(): Generator<{ readonly name: string; readonly value: number }> {
    for (const { name, pointer } of this.entries()) {
      const value = this.answerOf(pointer);
      if (value !== 0) yield { name, value };
    }
  }

  /** Yields all names of the section in order. The last name may be truncated. */
  private *entries(): Generator<{ readonly name: string; readonly pointer: number; readonly end: number }> {
    for (let at = DOMAIN_NAME_ALIGN; at < this.names.length; ) {
      const start = at + this.header;
      const end = start + (this.names[start - 1] ?? 0);
      yield { name: asciiText(this.names.subarray(start, end)), pointer: at / DOMAIN_NAME_ALIGN, end };
      at = Math.ceil(end / DOMAIN_NAME_ALIGN) * DOMAIN_NAME_ALIGN;
    }
  }

  /** Returns whether the table contains exactly this name. */
  has(name: string): boolean {
    return this.pointerTo(hashWithKeys(name, this.keys), name, 0) !== 0;
  }

  /**
   * Checks every name, slot and pointer, and that a lookup finds each name.
   * @param checkName called with each name and its values, which the other checks have accepted
   * @throws SegmentError, which shows the first error in the segment
   */
  verify(checks: Readonly<Record<ValueKind, ValueCheck>>, checkName: NameCheck = () => undefined): void {
    const names = this.verifyNames(
      this.layout.values.map((kind) => checks[kind]),
      checkName,
    );
    for (let slot = 0; slot < this.count; slot++) this.verifySlot(slot, names);
    for (const name of names.values())
      throw new SegmentError(`name ${name}`, "is stored, but no slot points at it");
  }

  /** Checks all names. @returns the names, keyed by pointer */
  private verifyNames(checks: readonly ValueCheck[], checkName: NameCheck): Map<number, string> {
    const section = this.layout.names;
    if (this.nameWords[0] !== 0) throw new SegmentError(`${section}, byte 0`, "want four zeros");
    const names = new Map<number, string>();
    const checked = checks.map(() => new Set<number>([0]));
    for (const { name, pointer, end } of this.entries()) {
      const place = () => `${section}, byte ${pointer * DOMAIN_NAME_ALIGN}`;
      if (end > this.names.length) throw new SegmentError(place(), "name runs past the end of the section");
      if (toAsciiDomain(name) !== name)
        throw new SegmentError(
          place(),
          `is not a domain name in lower-case A-labels: ${JSON.stringify(name)}`,
        );
      let hasValue = false;
      for (let what = 0; what < checks.length; what++) {
        const value = this.nameWords[pointer + what]!;
        if (value !== 0) hasValue = true;
        if (checked[what]!.has(value)) continue;
        const { isRecord, check } = checks[what]!;
        if (!isRecord(value)) throw new SegmentError(place(), `${name} does not point at a record: ${value}`);
        checked[what]!.add(value);
        check(value, `${place()} (${name})`);
      }
      if (!hasValue) throw new SegmentError(place(), `${name} has no ${this.layout.values.join(" and no ")}`);
      const problem = checkName(name, this.words.answer < 0 ? 0 : this.answerOf(pointer));
      if (problem !== undefined) throw new SegmentError(place(), `${name} ${problem}`);
      names.set(pointer, name);
    }
    return names;
  }

  /** Checks one slot, and removes its name from `names`. */
  private verifySlot(slot: number, names: Map<number, string>): void {
    const at = DOMAIN_SLOTS_HEADER + 2 * slot;
    const hash = this.slots[at]!;
    const pointer = this.slots[at + 1]!;
    const place = () => `${this.layout.slots}[${at}]`;
    if (pointer === 0) {
      if (hash !== 0) throw new SegmentError(place(), `an empty slot has a hash: ${hash}`);
      return;
    }
    const name = names.get(pointer);
    if (name === undefined)
      throw new SegmentError(
        place(),
        `does not point at a name, or points at a name that is already used: ${pointer}`,
      );
    const want = hashWithKeys(name, this.keys);
    if (hash !== want) throw new SegmentError(place(), `hash of ${name}: got ${hash}, want ${want}`);
    if (this.pointerTo(hash, name, 0) !== pointer)
      throw new SegmentError(place(), `${name} cannot be found by its hash, or is stored twice`);
    names.delete(pointer);
  }
}
