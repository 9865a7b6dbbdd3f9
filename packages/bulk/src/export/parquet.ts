// parquet.ts: a column for each member, compressed, in row groups: for DuckDB, Spark and pandas.
//
// Beside its text a network has `first` and `last`: its first and last address as 32 hexadecimal digits, IPv4 as
// ::ffff:a.b.c.d, so that any engine finds the network of an address by comparing text, in both families.

import type { IpAddress } from "@inkling/engine";
import { type IpTable, type Member, rowOf, type Value } from "../members.ts";
import {
  columnsOf,
  type ExportFormat,
  heading,
  networks,
  networkText,
  type Piece,
  paused,
  type Request,
} from "./format.ts";
import { CodedColumn, TextColumn } from "./parquet-columns.ts";
import { type Column, ParquetFile, ROWS_OF_GROUP } from "./parquet-file.ts";

export const parquet: ExportFormat = {
  name: "parquet",
  what: "a row for each network, or for each disposable domain",
  lookups: ["geolocate", "reputation", "network", "email"],
  isFolder: false,
  pieces: (request) =>
    request.lookup === "email" ? domainPieces(request) : networkPieces(request, request.lookup),
};

/** The writer reports progress and checks the signal. */
const PAUSE: Piece = { file: "", data: "" };
/** Answers, or rows, between two pauses. */
const AT_ONCE = 20_000;

function* domainPieces(request: Request): Generator<Piece> {
  const domainColumn = new TextColumn("domain");
  const providersColumn = new TextColumn("providers");
  const out = new Groups(request, [domainColumn, providersColumn]);
  for (const { domain, providers } of request.source.domains()) {
    domainColumn.append(encoder.encode(domain));
    providersColumn.append(encoder.encode(providers.join(" ")));
    if (out.addRow(0)) yield out.take();
  }
  yield out.end();
}

function* networkPieces(request: Request, lookup: IpTable): Generator<Piece> {
  const ranges = yield* paused(request.source.ranges(lookup), PAUSE);
  const members = yield* paused(codedColumns(ranges.answers, columnsOf(lookup)), PAUSE);
  const [network, first, last] = [new TextColumn("network"), new TextColumn("first"), new TextColumn("last")];
  const out = new Groups(request, [network, first, last, ...members]);
  let rows = 0;
  for (const row of networks(ranges)) {
    network.appendAscii(networkText(row));
    first.append(edge(row.address, row.bits, 0));
    last.append(edge(row.address, row.bits, 0xffffffff));
    if (out.addRow(row.value)) yield out.take();
    else if (++rows % AT_ONCE === 0) yield PAUSE;
  }
  yield out.end();
}

/** Collects rows until they fill a group. */
class Groups {
  private readonly file: ParquetFile;
  private readonly rows = new Uint32Array(ROWS_OF_GROUP);
  private count = 0;

  constructor(request: Request, columns: readonly Column[]) {
    this.file = new ParquetFile(columns, [{ key: "inkling", value: heading(request, "").trim() }]);
  }

  /** @returns whether this row ended a group: then there is something to take */
  addRow(answer: number): boolean {
    this.rows[this.count++] = answer;
    if (this.count < ROWS_OF_GROUP) return false;
    this.endGroup();
    return true;
  }

  take(): Piece {
    return { file: "", data: this.file.take() };
  }

  end(): Piece {
    if (this.count > 0) this.endGroup();
    this.file.finish();
    return this.take();
  }

  private endGroup(): void {
    this.file.endGroup(this.rows.subarray(0, this.count));
    this.count = 0;
  }
}

/** A column for each member: every answer is parsed once. */
function* codedColumns(
  answers: readonly string[],
  members: readonly Member[],
): Generator<undefined, Column[]> {
  const numbers = members.map(() => new Map<Value, number>());
  const valuesOf = members.map(() => new Int32Array(answers.length).fill(-1));
  for (let answer = 1; answer < answers.length; answer++) {
    if (answer % AT_ONCE === 0) yield;
    const row = rowOf(answers[answer]!, members);
    for (let i = 0; i < row.length; i++) {
      const value = row[i];
      if (value === undefined) continue;
      const known = numbers[i]!;
      const number = known.get(value) ?? known.size;
      known.set(value, number);
      valuesOf[i]![answer] = number;
    }
  }
  return members.map(
    (member, i) =>
      new CodedColumn(member, [...numbers[i]!.keys()] as Exclude<Value, undefined>[], valuesOf[i]!),
  );
}

const encoder = new TextEncoder();
/** The two digits of each byte. */
const HEX = pairsOf(Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0")).join(""));
const V4_START = pairsOf("00000000000000000000ffff");
const edgePairs = new Uint16Array(16);
const edgeBytes = new Uint8Array(edgePairs.buffer);

function pairsOf(digits: string): Uint16Array {
  return new Uint16Array(encoder.encode(digits).buffer);
}

/**
 * The address whose bits after the prefix are all those of `fill`, in hexadecimal.
 * @returns the same bytes each time, good until the next
 */
function edge({ family, words }: IpAddress, bits: number, fill: number): Uint8Array {
  const isV4 = family === 4;
  if (isV4) edgePairs.set(V4_START);
  let at = isV4 ? V4_START.length : 0;
  for (let k = 0; k < (isV4 ? 1 : 4); k++) {
    const kept = Math.min(32, Math.max(0, bits - 32 * k));
    const host = kept === 32 ? 0 : 0xffffffff >>> kept;
    const word = words[k]! | (fill & host);
    for (let shift = 24; shift >= 0; shift -= 8) edgePairs[at++] = HEX[(word >>> shift) & 255]!;
  }
  return edgeBytes;
}
