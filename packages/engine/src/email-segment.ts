// email-segment.ts: the segment that knows disposable domains, and the answer about one e-mail address.
//
// in   the bytes of a segment, then one host or e-mail address at a time
// out  the answer as JSON bytes
// err  open and verify: SegmentError; a look-up never throws and always ends, whatever the bytes
// src  docs/segment-format.md; the writer is packages/compiler/src/email-table.ts
// cost one pass over the host from its end: the hash of each parent falls out on the way to the next.
//      A host that is not listed costs one cache line for each level that may be registered.

import { Answers } from "./answers.ts";
import { cutSuffix, toAsciiDomain } from "./domain.ts";
import { parseEmail } from "./email.ts";
import { openSegment, SegmentError, type SegmentFile, verifyChecksum } from "./segment.ts";

/** Words of domainSlots before the first slot: the seed of the hash, and a zero. */
export const DOMAIN_SLOTS_HEADER = 2;
/** A name is at most this many slots from its home: what bounds a look-up in any bytes at all. */
export const MAX_DOMAIN_PROBES = 64;
/** Names start at multiples of this many bytes; a pointer counts in these. */
export const DOMAIN_NAME_ALIGN = 4;

const DOT = 0x2e;

/** Hash of no character yet (FNV-1a's offset basis, seeded). */
function basis(seed: number): number {
  return 0x811c9dc5 ^ seed;
}

/** One character more (FNV-1a). */
function step(hash: number, c: number): number {
  return Math.imul(hash ^ c, 0x01000193);
}

