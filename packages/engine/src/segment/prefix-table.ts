// prefix-table.ts: finds the networks that contain an address. Networks may be nested.
//
// in   networks, each with a value
// out  for an address, the region built from the values of all networks around it, and the largest network with the
//      same region
// cost building takes about 1 µs per network; a lookup reads a directory, and rarely searches a few ranges

import { type IpAddress, type Prefix, prefixContains } from "../address/ip.ts";
import { addSize, RangeColumns } from "./range-columns.ts";

type Entry<Value> = readonly [network: Prefix, value: Value];

/** @typeParam Region the type that `make` builds from the values of the networks around an address */
export class PrefixTable<Value, Region> {
  private readonly v4: FamilyRanges<Value, Region>;
  private readonly v6: FamilyRanges<Value, Region>;

  /**
   * @param make receives the values of all networks around an address, smallest network first; equal networks keep the
   *   given order
   */
  constructor(entries: readonly Entry<Value>[], make: (smallestFirst: readonly Value[]) => Region) {
    this.v4 = new FamilyRanges(4, entries, make);
    this.v6 = new FamilyRanges(6, entries, make);
  }

  /** Returns the region of an address; undefined if no network contains the address. */
  find(address: IpAddress): Region | undefined {
    return this.ranges(address).find(address);
  }

  /** Returns the regions of all addresses in a network. */
  findWithin(network: Prefix): Iterable<Region> {
    return this.ranges(network.address).findWithin(network);
  }

  /**
   * Returns the prefix length of the largest network around an address in which {@link find} returns the same region
   * everywhere.
   */
  networkBits(address: IpAddress): number {
    return this.ranges(address).networkBits(address);
  }

  private ranges({ family }: IpAddress): FamilyRanges<Value, Region> {
    return family === 4 ? this.v4 : this.v6;
  }
}

/** The number of values that the first 16 bits of an address can have. */
const BUCKETS = 1 << 16;

/** Ranges that cover the whole address space of one family. */
class FamilyRanges<Value, Region> {
  private readonly columns: RangeColumns;
  /** The smallest network that contains a range, indexed by the range's value. */
  private readonly networks: (NestedNetwork<Value> | undefined)[] = [undefined];
  /** Regions, by the same index as `networks`. Each is built when one of its addresses is first looked up. */
  private readonly regions: Region[] = [];
  private readonly make: (smallestFirst: readonly Value[]) => Region;
  /**
   * For each value of the first 16 bits, the range of the first address that begins with it. Empty if there is only one
   * range.
   */
  private readonly directory: Uint32Array;
  private readonly scratch = new Uint32Array(4);

  /** @param entries networks of both families */
  constructor(
    family: 4 | 6,
    entries: readonly Entry<Value>[],
    make: (smallestFirst: readonly Value[]) => Region,
  ) {
    this.make = make;
    const networks = nestedNetworks(family, entries);
    this.columns = new RangeColumns(family, 2 * networks.length + 1);
    this.begin(new Uint32Array(4), 0);
    let open: NestedNetwork<Value> | undefined;
    for (const network of networks) {
      while (open !== undefined && !prefixContains(open.prefix, network.prefix.address))
        open = this.close(open);
      network.around = open;
      network.number = this.networks.length;
      this.networks.push(network);
      this.begin(network.prefix.address.words, network.number);
      open = network;
    }
    while (open !== undefined) open = this.close(open);
    this.directory = this.makeDirectory();
  }

  /** Ends a network. @returns the network around it */
  private close({ prefix, around }: NestedNetwork<Value>): NestedNetwork<Value> | undefined {
    const after = this.scratch;
    after.set(prefix.address.words);
    if (addSize(after, prefix.bits)) this.begin(after, around?.number ?? 0);
    return around;
  }

  /** Begins a range. The new range replaces a range that begins at the same address. */
  private begin(words: Uint32Array, network: number): void {
    const { columns } = this;
    const last = columns.length - 1;
    if (last >= 0 && this.compareStart(last, words) === 0) columns.values[last] = network;
    else columns.append(words[0]!, words[1]!, words[2]!, words[3]!, network);
  }

