// range-table.ts: the covering of an address space -> the v4* or v6* sections of a segment, or of its evidence.
//
// in   the covering of one family, values below 2^31 (record numbers)
// out  its sections as docs/segment-format.md describes them; the reader is packages/engine/src/ranges.ts

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
    { name: names.v4Keys, data: keys.slice(0, n) },
    { name: names.v4Values, data: tableValues.slice(0, n) },
  ];
}

/** Entries of one sorted bucket; a key's unit depends on how deep the bucket lies. */
class Entries {
  keys: number[] = [];
  values: number[] = [];

  /** Adds an entry unless the one before says the same already. */
  push(key: number, value: number): void {
    const last = this.values.length - 1;
    if (last >= 0 && this.values[last] === value && value < NODE_FLAG) return;
    this.keys.push(key);
    this.values.push(value);
  }
}

function sections6(columns: RangeColumns, names: RangeSections): SectionData[] {
  const nodes: Entries[] = [];
  const directory = new Uint32Array(DIRECTORY_ENTRIES);
  const keys = new GrowingU32();
  const values = new GrowingU32();
  const { starts, length } = columns;
  let row = 0;
  for (let top = 0; top < DIRECTORY_ENTRIES - 1; top++) {
    directory[top] = keys.length;
    const first = row;
    while (row < length && starts[row * 4]! >>> 16 === top) row++;
    const bucket = bucketOf(columns, first, row, 0, nodes);
    keys.append(bucket.keys);
    values.append(bucket.values);
  }
  directory[DIRECTORY_ENTRIES - 1] = keys.length;
  const nodeStarts = new Uint32Array(nodes.length + 1);
  nodes.forEach((node, index) => {
    nodeStarts[index] = keys.length;
    keys.append(node.keys);
    values.append(node.values);
  });
  nodeStarts[nodes.length] = keys.length;
  return [
    { name: names.v6Directory, data: directory },
    { name: names.v6Nodes, data: nodeStarts },
    { name: names.v6Keys, data: keys.whole() },
    { name: names.v6Values, data: values.whole() },
  ];
}

/**
 * The entries of one bucket: the ranges `from` to `to`, which agree in all bits above the bucket's.
 * @param depth 0 for bits 16-47, then 48-79, 80-111, and 112-127 in the upper half of the key
 */
function bucketOf(columns: RangeColumns, from: number, to: number, depth: number, nodes: Entries[]): Entries {
  const { starts, values } = columns;
  const entries = new Entries();
  const unit = depth === 3 ? 65536 : 1;
  let running = from > 0 ? values[from - 1]! : 0; // what holds where the bucket begins
  let covered = 0; // the first key without an entry
  for (let row = from; row < to; ) {
    const key = keyOf(starts, row, depth);
    let end = row + 1;
    while (end < to && keyOf(starts, end, depth) === key) end++;
    if (key > covered) entries.push(covered, running);
    if (end === row + 1 && !hasBitsBelow(starts, row, depth)) {
      entries.push(key, values[row]!);
    } else {
      const node = nodes.length;
      nodes.push(new Entries()); // holds the number: children must come after their parent
      nodes[node] = bucketOf(columns, row, end, depth + 1, nodes);
      entries.push(key, NODE_FLAG + node);
    }
    running = values[end - 1]!;
    covered = key + unit;
    row = end;
  }
  if (covered < 2 ** 32) entries.push(covered, running);
  return entries;
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

class GrowingU32 {
  private data = new Uint32Array(1 << 16);
  length = 0;

  append(values: readonly number[]): void {
    const need = this.length + values.length;
    if (need > this.data.length) {
      const grown = new Uint32Array(Math.max(need, this.data.length * 2));
      grown.set(this.data.subarray(0, this.length));
      this.data = grown;
    }
    this.data.set(values, this.length);
    this.length = need;
  }

  whole(): Uint32Array {
    return this.data.slice(0, this.length);
  }
}