/** Spreads the hash over all bits (as MurmurHash3): the low ones choose the slot. */
function finish(hash: number): number {
  let h = hash ^ (hash >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  return h >>> 0;
}

/** The hash of a name, from its last character to its first, as a uint32. */
export function hashDomain(name: string, seed: number): number {
  let hash = basis(seed);
  for (let i = name.length - 1; i >= 0; i--) hash = step(hash, name.charCodeAt(i));
  return finish(hash);
}

export class EmailSegment {
  private readonly file: SegmentFile;
  private readonly answers: Answers;
  private readonly slots: Uint32Array;
  private readonly names: Uint8Array;
  private readonly nameWords: Uint32Array;
  private readonly mask: number;
  private readonly basis: number;

  private constructor(file: SegmentFile) {
    this.file = file;
    this.answers = new Answers(file.u8("answers"));
    this.slots = file.u32("domainSlots");
    this.names = file.u8("domainNames");
    const count = (this.slots.length - DOMAIN_SLOTS_HEADER) / 2;
    if (!(count >= 1) || (count & (count - 1)) !== 0 || !Number.isInteger(count)) {
      throw new SegmentError("section domainSlots", `has ${count} slots, want a power of two`);
    }
    if (this.names.length < DOMAIN_NAME_ALIGN || this.names.length % DOMAIN_NAME_ALIGN !== 0) {
      throw new SegmentError(
        "section domainNames",
        `has ${this.names.length} bytes, want a multiple of ${DOMAIN_NAME_ALIGN}`,
      );
    }
    this.nameWords = new Uint32Array(this.names.buffer, this.names.byteOffset, this.names.length / 4);
    this.mask = count - 1;
    this.basis = basis(this.slots[0]!);
  }

  /**
   * Opens a segment without reading its contents.
   * @throws SegmentError when the bytes are no e-mail segment
   */
  static open(bytes: Uint8Array): EmailSegment {
    return new EmailSegment(openSegment(bytes, "email"));
  }

  /**
   * The disposable providers that a host belongs to, as the bytes of a JSON array: the entry that matched, then
   * the service that runs it. The closest entry answers: the host itself, then each parent, never a public suffix.
   * @param host from `toAsciiDomain`
   * @returns `undefined` when it is not disposable; otherwise a view of the segment: never write to it
   */
  providers(host: string): Uint8Array | undefined {
    return this.providersFrom(host, cutSuffix(host).registrableStart);
  }

  /** As {@link providers}, for a caller that knows where the registrable domain begins (-1: nowhere). */
  providersFrom(host: string, registrableStart: number): Uint8Array | undefined {
    if (registrableStart < 0) return undefined;
    let hash = this.basis;
    let value = 0;
    for (let i = host.length - 1; i >= 0; i--) {
      const c = host.charCodeAt(i);
      if (c === DOT && i < registrableStart) value = this.find(finish(hash), host, i + 1) || value;
      hash = step(hash, c);
    }
    value = this.find(finish(hash), host, 0) || value;
    return value === 0 ? undefined : this.answers.at(value);
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
      if (names[at + 1 + i] !== host.charCodeAt(start + i)) return false;
    }
    return true;
  }

  /**
   * Reads everything: checksum, every name, every slot, every pointer, and whether each name is found.
   * @throws SegmentError naming the first place at fault
   */
  verify(): void {
    verifyChecksum(this.file);
    const names = this.verifyNames(this.answers.verify());
    if (this.slots[1] !== 0) throw new SegmentError("domainSlots[1]", `got ${this.slots[1]}, want 0`);
    for (let slot = 0; slot <= this.mask; slot++) this.verifySlot(slot, names);
    for (const name of names.values())
      throw new SegmentError(`name ${name}`, "is stored, but no slot points at it");
  }

  /** Walks all names, pointer -> name. */
  private verifyNames(isAnswer: (value: number) => boolean): Map<number, string> {
    if (this.nameWords[0] !== 0) throw new SegmentError("domainNames, byte 0", "want four zeros");
    const names = new Map<number, string>();
    const checked = new Set<number>();
    let at = DOMAIN_NAME_ALIGN;
    while (at < this.names.length) {
      const place = `domainNames, byte ${at}`;
      const end = at + 5 + (this.names[at + 4] ?? 0);
      if (end > this.names.length) throw new SegmentError(place, "name runs past the end of the section");
      const name = asciiText(this.names.subarray(at + 5, end));
      if (toAsciiDomain(name) !== name)
        throw new SegmentError(place, `is no domain name in lower-case A-labels: ${JSON.stringify(name)}`);
      const pointer = at / DOMAIN_NAME_ALIGN;
      const value = this.nameWords[pointer]!;
      if (!isAnswer(value)) throw new SegmentError(place, `${name} points at no answer: ${value}`);
      if (!checked.has(value)) {
        checked.add(value);
        if (!isProviderList(this.answers.at(value)))
          throw new SegmentError(place, `the answer of ${name} is no list of providers`);
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
    const place = `domainSlots[${at}]`;
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

function asciiText(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i++) text += String.fromCharCode(bytes[i]!);
  return text;
}

/** A JSON array of at least one domain name, none twice, without white space: no name needs an escape. */
function isProviderList(bytes: Uint8Array | undefined): boolean {
  if (bytes === undefined) return false;
  const text = asciiText(bytes);
  if (!text.startsWith('["') || !text.endsWith('"]')) return false;
  const list = text.slice(2, -2).split('","');
  return list.every((entry) => toAsciiDomain(entry) === entry) && new Set(list).size === list.length;
}

function ascii(text: string): Uint8Array {
  return Uint8Array.from(text, (c) => c.charCodeAt(0));
}

const CLEAN_VALID = ascii('{"valid":true,"disposable":false,"providers":[]}');
const CLEAN_INVALID = ascii('{"valid":false,"disposable":false,"providers":[]}');
const HEAD_VALID = ascii('{"valid":true,"disposable":true,"providers":');
const HEAD_INVALID = ascii('{"valid":false,"disposable":true,"providers":');
const CLOSING_BRACE = 0x7d;

/**
 * The whole answer about one e-mail address, as JSON bytes; with no domain to be read, neither valid nor disposable.
 * @param text anything
 * @returns bytes that may be shared with other answers: never write to them
 */
export function answerEmail(text: string, segment: EmailSegment): Uint8Array {
  const { valid, host, registrableStart } = parseEmail(text);
  const providers = host === undefined ? undefined : segment.providersFrom(host, registrableStart);
  if (providers === undefined) return valid ? CLEAN_VALID : CLEAN_INVALID;
  const head = valid ? HEAD_VALID : HEAD_INVALID;
  const answer = new Uint8Array(head.length + providers.length + 1);
  answer.set(head);
  answer.set(providers, head.length);
  answer[answer.length - 1] = CLOSING_BRACE;
  return answer;
}
