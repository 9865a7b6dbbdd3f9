// visitor-counts.ts: counts how often a network, mailbox or domain was assessed recently, in memory that all workers
// share.
//
// Each host counts for itself. A count can be too low: the table holds at most ENTRIES subjects, a restart resets it,
// and two workers that count at the same moment may lose one count. Cost: two HMACs per subject, and 64 bytes of
// memory. "1h" is the current hour plus the previous hour, weighted by the share of the previous hour that is less than
// an hour old; "24h" is the current hour and the 23 before it.
//
// The memory holds no address and no name. An entry stores 64 bits of an HMAC whose key changes every day (UTC) and
// exists only in memory. Yesterday's entries are found with yesterday's key, so counts continue across midnight.

import { COUNT_SUBJECTS, type CountSubject } from "@inkling/contract";
import type { EpochMs } from "@inkling/store/keys/key";

/** Maximum number of subjects in the table. */
const ENTRIES = 1 << 15;
/** Bytes per entry: hash (2 words), hour and second of its last count, and a count for each of HOURS hours. */
const ENTRY_BYTES = 64;
export const VISITOR_COUNTS_BYTES = ENTRIES * ENTRY_BYTES;

const WORDS = ENTRY_BYTES / 4;
const SHORTS = ENTRY_BYTES / 2;
const LAST_HOUR = 2;
const LAST_SECOND = 3;
const FIRST_COUNT = 8;
const HOURS = 24;
/** Number of adjacent entries in which a subject may be stored. */
const WAYS = 8;
const HOUR_MS = 3_600_000;
const MAX_COUNT = 0xffff;

interface VisitCount {
  readonly hour: number;
  readonly day: number;
}

type Hash = readonly [low: number, high: number, place: number];

export class VisitorCounts {
  private readonly words: Uint32Array;
  private readonly shorts: Uint16Array;
  private readonly key: Uint8Array;
  private readonly dayKeys = new Map<number, Uint8Array>();

  /**
   * @param key random bytes, the same in all threads that share the memory
   * @param memory VISITOR_COUNTS_BYTES bytes, initially zero
   */
  constructor(key: Uint8Array, memory = new SharedArrayBuffer(VISITOR_COUNTS_BYTES)) {
    this.words = new Uint32Array(memory);
    this.shorts = new Uint16Array(memory);
    this.key = key;
  }

  /** Counts one decision of a subject. @returns the subject's counts */
  add(subject: CountSubject, value: string, now: EpochMs): VisitCount {
    const hour = Math.floor(now / HOUR_MS);
    const day = Math.floor(hour / HOURS);
    const text = `${COUNT_SUBJECTS.indexOf(subject)} ${value}`;
    const entry = this.takeEntry(this.hash(day, text), hour);
    this.roll(entry, hour);
    const at = entry * SHORTS + FIRST_COUNT + (hour % HOURS);
    this.words[entry * WORDS + LAST_SECOND] = Math.floor(now / 1_000);
    if (this.shorts[at]! < MAX_COUNT) Atomics.add(this.shorts, at, 1);
    const before = this.findEntry(this.hash(day - 1, text));
    const countOf = (past: number) => this.countAt(entry, past) + this.countAt(before, past);
    let total = 0;
    for (let past = hour - HOURS + 1; past <= hour; past++) total += countOf(past);
    const rest = 1 - (now % HOUR_MS) / HOUR_MS;
    return { hour: countOf(hour) + Math.floor(countOf(hour - 1) * rest), day: total };
  }

  private countAt(entry: number | undefined, hour: number): number {
    if (entry === undefined) return 0;
    const last = this.words[entry * WORDS + LAST_HOUR]!;
    return hour > last - HOURS && hour <= last
      ? this.shorts[entry * SHORTS + FIRST_COUNT + (hour % HOURS)]!
      : 0;
  }

  /** Sets the counts of all hours after the last counted hour to zero. */
  private roll(entry: number, hour: number): void {
    const at = entry * WORDS + LAST_HOUR;
    const last = this.words[at]!;
    if (hour <= last) return; // also true if the clock was set back
    for (let past = Math.max(last + 1, hour - HOURS + 1); past <= hour; past++)
      this.shorts[entry * SHORTS + FIRST_COUNT + (past % HOURS)] = 0;
    this.words[at] = hour;
  }

  private findEntry([low, high, place]: Hash): number | undefined {
    for (let entry = place; entry < place + WAYS; entry++)
      if (this.words[entry * WORDS] === low && this.words[entry * WORDS + 1] === high) return entry;
    return undefined;
  }

  /**
   * Finds or creates the subject's entry. If no entry is free, it reuses the entry that has gone longest without a
   * count.
   */
  private takeEntry(hash: Hash, hour: number): number {
    const found = this.findEntry(hash);
    if (found !== undefined) return found;
    const [low, high, place] = hash;
    const lastOf = (entry: number) => this.words[entry * WORDS + LAST_SECOND]!;
    let oldest = place;
    for (let entry = place + 1; entry < place + WAYS; entry++)
      if (lastOf(entry) < lastOf(oldest)) oldest = entry;
    this.words.fill(0, oldest * WORDS, (oldest + 1) * WORDS);
    this.words.set([low, high, hour], oldest * WORDS);
    return oldest;
  }

  private hash(day: number, text: string): Hash {
    const digest = new Bun.CryptoHasher("sha256", this.dayKey(day)).update(text).digest();
    const place = digest.readUInt32LE(8) % (ENTRIES / WAYS);
    return [digest.readUInt32LE(0), digest.readUInt32LE(4), place * WAYS];
  }

  private dayKey(day: number): Uint8Array {
    let key = this.dayKeys.get(day);
    if (key === undefined) {
      for (const known of this.dayKeys.keys()) if (known < day - 1) this.dayKeys.delete(known);
      key = new Bun.CryptoHasher("sha256", this.key).update(String(day)).digest();
      this.dayKeys.set(day, key);
    }
    return key;
  }
}
