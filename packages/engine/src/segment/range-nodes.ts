// range-nodes.ts: reads a node of a range table, which maps the next 8 bits of an address (a key) to a cell.
//
// in   the section of nodes, as words and as bytes; the cell that refers to the node; a key
// out  a cell: either a value, or a negative number that refers to the node for the next 8 bits
// src  packages/engine/segment-format.md. A node divides the keys into runs, each with one cell. It stores where the
//      runs start: as a list of up to MAX_LIST_RUNS starts, or as a bitmap with counts (bart's sparse array).
// note Array reads use `!`. In a damaged file, a read past the end returns undefined, and every comparison with
//      undefined is false.

import { SegmentError } from "./segment.ts";

/** A cell is either a value below this limit, or it has NODE_FLAG set and refers to a node. */
export const VALUE_LIMIT = 0x40000000;
export const NODE_FLAG = 0x80000000;
/** Set in a cell whose node is a list of runs. Other nodes are bitmaps of runs. */
export const LIST_FLAG = 0x40000000;
export const MAX_LIST_RUNS = 8;
/** Number of words in a bitmap node before its cells: a bit for each key at which a run starts, then the counts. */
export const BITMAP_WORDS = 10;
/** The counts begin at this word. For each group of 32 keys, a byte counts the runs that start before the group. */
const COUNTS = 8;
/** Number of bits in a key. */
export const NODE_BITS = 8;

const isList = (cell: number) => (cell & LIST_FLAG) !== 0;
/** Returns the offset of a cell's node, in words. */
export const nodeOffset = (cell: number) => cell & (LIST_FLAG - 1);

/** Returns the cell of a key in the node that `cell` refers to. */
export function cellOf(nodes: Int32Array, bytes: Uint8Array, cell: number, key: number): number {
  const at = nodeOffset(cell);
  if (!isList(cell)) return nodes[at + BITMAP_WORDS - 1 + rank(nodes, bytes, at, key)]!;
  const first = at << 2;
  const last = bytes[first]!;
  let run = 1;
  while (run <= last && bytes[first + run]! <= key) run++;
  return nodes[at + (last >>> 2) + run]!;
}

/** Counts the runs of a bitmap that start at or before a key. */
function rank(nodes: Int32Array, bytes: Uint8Array, at: number, key: number): number {
  const group = key >>> 5;
  return bytes[((at + COUNTS) << 2) + group]! + popcount(nodes[at + group]! << (31 - (key & 31)));
}

/** Counts the set bits by adding up wider and wider fields. */
function popcount(word: number): number {
  let sum = word - ((word >>> 1) & 0x55555555);
  sum = (sum & 0x33333333) + ((sum >>> 2) & 0x33333333);
  return Math.imul((sum + (sum >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** Lists the children of a node: the first key and the cell of each child, alternately. */
export function childNodes(nodes: Int32Array, bytes: Uint8Array, cell: number): number[] {
  const children: number[] = [];
  const at = nodeOffset(cell);
  if (isList(cell)) {
    const last = bytes[at << 2]!;
    let child = at + (last >>> 2) + 1;
    for (let run = 0; run <= last; run++, child++) {
      if (nodes[child]! < 0) children.push(run === 0 ? 0 : bytes[(at << 2) + run]!, nodes[child]!);
    }
    return children;
  }
  let child = at + BITMAP_WORDS;
  for (let group = 0; group < COUNTS; group++) {
    for (let starts = nodes[at + group]!; starts !== 0; starts &= starts - 1, child++) {
      if (nodes[child]! < 0) children.push(32 * group + 31 - Math.clz32(starts & -starts), nodes[child]!);
    }
  }
  return children;
}

/**
 * Finds the largest aligned block around a key in which all keys have the same cell. Returns how many leading bits
 * (0 to 8) the keys of this block share.
 */
export function blockBits(nodes: Int32Array, bytes: Uint8Array, cell: number, key: number): number {
  const value = cellOf(nodes, bytes, cell, key);
  let bits = NODE_BITS;
  for (let size = 2; bits > 0; size *= 2) {
    const start = key - (key % size);
    for (let k = start; k < start + size; k++) if (cellOf(nodes, bytes, cell, k) !== value) return bits;
    bits--;
  }
  return bits;
}

/**
 * Checks the starts of a node's runs.
 * @returns the offset of the node's cells, and their count
 * @throws SegmentError if the runs are out of order or their counts are wrong
 */
export function verifyRuns(nodes: Int32Array, bytes: Uint8Array, cell: number, place: string) {
  const at = nodeOffset(cell);
  return isList(cell) ? verifyList(bytes, at, place) : verifyBitmap(nodes, bytes, at, place);
}

function verifyList(bytes: Uint8Array, at: number, place: string) {
  const count = (bytes[at * 4] ?? 0) + 1;
  if (count > MAX_LIST_RUNS) throw new SegmentError(place, `has ${count} runs, at most ${MAX_LIST_RUNS}`);
  for (let i = 2; i < count; i++) {
    if (bytes[at * 4 + i]! <= bytes[at * 4 + i - 1]!)
      throw new SegmentError(place, `run ${i} does not start after the previous one`);
  }
  if (count > 1 && bytes[at * 4 + 1] === 0) throw new SegmentError(place, "its second run starts at key 0");
  return { cells: at + Math.ceil(count / 4), count };
}

function verifyBitmap(nodes: Int32Array, bytes: Uint8Array, at: number, place: string) {
  let count = 0;
  for (let group = 0; group < COUNTS; group++) {
    const counted = bytes[(at + COUNTS) * 4 + group];
    if (counted !== count)
      throw new SegmentError(place, `counts ${counted} runs before key ${group * 32}, not ${count}`);
    count += popcount(nodes[at + group]!);
  }
  if ((nodes[at]! & 1) === 0) throw new SegmentError(place, "starts without a run");
  return { cells: at + BITMAP_WORDS, count };
}
