// range-table.ts: the covering of an address space -> the v4* or v6* sections of a segment, or of its evidence.
//
// in   the covering of one family, values below 2^31 (record numbers)
// out  its sections as docs/segment-format.md describes them; the reader is packages/engine/src/ranges.ts
// cost for IPv6 16 bytes an entry beyond the sections until they are put together: entries are kept in one pool, not in
//      an array for each of 233,000 buckets, which took 250 MB where a build needs its memory most

import { DIRECTORY_ENTRIES, NODE_FLAG, RANGE_SECTIONS, type RangeSections } from "@inkling/engine";
import type { RangeColumns } from "./range-columns.ts";
import type { SectionData } from "./segment-writer.ts";

/** @param names which of a segment's tables it is */
export function rangeSections(
  columns: RangeColumns,
  names: RangeSections = RANGE_SECTIONS.answers,
): SectionData[] {
  return columns.family === 4 ? sections4(columns, names) : sections6(columns, names);
}

function sections4({ starts, values, length }: RangeColumns, names: RangeSections): SectionData[] {
  const directory = new Uint32Array(DIRECTORY_ENTRIES);
  const keys = new Uint16Array(length + DIRECTORY_ENTRIES);
  const tableValues = new Uint32Array(length + DIRECTORY_ENTRIES);
  let n = 0;
  let row = 0; // the next range to write
  for (let top = 0; top < DIRECTORY_ENTRIES - 1; top++) {
    directory[top] = n;
    const base = top * 65536;
    if (row >= length || starts[row] !== base) {
      keys[n] = 0; // the range before reaches into this /16
      tableValues[n++] = values[row - 1]!;
    }
    for (; row < length && starts[row]! < base + 65536; row++) {
      keys[n] = starts[row]! - base;
      tableValues[n++] = values[row]!;
    }
  }
  directory[DIRECTORY_ENTRIES - 1] = n;
  return [
    { name: names.v4Directory, data: directory },
    { name: names.v4Keys, data: keys.subarray(0, n) },
    { name: names.v4Values, data: tableValues.subarray(0, n) },
  ];
}

function sections6(columns: RangeColumns, names: RangeSections): SectionData[] {
  const tables = new Buckets(columns);
  const directory = new Uint32Array(DIRECTORY_ENTRIES);
  const { starts, length } = columns;
  let row = 0;
  for (let top = 0; top < DIRECTORY_ENTRIES - 1; top++) {
    directory[top] = tables.top.length;
    const first = row;
    while (row < length && starts[row * 4]! >>> 16 === top) row++;
    tables.add(first, row);
  }
  directory[DIRECTORY_ENTRIES - 1] = tables.top.length;
  const { nodeStarts, keys, values } = tables.inOrder();
  return [
    { name: names.v6Directory, data: directory },
    { name: names.v6Nodes, data: nodeStarts },
    { name: names.v6Keys, data: keys },
    { name: names.v6Values, data: values },
  ];
}

/** Sorted buckets of entries: those that the directory names, in its order, then nodes, each by its number. */
class Buckets {
  readonly top: Entries;
  private readonly columns: RangeColumns;
  /** By depth: the entries of a bucket whose end is not reached yet. */
  private readonly open: readonly Entries[];
  /** The entries of all nodes; a node is closed after the nodes that it names, so its place is kept apart. */
  private readonly closed: Entries;
  private readonly nodeAt: number[] = [];
  private readonly nodeLength: number[] = [];

  constructor(columns: RangeColumns) {
    this.columns = columns;
    this.top = new Entries(columns.length + DIRECTORY_ENTRIES);
    this.open = [0, 1, 2, 3].map(() => new Entries(1024));
    this.closed = new Entries(columns.length + DIRECTORY_ENTRIES);
  }

  /** Adds a bucket of the directory: the ranges `from` to `to`. */
  add(from: number, to: number): void {
    this.top.append(this.fill(from, to, 0));
  }

