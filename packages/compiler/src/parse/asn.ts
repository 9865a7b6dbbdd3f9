// asn.ts: reads which autonomous system announces each network, from an MMDB or from tables of address ranges.
//
// in   mmdb: records with autonomous_system_number and autonomous_system_organization
//      asn-csv: first,last,number,organization; one file for both families, or one for each
// out  networks in address order, each with the index of its system in `systems`
// err  MmdbError or FeedError if the file is corrupt or of another kind. If two ranges overlap, the first range keeps
//      the overlap (the npm package has one such pair)
// cost 0.8 s for the 515,158 ranges of two tables

import { addSize, IpAddress, networksOf, type Prefix, parseRawIpInto, RangeColumns } from "@inkling/engine";
import { type IdVisitor, MmdbRecords, networksBy } from "../mmdb/records.ts";
import { splitRow } from "./csv.ts";
import { Tally } from "./tally.ts";
import { forEachLine, readText } from "./text.ts";

export interface AutonomousSystem {
  readonly asn: number;
  /** Absent if the source does not state a name. */
  readonly organization?: string;
}

export interface AsnNetworks {
  readonly systems: readonly AutonomousSystem[];
  readonly networks: { readonly 4: number; readonly 6: number };
  readonly publishedAt: Date | undefined;
  walk(family: 4 | 6, visit: IdVisitor): void;
}

/**
 * Returns whether networks may be announced under this number. RFC 7607, 6996, 5398, 4893 and 7300 reserve the other
 * numbers.
 */
const isPublic = (asn: number) =>
  Number.isInteger(asn) &&
  asn > 0 &&
  asn < 4_200_000_000 &&
  asn !== 23456 &&
  !(asn >= 64496 && asn <= 131071);

/** Maximum length of a name in characters. Registries allow 80 characters. */
const MAX_NAME = 120;

class Systems {
  readonly list: AutonomousSystem[] = [];
  private readonly ids = new Map<string, number>();
  /** For each system number: the latest name in the source and its id, because most rows repeat the previous name. */
  private readonly latest = new Map<number, { readonly name: string; readonly id: number }>();

  /** @returns the id of the system, or -1 for a reserved number */
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

/** Returns the name without control characters and repeated spaces, or "" for a placeholder such as "-". */
function cleanName(name: string): string {
  const clean = name.replace(/[\p{C}\s]+/gu, " ").trim();
  // The spread copies the text. Otherwise, `name` would keep the whole file in memory.
  return /[\p{L}\p{N}]/u.test(clean) ? [...clean].slice(0, MAX_NAME).join("") : "";
}

/** Returns the networks that these systems announce, by the system's number. Cost: 0.2 s, for any number of systems. */
export function networksOfSystems(
  source: AsnNetworks,
  systems: { readonly has: (asn: number) => boolean },
): Map<number, Prefix[]> {
  const keys = source.systems.map(({ asn }) => (systems.has(asn) ? [asn] : []));
  return networksBy(source, (id) => keys[id]!);
}

/** @throws MmdbError */
export function readAsnMmdb(files: readonly Uint8Array[]): AsnNetworks {
  const systems = new Systems();
  const records = MmdbRecords.open(files, (record) => {
    const { autonomous_system_number: asn, autonomous_system_organization: name } = (record ?? {}) as Record<
      string,
      unknown
    >;
    // Number() throws for a map that has a field named `toString`.
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

/**
 * Reads the tables. This is a separate function, so that nothing keeps the files' text in memory afterwards. Values are
 * ids + 1.
 * @throws FeedError
 */
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
        !parseRawIpInto(fields[0]!, first) ||
        !parseRawIpInto(fields[1]!, last) ||
        first.family !== last.family ||
        !/^[0-9]{1,10}$/.test(fields[2]!)
      ) {
        tally.fail(number, "is not an address range with an AS number");
        return;
      }
      const id = systems.add(Number(fields[2]), fields[3]!);
      if (id < 0) {
        tally.pass(number, "has an AS number that announces no networks");
        return;
      }
      if (tables[first.family].add(first.words, last.words, id + 1)) tally.use();
      else tally.fail(number, "overlaps earlier ranges, or is out of order");
    });
    tally.checkLines(text);
  }
  return { systems: systems.list, tables };
}

/** Builds the ranges of one family, in address order. */
class RangeTableBuilder {
  readonly columns: RangeColumns;
  count = 0;
  /** The first address after the last range, or undefined at the end of the address space. */
  private next: Uint32Array | undefined = new Uint32Array(4);

  constructor(family: 4 | 6) {
    this.columns = new RangeColumns(family);
  }

  /** Adds the part of a range that lies after all previous ranges. @returns false if there is no such part */
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

  /** Marks all addresses from `next` on as unknown. */
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
