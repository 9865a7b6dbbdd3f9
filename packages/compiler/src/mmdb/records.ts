// records.ts: combines the MMDB files of one publisher into one source, and reads each distinct record once.
//
// in   one file, or one for each family; a function that reads a record and returns an id for it
// out  networks in address order, each with its record's id
// err  MmdbError. open walks and decodes everything, so later calls never reach corrupt data
// cost opening DB-IP City (14.8 M networks, 703,356 records) takes about 2 s on Bun, and each further walk of both
//      families takes 0.7 s. Memory use is 16 to 32 bytes per record, because records are not kept; decode reads a
//      record again

import { append, IpAddress, type Prefix } from "@inkling/engine";
import { Mmdb, MmdbError, type NetworkVisitor } from "./mmdb.ts";

/** Called with one network (for IPv4, only `w0` is used) and the id of its record. */
export type IdVisitor = (w0: number, w1: number, w2: number, w3: number, bits: number, id: number) => void;

/** Maximum size of all text and values of the records, as a multiple of the file size. GeoLite2 City reaches 8. */
const MAX_EXPANSION = 64;
/** Number of bytes to which any file may expand in addition. Small files repeat more, especially test files. */
const FREE_EXPANSION = 16 * 1024 * 1024;

/**
 * Called with one distinct record.
 * @param at position of the record, for {@link MmdbRecords.decode}
 * @returns the id that a visit reports for the record's networks, or -1 to leave them out
 */
type AddRecord = (record: unknown, at: number) => number;

interface Part {
  readonly db: Mmdb;
  /** Maps a data offset to an id, or to -1 if the record was left out. */
  readonly ids: OffsetIds;
  readonly networks: { 4: number; 6: number };
  /** Added to the offsets of this file, so that they differ from the offsets of other files. */
  readonly base: number;
}

export class MmdbRecords {
  /** Number of networks whose record was not left out. */
  readonly networks: { readonly 4: number; readonly 6: number };
  /** When the newest of the files was built, if the files state it. */
  readonly publishedAt: Date | undefined;
  private readonly parts: readonly Part[];
  private readonly byFamily: { readonly 4: Part | undefined; readonly 6: Part | undefined };

  private constructor(parts: readonly Part[]) {
    this.parts = parts;
    this.byFamily = { 4: onlyPart(parts, 4), 6: onlyPart(parts, 6) };
    this.networks = { 4: this.byFamily[4]?.networks[4] ?? 0, 6: this.byFamily[6]?.networks[6] ?? 0 };
    const epoch = Math.max(...parts.map((part) => part.db.metadata.buildEpoch));
    this.publishedAt = epoch > 0 ? new Date(epoch * 1000) : undefined;
  }

  /**
   * @param files the files' bytes; mapped files are not copied
   * @param add called once for each distinct record, IPv4 before IPv6, in address order
   * @throws MmdbError if a file is corrupt, or if two files hold networks of the same family
   */
  static open(files: readonly Uint8Array[], add: AddRecord): MmdbRecords {
    if (files.length === 0) throw new MmdbError("there is no file");
    let base = 0;
    const parts = files.map((bytes, i) => {
      try {
        const part = readPart(bytes, base, add);
        base += bytes.length;
        return part;
      } catch (error) {
        if (!(error instanceof MmdbError) || files.length === 1) throw error;
        throw new MmdbError(`file ${i + 1} of ${files.length}: ${error.message}`);
      }
    });
    return new MmdbRecords(parts);
  }

  /** Like {@link Mmdb.walk}, but passes the id of the record instead of its offset. */
  walk(family: 4 | 6, visit: IdVisitor): void {
    const part = this.byFamily[family];
    part?.db.walk(family, (w0, w1, w2, w3, bits, offset) => {
      const id = part.ids.get(offset)!;
      if (id >= 0) visit(w0, w1, w2, w3, bits, id);
    });
  }

  /** Decodes a record again. `at` is a position that was passed to {@link AddRecord}. */
  decode(at: number): unknown {
    const { db, base } = this.parts.findLast((part) => at >= part.base)!;
    return db.decode(at - base);
  }
}