  private makeDirectory(): Uint32Array {
    const { length } = this.columns;
    if (length === 1) return new Uint32Array(0);
    const directory = new Uint32Array(BUCKETS + 1).fill(length - 1);
    const first = new Uint32Array(4);
    for (let bucket = 0, range = 0; bucket < BUCKETS; bucket++) {
      first[0] = bucket << 16;
      while (range + 1 < length && this.compareStart(range + 1, first) <= 0) range++;
      directory[bucket] = range;
    }
    return directory;
  }

  find(address: IpAddress): Region | undefined {
    return this.regionOf(this.rangeOf(address));
  }

  private regionOf(range: number): Region | undefined {
    const number = this.columns.values[range]!;
    return number === 0 ? undefined : (this.regions[number] ?? this.makeRegion(number));
  }

  private makeRegion(number: number): Region {
    const values: Value[] = [];
    for (let one = this.networks[number]; one !== undefined; one = one.around) values.push(one.value);
    const region = this.make(values);
    this.regions[number] = region;
    return region;
  }

  private rangeOf({ words }: IpAddress): number {
    if (this.columns.length === 1) return 0;
    const bucket = words[0]! >>> 16;
    let low = this.directory[bucket]!;
    let high = this.directory[bucket + 1]!;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.compareStart(middle, words) <= 0) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Returns a negative number, 0 or a positive number if a range starts before, at or after an address. */
  private compareStart(range: number, words: Uint32Array): number {
    const { starts, width } = this.columns;
    const at = range * width;
    for (let k = 0; k < width; k++) {
      const difference = starts[at + k]! - words[k]!;
      if (difference !== 0) return difference;
    }
    return 0;
  }

  networkBits(address: IpAddress): number {
    const { starts, width, length } = this.columns;
    const range = this.rangeOf(address);
    const startOf = (row: number) => starts.slice(row * width, (row + 1) * width);
    const before = range > 0 ? sharedBits(address.words, lastBefore(startOf(range))) + 1 : 0;
    const after = range + 1 < length ? sharedBits(address.words, startOf(range + 1)) + 1 : 0;
    return Math.max(before, after);
  }

  *findWithin(network: Prefix): Generator<Region> {
    const end = network.address.words.slice();
    const isLast = !addSize(end, network.bits);
    let range = this.rangeOf(network.address);
    do {
      const region = this.regionOf(range++);
      if (region !== undefined) yield region;
    } while (range < this.columns.length && (isLast || this.compareStart(range, end) < 0));
  }
}

interface NestedNetwork<Value> {
  readonly prefix: Prefix;
  readonly value: Value;
  /** The first 32 bits, which decide most comparisons when sorting. */
  readonly first: number;
  around: NestedNetwork<Value> | undefined;
  number: number;
}

/**
 * Returns the networks of one family, sorted by address. Each network comes before the networks inside it. Equal
 * networks are in reverse order.
 */
function nestedNetworks<Value>(family: 4 | 6, entries: readonly Entry<Value>[]): NestedNetwork<Value>[] {
  const networks: NestedNetwork<Value>[] = [];
  for (const [prefix, value] of entries) {
    const { address } = prefix;
    if (address.family !== family) continue;
    networks.push({ prefix, value, first: address.words[0]!, around: undefined, number: 0 });
  }
  const byRest = family === 4 ? byBits : byAddress;
  return networks.reverse().sort((a, b) => a.first - b.first || byRest(a.prefix, b.prefix));
}

const byBits = (a: Prefix, b: Prefix) => a.bits - b.bits;

function byAddress(a: Prefix, b: Prefix): number {
  const [x, y] = [a.address.words, b.address.words];
  return x[1]! - y[1]! || x[2]! - y[2]! || x[3]! - y[3]! || byBits(a, b);
}

/** Returns the number of leading bits that two addresses share. For IPv4, `other` has one word. */
function sharedBits(address: Uint32Array, other: Uint32Array): number {
  const word = other.findIndex((bits, k) => bits !== address[k]);
  return word < 0 ? 32 * other.length : 32 * word + Math.clz32(address[word]! ^ other[word]!);
}

/** Changes an address, which must not be the first one, to the address before it. */
function lastBefore(words: Uint32Array): Uint32Array {
  for (let k = words.length - 1; k >= 0; k--) if (words[k]!-- !== 0) break;
  return words;
}
