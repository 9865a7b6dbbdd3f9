// parquet.ts: a column for each member, compressed, in row groups: for DuckDB, Spark and pandas.
//
// Beside its text a network has `first` and `last`: its first and last address as 32 hexadecimal digits, IPv4 as
// ::ffff:a.b.c.d, so that any engine finds the network of an address by comparing text, in both families. `first_ipv4` and
// `last_ipv4` are the same as numbers, unknown for IPv6.
//
// note hyparquet-writer hashes and compares each value: exporting 15 million networks takes 3.6 times the CPU time that
//      our own encoders took (82 s for 23 s). Exports are rare, and those encoders were 400 lines of the format.

import type { IpAddress } from "@inkling/engine";
import type { SchemaElement } from "hyparquet";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
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

export const parquet: ExportFormat = {
  name: "parquet",
  what: "write a Parquet file with one row per network or disposable domain",
  lookups: ["geolocate", "reputation", "network", "email"],
  isFolder: false,
  pieces: (request) =>
    request.lookup === "email" ? domainPieces(request) : networkPieces(request, request.lookup),
};

/** The writer reports progress and checks the signal. */
const PAUSE: Piece = { file: "", data: "" };
/** Answers, or rows, between two pauses. */
const ROWS_BETWEEN_PAUSES = 20_000;
const ROWS_PER_GROUP = 100_000;

export type Described = Pick<Member, "name" | "type">;
const text = (name: string): Described => ({ name, type: "text" });
const EDGES: readonly Described[] = [
  ...["network", "first", "last"].map(text),
  { name: "first_ipv4", type: "uint32" },
  { name: "last_ipv4", type: "uint32" },
];

function* domainPieces(request: Request): Generator<Piece> {
  const file = new ParquetRows([text("domain"), text("providers")], about(request));
  for (const { domain, providers } of request.source.domains()) {
    if (file.addRow([domain, providers.join(" ")])) yield file.take();
  }
  yield file.end();
}

function* networkPieces(request: Request, lookup: IpTable): Generator<Piece> {
  const ranges = yield* paused(request.source.ranges(lookup), PAUSE);
  const members = columnsOf(lookup);
  const valuesOf = yield* paused(memberValues(ranges.answers, members), PAUSE);
  const file = new ParquetRows([...EDGES, ...members], about(request));
  let rows = 0;
  for (const row of networks(ranges)) {
    const { address, bits, value } = row;
    const edges = [
      networkText(row),
      edge(address, bits, 0),
      edge(address, bits, 0xffffffff),
      ipv4Edge(address, bits, 0),
      ipv4Edge(address, bits, 0xffffffff),
    ];
    if (file.addRow([...edges, ...valuesOf.map((of) => of(value))])) yield file.take();
    else if (++rows % ROWS_BETWEEN_PAUSES === 0) yield PAUSE;
  }
  yield file.end();
}

const about = (request: Request) => heading(request, "").trim();

const TYPES = {
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  number: { type: "DOUBLE" },
  integer: { type: "INT32" },
  uint32: { type: "INT64" }, // some readers take an unsigned number of 32 bits for a negative one
  boolean: { type: "BOOLEAN" },
} as const satisfies Record<Member["type"], object>;

/** Rows of a Parquet file, written one group at a time. */
export class ParquetRows {
  private readonly columns: readonly Described[];
  private readonly writer = new ByteWriter();
  private readonly file: ParquetWriter;
  /** The values of the group that is not full, by column. */
  private data: (Value | bigint)[][];

  /** @param release what the metadata of the file has as `inkling` */
  constructor(columns: readonly Described[], release: string) {
    this.columns = columns;
    this.data = columns.map(() => []);
    const elements = columns.map(
      ({ name, type }): SchemaElement => ({ name, repetition_type: "OPTIONAL", ...TYPES[type] }),
    );
    this.file = new ParquetWriter({
      writer: this.writer,
      schema: [{ name: "root", num_children: columns.length }, ...elements],
      codec: "ZSTD", // smaller than Snappy, and every engine reads it
      compressors: { ZSTD: (bytes) => Bun.zstdCompressSync(bytes, { level: 1 }) },
      createdBy: "Inkling",
      statisticsTruncateLength: 64, // by default 16, which many IPv4 networks share as `first` and `last`
      kvMetadata: [{ key: "inkling", value: release }],
    });
  }

  /**
   * @param values one for each column; undefined is unknown
   * @returns whether this row ended a group: then there is something to take
   */
  addRow(values: readonly Value[]): boolean {
    for (const [i, value] of values.entries())
      this.data[i]!.push(
        this.columns[i]!.type === "uint32" && value !== undefined ? BigInt(value as number) : value,
      );
    if (this.data[0]!.length < ROWS_PER_GROUP) return false;
    this.endGroup();
    return true;
  }

  /** The bytes that were written since the last call. */
  take(): Piece {
    const data = new Uint8Array(this.writer.getBuffer());
    this.writer.index = 0;
    return { file: "", data };
  }

  /** The last bytes of the file. */
  end(): Piece {
    this.endGroup();
    this.file.finish();
    return this.take();
  }

  /** Without rows it writes nothing. */
  endGroup(): void {
    const columnData = this.columns.map(({ name }, i) => ({ name, data: this.data[i]! }));
    this.data = this.columns.map(() => []);
    this.file.write({ columnData, rowGroupSize: ROWS_PER_GROUP });
  }
}

/**
 * Parses every answer once, and keeps each value of a member once.
 * @returns for each member a function from the index of an answer to its value
 */
function* memberValues(
  answers: readonly string[],
  members: readonly Member[],
): Generator<undefined, ((answer: number) => Value)[]> {
  const numbers = members.map(() => new Map<Value, number>());
  const numbersOf = members.map(() => new Int32Array(answers.length).fill(-1));
  for (let answer = 1; answer < answers.length; answer++) {
    if (answer % ROWS_BETWEEN_PAUSES === 0) yield;
    for (const [i, value] of rowOf(answers[answer]!, members).entries()) {
      if (value === undefined) continue;
      const known = numbers[i]!;
      const number = known.get(value) ?? known.size;
      known.set(value, number);
      numbersOf[i]![answer] = number;
    }
  }
  return numbersOf.map((ofMember, i) => {
    const values = [...numbers[i]!.keys()];
    return (answer) => values[ofMember[answer]!];
  });
}

const hexWord = (word: number) => (word >>> 0).toString(16).padStart(8, "0");
const V4_START = "00000000000000000000ffff";

/** The address in hexadecimal, with the bits after the prefix copied from `fill`. */
function edge({ family, words }: IpAddress, bits: number, fill: number): string {
  let digits = family === 4 ? V4_START : "";
  for (let k = 0; k < (family === 4 ? 1 : 4); k++)
    digits += hexWord(edgeWord(words[k]!, bits - 32 * k, fill));
  return digits;
}

/** The same as a number; undefined for IPv6. */
const ipv4Edge = ({ family, words }: IpAddress, bits: number, fill: number): Value =>
  family === 4 ? edgeWord(words[0]!, bits, fill) >>> 0 : undefined;

/** @param bits of the prefix, from the start of this word */
function edgeWord(word: number, bits: number, fill: number): number {
  const prefixBits = Math.min(32, Math.max(0, bits));
  const hostMask = prefixBits === 32 ? 0 : 0xffffffff >>> prefixBits;
  return word | (fill & hostMask);
}
