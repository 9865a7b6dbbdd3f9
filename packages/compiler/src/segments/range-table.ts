// range-table.ts: writes the covering of an address space into the v4* or v6* sections of a segment, or of its
// evidence.
//
// Cost: one pass over the ranges per 8 bits of depth; memory for the sections, plus 12 bytes per node of one depth.

import {
  BITMAP_WORDS,
  DIRECTORY_CELLS,
  LIST_FLAG,
  MAX_LIST_RUNS,
  NODE_FLAG,
  RANGE_SECTIONS,
  type RangeColumns,
  type RangeSections,
} from "@inkling/engine";
import type { SectionData } from "./segment-writer.ts";

/** @param names the sections of one of the segment's tables */
export function rangeSections(
  columns: RangeColumns,
  names: RangeSections = RANGE_SECTIONS.answers,
): SectionData[] {
  const { directory, nodes } = new TrieWriter(columns).write();
  const [directoryName, nodesName] =
    columns.family === 4
      ? ([names.v4Directory, names.v4Nodes] as const)
      : ([names.v6Directory, names.v6Nodes] as const);
  return [
    { name: directoryName, data: directory },
    { name: nodesName, data: nodes },
  ];
}

/** The directory covers two bytes of an address, and each node covers one byte. */
const DIRECTORY_BYTES = 2;
const KEYS = 256;
const MAX_NODE_WORDS = BITMAP_WORDS + KEYS;

class TrieWriter {
  private readonly columns: RangeColumns;
  /** The directory, then the nodes, depth by depth, in the order of the cells that point to them. */
  private words: Uint32Array;
  /** The same memory, as bytes. A separate view for each node would leave 100 MB of garbage. */
  private bytes: Uint8Array;
  private end = DIRECTORY_CELLS;
  /** Cells that need a node. */
  private waiting = new Slots();
  /** The runs of the node that is being written: the start of each run, and the ranges that start in it. */
  private readonly runStart = new Uint8Array(KEYS);
  private readonly runFrom = new Uint32Array(KEYS);
  private readonly runTo = new Uint32Array(KEYS);

  constructor(columns: RangeColumns) {
    this.columns = columns;
    this.words = new Uint32Array(DIRECTORY_CELLS + columns.length * 2 + MAX_NODE_WORDS);
    this.bytes = new Uint8Array(this.words.buffer);
  }

  write(): { directory: Uint32Array; nodes: Uint32Array } {
    const { starts, length, width } = this.columns;
    let row = 0;
    for (let top = 0; top < DIRECTORY_CELLS; top++) {
      const from = row;
      while (row < length && starts[row * width]! >>> 16 === top) row++;
      this.writeCell(top, from, row, DIRECTORY_BYTES);
    }
    for (let byte = DIRECTORY_BYTES; this.waiting.length > 0; byte++) {
      const level = this.waiting;
      this.waiting = new Slots();
      for (let i = 0; i < level.length; i++)
        this.writeNode(level.cell[i]!, level.from[i]!, level.to[i]!, byte);
    }
    return {
      directory: this.words.subarray(0, DIRECTORY_CELLS),
      nodes: this.words.subarray(DIRECTORY_CELLS, this.end),
    };
  }

  /**
   * Writes the cell of the network in which the ranges from `from` up to, but not including, `to` start. If the cell
   * needs a node, the node is written later.
   */
  private writeCell(cell: number, from: number, to: number, byte: number): void {
    const { values } = this.columns;
    if (from === to) this.words[cell] = values[from - 1]!;
    else if (this.isWhole(from, to, byte)) this.words[cell] = values[from]!;
    else this.waiting.push(cell, from, to);
  }

  private writeNode(cell: number, from: number, to: number, byte: number): void {
    const count = this.findRuns(from, to, byte);
    this.reserve(MAX_NODE_WORDS);
    const at = this.end;
    const isList = count <= MAX_LIST_RUNS;
    const cells = at + (isList ? this.writeList(at, count) : this.writeBitmap(at, count));
    this.words[cell] = NODE_FLAG + (isList ? LIST_FLAG : 0) + at - DIRECTORY_CELLS;
    this.end = cells + count;
    for (let i = 0; i < count; i++) this.writeCell(cells + i, this.runFrom[i]!, this.runTo[i]!, byte + 1);
  }

  /**
   * Finds the runs of keys that share a cell, for the ranges from `from` up to, but not including, `to`.
   * @returns the number of runs
   */
  private findRuns(from: number, to: number, byte: number): number {
    let count = 0;
    let covered = 0; // the first key without a run
    for (let row = from; row < to; ) {
      const key = this.byteAt(row, byte);
      let end = row + 1;
      while (end < to && this.byteAt(end, byte) === key) end++;
      if (key > covered) this.setRun(count++, covered, row, row); // the value of the previous range
      this.setRun(count++, key, row, end);
      covered = this.isWhole(row, end, byte + 1) ? KEYS : key + 1; // a range continues up to the next one
      row = end;
    }
    if (covered < KEYS) this.setRun(count++, covered, to, to);
    return count;
  }

  private setRun(run: number, start: number, from: number, to: number): void {
    this.runStart[run] = start;
    this.runFrom[run] = from;
    this.runTo[run] = to;
  }

  /** @returns the number of words before the cells */
  private writeList(at: number, count: number): number {
    const words = Math.ceil(count / 4);
    this.bytes[at * 4] = count - 1;
    for (let i = 1; i < count; i++) this.bytes[at * 4 + i] = this.runStart[i]!;
    return words;
  }

  /** @returns the number of words before the cells */
  private writeBitmap(at: number, count: number): number {
    for (let i = 0; i < count; i++)
      this.words[at + (this.runStart[i]! >>> 5)]! |= 1 << (this.runStart[i]! & 31);
    const counts = (at + BITMAP_WORDS) * 4 - 8;
    for (let group = 1, run = 0; group < 8; group++) {
      while (run < count && this.runStart[run]! < group * 32) run++;
      this.bytes[counts + group] = run;
    }
    return BITMAP_WORDS;
  }

  /** Returns whether there is exactly one range, and its start has no bits set from `byte` on. */
  private isWhole(from: number, to: number, byte: number): boolean {
    if (to !== from + 1) return false;
    const { starts, width } = this.columns;
    for (let k = byte; k < width * 4; k++) {
      if (starts[from * width + (k >>> 2)]! << (8 * (k & 3)) !== 0) return false;
      k |= 3; // the rest of the word has been checked
    }
    return true;
  }

  private byteAt(row: number, byte: number): number {
    const { starts, width } = this.columns;
    return (starts[row * width + (byte >>> 2)]! >>> (24 - 8 * (byte & 3))) & 255;
  }

  private reserve(count: number): void {
    if (this.end + count <= this.words.length) return;
    const grown = new Uint32Array(Math.ceil(this.words.length * 1.5) + count);
    grown.set(this.words.subarray(0, this.end));
    this.words = grown;
    this.bytes = new Uint8Array(grown.buffer);
  }
}

/** Cells that need a node, each with the ranges that start in its network. */
class Slots {
  cell = new Uint32Array(1024);
  from = new Uint32Array(1024);
  to = new Uint32Array(1024);
  length = 0;

  push(cell: number, from: number, to: number): void {
    const n = this.length++;
    if (n === this.cell.length) {
      for (const column of ["cell", "from", "to"] as const) {
        const grown = new Uint32Array(n * 2);
        grown.set(this[column]);
        this[column] = grown;
      }
    }
    this.cell[n] = cell;
    this.from[n] = from;
    this.to[n] = to;
  }
}