function readPart(bytes: Uint8Array, base: number, add: AddRecord): Part {
  const db = Mmdb.open(bytes);
  const ids = new OffsetIds();
  const mostWork = FREE_EXPANSION + MAX_EXPANSION * bytes.length;
  const count = (family: 4 | 6): number => {
    let networks = 0;
    const visit: NetworkVisitor = (_w0, _w1, _w2, _w3, _bits, offset) => {
      let id = ids.get(offset);
      if (id === undefined) {
        id = add(db.decode(offset), base + offset);
        ids.set(offset, id);
        if (db.decodeWork > mostWork) {
          throw new MmdbError(`data section, byte ${offset}: records expand to more than ${mostWork} bytes`);
        }
      }
      if (id >= 0) networks++;
    };
    db.walk(family, visit);
    return networks;
  };
  return { db, ids, networks: { 4: count(4), 6: count(6) }, base };
}

/** Returns the part that holds the networks of a family, or undefined if no part does. */
function onlyPart(parts: readonly Part[], family: 4 | 6): Part | undefined {
  const having = parts.filter((part) => part.networks[family] > 0);
  if (having.length > 1) throw new MmdbError(`${having.length} files hold IPv${family} networks, want one`);
  return having[0];
}

/** Returns networks by key. @param keysOf the keys of the networks with an id */
export function networksBy<Key>(
  source: { readonly walk: (family: 4 | 6, visit: IdVisitor) => void },
  keysOf: (id: number) => readonly Key[],
): Map<Key, Prefix[]> {
  const networks = new Map<Key, Prefix[]>();
  for (const family of [4, 6] as const) {
    source.walk(family, (w0, w1, w2, w3, bits, id) => {
      const keys = keysOf(id);
      if (keys.length === 0) return;
      const address = new IpAddress(family, family === 4 ? [w0] : [w0, w1, w2, w3]);
      for (const key of keys) append(networks, key, { address, bits });
    });
  }
  return networks;
}

const EMPTY = 0;
/** Added to each stored id, because 0 marks a free slot. */
const SHIFT = 2;

/**
 * Maps record offsets (below 2^32) to ids (from -1 to 2^31 - 2), for millions of lookups. Open addressing takes 16 to
 * 32 bytes for each record outside the heap. A Map of 703,356 records takes 45 MB of the heap, which every garbage
 * collection has to scan again.
 */
export class OffsetIds {
  /**
   * Pairs of offset and id + SHIFT. The number of slots is a power of two, and at most half of the slots are in use.
   */
  private slots = new Uint32Array(2 << 10);
  private mask = (1 << 10) - 1;
  private size = 0;

  get(offset: number): number | undefined {
    const id = this.slots[this.slotOf(offset) + 1]!;
    return id === EMPTY ? undefined : id - SHIFT;
  }

  set(offset: number, id: number): void {
    const slot = this.slotOf(offset);
    if (this.slots[slot + 1] === EMPTY) this.size++;
    this.slots[slot] = offset;
    this.slots[slot + 1] = id + SHIFT;
    if (this.size * 2 > this.mask) this.grow();
  }

  /** Returns the slot where an offset is stored, or would be stored. */
  private slotOf(offset: number): number {
    const { slots, mask } = this;
    let slot = (Math.imul(offset, 0x9e3779b1) >>> 7) & mask;
    while (slots[slot * 2 + 1] !== EMPTY && slots[slot * 2] !== offset) slot = (slot + 1) & mask;
    return slot * 2;
  }

  private grow(): void {
    const old = this.slots;
    this.slots = new Uint32Array(old.length * 2);
    this.mask = this.mask * 2 + 1;
    for (let at = 0; at < old.length; at += 2) {
      if (old[at + 1] === EMPTY) continue;
      const slot = this.slotOf(old[at]!);
      this.slots[slot] = old[at]!;
      this.slots[slot + 1] = old[at + 1]!;
    }
  }
}