  /** Nodes go behind the directory's buckets. */
  inOrder(): { nodeStarts: Uint32Array; keys: Uint32Array; values: Uint32Array } {
    const { top, closed, nodeAt, nodeLength } = this;
    const nodeStarts = new Uint32Array(nodeAt.length + 1);
    const keys = new Uint32Array(top.length + closed.length);
    const values = new Uint32Array(top.length + closed.length);
    keys.set(top.keys.subarray(0, top.length));
    values.set(top.values.subarray(0, top.length));
    let end = top.length;
    nodeAt.forEach((at, node) => {
      nodeStarts[node] = end;
      keys.set(closed.keys.subarray(at, at + nodeLength[node]!), end);
      values.set(closed.values.subarray(at, at + nodeLength[node]!), end);
      end += nodeLength[node]!;
    });
    nodeStarts[nodeAt.length] = end;
    return { nodeStarts, keys, values };
  }

  /**
   * The entries of one bucket: the ranges `from` to `to`, which agree in all bits above the bucket's. Good until the
   * next bucket of this depth.
   * @param depth 0 for bits 16-47, then 48-79, 80-111, and 112-127 in the upper half of the key
   */
  private fill(from: number, to: number, depth: number): Entries {
    const { starts, values } = this.columns;
    const entries = this.open[depth]!;
    entries.length = 0;
    const unit = depth === 3 ? 65536 : 1;
    let running = from > 0 ? values[from - 1]! : 0; // what holds where the bucket begins
    let covered = 0; // the first key without an entry
    for (let row = from; row < to; ) {
      const key = keyOf(starts, row, depth);
      let end = row + 1;
      while (end < to && keyOf(starts, end, depth) === key) end++;
      if (key > covered) entries.push(covered, running);
      if (end === row + 1 && !hasBitsBelow(starts, row, depth)) entries.push(key, values[row]!);
      else entries.push(key, NODE_FLAG + this.node(row, end, depth + 1));
      running = values[end - 1]!;
      covered = key + unit;
      row = end;
    }
    if (covered < 2 ** 32) entries.push(covered, running);
    return entries;
  }

  /** @returns its number, which is below those of the nodes that it names */
  private node(from: number, to: number, depth: number): number {
    const node = this.nodeAt.push(0) - 1;
    const entries = this.fill(from, to, depth);
    this.nodeAt[node] = this.closed.length;
    this.nodeLength[node] = entries.length;
    this.closed.append(entries);
    return node;
  }
}

/** Pairs of key and value. Room that is never written to takes no memory. */
class Entries {
  keys: Uint32Array;
  values: Uint32Array;
  length = 0;

  constructor(capacity: number) {
    this.keys = new Uint32Array(capacity);
    this.values = new Uint32Array(capacity);
  }

  /** Adds an entry unless the one before says the same already. */
  push(key: number, value: number): void {
    const n = this.length;
    if (n > 0 && this.values[n - 1] === value && value < NODE_FLAG) return;
    if (n === this.keys.length) this.reserve(n + 1);
    this.keys[n] = key;
    this.values[n] = value;
    this.length = n + 1;
  }

  append({ keys, values, length }: Entries): void {
    this.reserve(this.length + length);
    this.keys.set(keys.subarray(0, length), this.length);
    this.values.set(values.subarray(0, length), this.length);
    this.length += length;
  }

  private reserve(need: number): void {
    if (need <= this.keys.length) return;
    const capacity = Math.max(need, this.keys.length * 2);
    for (const column of ["keys", "values"] as const) {
      const grown = new Uint32Array(capacity);
      grown.set(this[column].subarray(0, this.length));
      this[column] = grown;
    }
  }
}

/** The 32 bits that a bucket at this depth is sorted by. */
function keyOf(starts: Uint32Array, row: number, depth: number): number {
  const high = starts[row * 4 + depth]!;
  const low = depth === 3 ? 0 : starts[row * 4 + depth + 1]!;
  return ((high << 16) | (low >>> 16)) >>> 0;
}

/** Does the start have bits below those that {@link keyOf} takes? */
function hasBitsBelow(starts: Uint32Array, row: number, depth: number): boolean {
  if (depth === 3) return false;
  if ((starts[row * 4 + depth + 1]! & 0xffff) !== 0) return true;
  for (let k = depth + 2; k < 4; k++) if (starts[row * 4 + k] !== 0) return true;
  return false;
}
