// asn.ts: which autonomous system announces each network: an MMDB, or tables of address ranges.
//
// in   mmdb: records with autonomous_system_number and autonomous_system_organization
//      asn-csv: first,last,number,organization; a file of both families, or one for each
// out  networks in address order, each with the number of its system in `systems`
// err  MmdbError, FeedError: corrupt, or another file. Of two ranges that overlap the first has what both hold (the
//      npm package has one such pair)
// cost 515,158 ranges of two tables: 0.8 s

import { addSize, IpAddress, networksOf, type Prefix, parseIpInto, RangeColumns } from "@inkling/engine";
import { type IdVisitor, MmdbRecords } from "../mmdb/records.ts";
import { splitRow } from "./csv.ts";
import { Tally } from "./tally.ts";
import { forEachLine, readText } from "./text.ts";

export interface AutonomousSystem {
  readonly asn: number;
  /** Absent where the source has no name. */
  readonly organization?: string;
}

export interface AsnNetworks {
  readonly systems: readonly AutonomousSystem[];
  readonly networks: { readonly 4: number; readonly 6: number };
  readonly publishedAt: Date | undefined;
  walk(family: 4 | 6, visit: IdVisitor): void;
}

/** RFC 7607, 6996, 5398, 4893, 7300: numbers that no one announces networks under. */
const isPublic = (asn: number) =>
  Number.isInteger(asn) &&
  asn > 0 &&
  asn < 4_200_000_000 &&
  asn !== 23456 &&
  !(asn >= 64496 && asn <= 131071);

/** Beyond it a name is cut: registries allow 80 characters, some of them three bytes each. */
const MAX_NAME = 120;

class Systems {
  readonly list: AutonomousSystem[] = [];
  private readonly ids = new Map<string, number>();
  /** By number, the latest name as the source has it, with its id: most rows repeat it. */
  private readonly latest = new Map<number, { readonly name: string; readonly id: number }>();

  /** @returns its id, -1 for a number that is no system's */
  add(asn: number, name: string): number {
    const latest = this.latest.get(asn);
    if (latest?.name === name) return latest.id;
    const id = isPublic(asn) ? this.idOf(asn, cleanName(name)) : -1;
    this.latest.set(asn, { name, id });
    return id;
  }

  private idOf(asn: number, organization: string): number {
    const key = `${asn} ${organization}`;
    let id = this.ids.get(key);
    if (id === undefined) {
      id = this.list.push(organization === "" ? { asn } : { asn, organization }) - 1;
      this.ids.set(key, id);
    }
    return id;
  }
}

/** Without control characters and runs of spaces; "-" and the like are no name. */
function cleanName(name: string): string {
  const clean = name.replace(/[\p{C}\s]+/gu, " ").trim();
  return /[\p{L}\p{N}]/u.test(clean) ? [...clean].slice(0, MAX_NAME).join("") : ""; // a copy: `name` is a part of a file
}

/** The networks that these systems announce. */
export function networksOfSystems(source: AsnNetworks, systems: ReadonlySet<number>): Prefix[] {
  const isOf = source.systems.map(({ asn }) => systems.has(asn));
  const networks: Prefix[] = [];
  for (const family of [4, 6] as const) {
    source.walk(family, (w0, w1, w2, w3, bits, id) => {
      if (!isOf[id]) return;
      const address = new IpAddress();
      address.family = family;
      address.words.set(family === 4 ? [w0] : [w0, w1, w2, w3]);
      networks.push({ address, bits });
    });
  }
  return networks;
}

/** @throws MmdbError */
export function readAsnMmdb(files: readonly Uint8Array[]): AsnNetworks {
  const systems = new Systems();
  const records = MmdbRecords.open(files, (record) => {
    const { autonomous_system_number: asn, autonomous_system_organization: name } = (record ?? {}) as Record<
      string,
      unknown
    >;
    // Number() throws for a map with a member `toString`.
    return systems.add(
      typeof asn === "object" ? Number.NaN : Number(asn),
      typeof name === "string" ? name : "",
    );
  });
  return {
    systems: systems.list,
    networks: records.networks,
    publishedAt: records.publishedAt,
    walk: (family, visit) => records.walk(family, visit),
  };
}

/** @throws FeedError */
export function readAsnCsv(files: readonly Uint8Array[]): AsnNetworks {
  const { systems, tables } = readTables(files);
  const columns = { 4: tables[4].close(), 6: tables[6].close() };
  return {
    systems,
    networks: { 4: tables[4].count, 6: tables[6].count },
    publishedAt: undefined,
    walk(family, visit) {
      for (const { words: w, bits, value } of networksOf(columns[family]))
        visit(w[0]!, w[1]!, w[2]!, w[3]!, bits, value - 1);
    },
  };
}

/** Apart from what is made of them, which would keep their text. Values are ids + 1. @throws FeedError */
function readTables(files: readonly Uint8Array[]) {
  const systems = new Systems();
  const tables = { 4: new RangeTableBuilder(4), 6: new RangeTableBuilder(6) };
  const [first, last] = [new IpAddress(), new IpAddress()];
  for (const body of files) {
    const text = readText(body);
    const tally = new Tally();
    forEachLine(text, (line, number) => {
      const fields = splitRow(line);
      if (
        fields?.length !== 4 ||
        !parseIpInto(fields[0]!, first) ||
        !parseIpInto(fields[1]!, last) ||
        first.family !== last.family ||
        !/^[0-9]{1,10}$/.test(fields[2]!)
      ) {
        tally.fail(number, "is not a range of addresses with the number of a system");
        return;
      }
      const id = systems.add(Number(fields[2]), fields[3]!);
      if (id < 0) {
        tally.pass(number, "has a number that no system announces networks under");
        return;
      }
      if (tables[first.family].add(first.words, last.words, id + 1)) tally.use();
      else tally.fail(number, "lies in ranges before it, or is out of order");
    });
    tally.checkLines(text);
  }
  return { systems: systems.list, tables };
}

/** Ranges of one family, in address order. */
class RangeTableBuilder {
  readonly columns: RangeColumns;
  count = 0;
  /** The first address after the last range; undefined at the end of the space. */
  private next: Uint32Array | undefined = new Uint32Array(4);

  constructor(family: 4 | 6) {
    this.columns = new RangeColumns(family);
  }

  /** Adds what lies after the ranges before. @returns false where that is nothing */
  add(first: Uint32Array, last: Uint32Array, value: number): boolean {
    const { next, columns } = this;
    const { width } = columns;
    if (next === undefined || compare(last, next, width) < 0 || compare(last, first, width) < 0) return false;
    if (compare(first, next, width) > 0) this.close();
    const from = compare(first, next, width) > 0 ? first : next;
    columns.append(from[0]!, from[1]!, from[2]!, from[3]!, value);
    const after = new Uint32Array(4);
    after.set(last.subarray(0, width));
    this.next = addSize(after, 32 * width) ? after : undefined;
    this.count++;
    return true;
  }

  /** From `next` on nothing is known. */
  close(): RangeColumns {
    if (this.next !== undefined)
      this.columns.append(this.next[0]!, this.next[1]!, this.next[2]!, this.next[3]!, 0);
    return this.columns;
  }
}

function compare(a: Uint32Array, b: Uint32Array, width: number): number {
  for (let k = 0; k < width; k++) if (a[k] !== b[k]) return a[k]! - b[k]!;
  return 0;
}
