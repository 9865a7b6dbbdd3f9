// parquet.ts: a column for each member, compressed, in row groups: for DuckDB, Spark and pandas.
//
// Beside its text a network has `first` and `last`: its first and last address as 32 hexadecimal digits, IPv4 as
// ::ffff:a.b.c.d, so that any engine finds the network of an address by comparing text, in both families.

import type { IpAddress, IpLookup } from "@inkling/engine";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { MEMBERS, type Member, rowOf, type Value } from "../members.ts";
import {
  type ExportFormat,
  heading,
  networks,
  networkText,
  onceEach,
  type Piece,
  paused,
  type Request,
} from "./format.ts";

export const parquet: ExportFormat = {
  name: "parquet",
  what: "a row for each network, or for each disposable domain",
  lookups: ["geolocate", "reputation", "email"],
  isFolder: false,
  pieces: (request) => parquetPieces(request),
};

const ROWS_OF_GROUP = 100_000;
const TYPES = {
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  number: { type: "DOUBLE" },
  integer: { type: "INT32" },
  boolean: { type: "BOOLEAN" },
} as const satisfies Record<Member["type"], object>;

/** A pause in place of a row: the writer reports progress and checks the signal. */
const PAUSE: Value[] = [];

type Column = Pick<Member, "name" | "type">;
const textColumn = (name: string): Column => ({ name, type: "text" });

function* parquetPieces(request: Request): Generator<Piece> {
  const { lookup } = request;
  const members = lookup === "email" ? [] : MEMBERS[lookup];
  const keys = lookup === "email" ? ["domain", "providers"] : ["network", "first", "last"];
  const columns: Column[] = [...keys.map(textColumn), ...members];
  const rows = lookup === "email" ? domainRows(request) : networkRows(request, lookup);
  const writer = new ByteWriter();
  const file = new ParquetWriter({
    writer,
    schema: [
      { name: "root", num_children: columns.length },
      ...columns.map(({ name, type }) => ({ name, repetition_type: "OPTIONAL" as const, ...TYPES[type] })),
    ],
    createdBy: "Inkling",
    kvMetadata: [{ key: "inkling", value: heading(request, "").trim() }],
  });
  const group: Value[][] = columns.map(() => []);
  const write = (): Piece => {
    const columnData = columns.map(({ name }, i) => ({ name, data: group[i]! }));
    if (group[0]!.length > 0) file.write({ columnData, rowGroupSize: ROWS_OF_GROUP });
    for (const values of group) values.length = 0;
    return taken(writer);
  };
  for (const row of rows) {
    if (row === PAUSE) yield { file: "", data: "" };
    if (row === PAUSE) continue;
    for (let i = 0; i < columns.length; i++) group[i]!.push(row[i]);
    if (group[0]!.length === ROWS_OF_GROUP) yield write();
  }
  yield write();
  file.finish();
  yield taken(writer);
}

/** What the writer holds; it goes on from there. */
function taken(writer: ByteWriter): Piece {
  const data = new Uint8Array(writer.getBuffer());
  writer.index = 0;
  return { file: "", data };
}

function* domainRows({ source }: Request): Generator<Value[]> {
  for (const { domain, providers } of source.domains()) yield [domain, providers.join(" ")];
}

function* networkRows({ source }: Request, lookup: IpLookup): Generator<Value[]> {
  const ranges = yield* paused(source.ranges(lookup), PAUSE);
  const rest = onceEach(ranges.answers, (answer) => rowOf(answer, MEMBERS[lookup]));
  for (const network of networks(ranges)) {
    const { address, bits, value } = network;
    yield [networkText(network), edge(address, bits, 0), edge(address, bits, 0xffffffff), ...rest(value)];
  }
}

/** The address whose bits after the prefix are all those of `fill`, in hexadecimal. */
function edge({ family, words }: IpAddress, bits: number, fill: number): string {
  const isV4 = family === 4;
  let text = isV4 ? "00000000000000000000ffff" : "";
  for (let k = 0; k < (isV4 ? 1 : 4); k++) {
    const kept = Math.min(32, Math.max(0, bits - 32 * k));
    const host = kept === 32 ? 0 : 0xffffffff >>> kept;
    text += ((words[k]! | (fill & host)) >>> 0).toString(16).padStart(8, "0");
  }
  return text;
}
