// format.ts: the common parts of all export formats.
//
// A format is a generator of pieces. It opens no file, so it can be written anywhere, stopped between two pieces, and
// tested in memory. export.ts writes the pieces.

import { formatIp, IpAddress, networksOf, RangeColumns } from "@inkling/engine";
import { BulkError } from "../errors.ts";
import {
  didYouMean,
  FIELDS,
  type Field,
  type IpTable,
  namesMatching,
  rowOf,
  type Table,
  type Value,
} from "../fields.ts";
import type { AnswerRanges, ExportSource } from "./source.ts";

/** A part of a file. `file` is the name of one of the format's files. */
export interface Piece {
  readonly file: string;
  readonly data: string | Uint8Array;
}

export interface Request {
  readonly source: ExportSource;
  readonly lookup: Table;
  /** The columns to write; by default all columns of the lookup. Only for formats with columns. */
  readonly columns?: readonly Field[] | undefined;
  /** One of the format's database types. Undefined means Inkling's own type for this lookup. */
  readonly databaseType?: string | undefined;
  /** Flags without data. */
  readonly unknown: readonly string[];
  /** Texts that licences require wherever the data is shown. */
  readonly attributions: readonly string[];
  /** The name of the release. */
  readonly release: string;
  /** When the release was built, in seconds since 1970. */
  readonly builtAt: number;
}

export interface ExportFormat {
  readonly name: string;
  readonly what: string;
  /** Tables that the format can contain. The first is the default. */
  readonly lookups: readonly [Table, ...Table[]];
  /** Database types that the format supports, and the table that each type contains. */
  readonly databaseTypes?: Readonly<Record<string, Table>>;
  /** If true, `file` of a piece is a file in the folder. If false, it is a suffix of the target's name, often "". */
  readonly isFolder: boolean;
  /**
   * If true, the format compresses its own data, and its readers cannot open a file that is compressed again as a
   * whole.
   */
  readonly isCompressed?: boolean;
  /** If true, a request may choose the columns of a table of networks. */
  readonly hasColumns?: boolean;
  pieces(request: Request): Iterable<Piece>;
}

/**
 * Returns the columns after a row's network. The network_prefix column is left out, because the network is the same.
 */
export const columnsOf = (table: IpTable): readonly Field[] =>
  FIELDS[table].filter(({ name }) => name !== "network_prefix");

/**
 * @param text names and patterns of columns, separated by commas
 * @throws BulkError if there is no such column
 */
export function chosenColumns(text: string, table: Table): readonly Field[] {
  if (table === "email") {
    throw new BulkError(
      "--columns is only for tables of networks",
      "leave out --columns: the table of domains has the columns domain and providers",
      true,
    );
  }
  const all = columnsOf(table);
  const names = all.map(({ name }) => name);
  const patterns = text.split(",").map((pattern) => pattern.trim());
  const unknown = patterns.find((pattern) => namesMatching(pattern, names).length === 0);
  if (unknown !== undefined) {
    throw new BulkError(
      `--columns: there is no column ${unknown} in the table ${table}`,
      `${didYouMean(unknown, names)}the columns are ${names.join(", ")}; * matches any characters, as in 'country_*'`,
      true,
    );
  }
  const chosen = new Set(patterns.flatMap((pattern) => namesMatching(pattern, names)));
  return all.filter(({ name }) => chosen.has(name));
}

/** Returns whether a network needs no row for this value. A table of proxies has no rows for other flagged networks. */
const isBlank = (value: Value) => value === undefined || value === "" || value === false;

/**
 * Reads the ranges of a table. If the request chooses columns, networks with only blank values in them are left out,
 * and neighbours with the same values become one range.
 */
export function* rangesOf({ source, columns }: Request, table: IpTable): Generator<undefined, AnswerRanges> {
  const ranges = yield* source.ranges(table);
  if (columns === undefined) return ranges;
  const valuesOf = (answer: string) => {
    const values = rowOf(answer, columns);
    return values.every(isBlank) ? "" : JSON.stringify(values);
  };
  return yield* reduced(ranges, valuesOf, (answer) => answer);
}

/** Approximate number of characters in a piece of text. */
const PIECE = 1 << 18;

/** Runs long work. @yields `pause` whenever the work pauses @returns the result of the work */
export function* paused<T, B>(work: Generator<undefined, T>, pause: B): Generator<B, T> {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    yield pause;
  }
}

/** Joins lines into pieces. An empty line is a pause. */
export function* inPieces(file: string, lines: Iterable<string>): Generator<Piece> {
  let data = "";
  for (const line of lines) {
    data += line;
    if (data.length < PIECE && line !== "") continue;
    yield { file, data };
    data = "";
  }
  yield { file, data };
}

/** Returns a format that has one text file. */
export function textFormat(
  name: string,
  what: string,
  lookups: ExportFormat["lookups"],
  lines: (request: Request) => Iterable<string>,
): ExportFormat {
  return { name, what, lookups, isFolder: false, pieces: (request) => inPieces("", lines(request)) };
}

/** A network, and the index of its answer. */
export interface Network {
  readonly address: IpAddress;
  bits: number;
  value: number;
}

/**
 * Yields all networks with an answer, IPv4 first, in address order.
 * @yields the same object each time, valid until the next one, because there are 15 million networks
 */
export function* networks(ranges: AnswerRanges, families: readonly (4 | 6)[] = [4, 6]): Generator<Network> {
  const network: Network = { address: new IpAddress(), bits: 0, value: 0 };
  const { address } = network;
  for (const family of families) {
    address.family = family;
    for (const { words, bits, value } of networksOf(family === 4 ? ranges.v4 : ranges.v6)) {
      address.words.set(words);
      network.bits = bits;
      network.value = value;
      yield network;
    }
  }
}

/** Returns a function that calls `make` with an answer's text, but only once for each answer. */
export function onceEach<T>(answers: readonly string[], make: (answer: string) => T): (value: number) => T {
  const made = new Map<number, T>();
  return (value) => {
    let found = made.get(value);
    if (found === undefined) {
      found = make(answers[value]!);
      made.set(value, found);
    }
    return found;
  };
}

/**
 * Replaces each answer of the ranges by its text. Neighbours with the same text become one range.
 * @param textOf returns the text, or "" for no answer
 * @param keep returns the entry for all answers with the same text; by default the text
 */
export function* reduced(
  ranges: AnswerRanges,
  textOf: (answer: string) => string,
  keep: (answer: string, text: string) => string = (_, text) => text,
): Generator<undefined, AnswerRanges> {
  const answers: string[] = [""];
  const numbers = new Map([["", 0]]);
  const numberOf = onceEach(ranges.answers, (answer) => {
    const text = answer === "" ? "" : textOf(answer);
    const known = numbers.get(text);
    if (known !== undefined) return known;
    numbers.set(text, answers.length);
    return answers.push(keep(answer, text)) - 1;
  });
  const v4 = yield* withValues(ranges.v4, numberOf);
  const v6 = yield* withValues(ranges.v6, numberOf);
  return { v4, v6, answers };
}

/** Number of ranges between two pauses. */
const RENUMBERED = 1 << 18;

function* withValues(
  ranges: RangeColumns,
  renumbered: (value: number) => number,
): Generator<undefined, RangeColumns> {
  const { family, width, starts, values, length } = ranges;
  const out = new RangeColumns(family, 1 << 10);
  for (let i = 0; i < length; i++) {
    if (i % RENUMBERED === RENUMBERED - 1) yield;
    const at = i * width;
    const value = renumbered(values[i]!);
    if (width === 1) out.append(starts[at]!, 0, 0, 0, value);
    else out.append(starts[at]!, starts[at + 1]!, starts[at + 2]!, starts[at + 3]!, value);
  }
  return out;
}

/** Formats a network like `203.0.113.0/24`. */
export const networkText = ({ address, bits }: Network) => `${formatIp(address)}/${bits}`;

/** Returns the heading of a file: its release, its gaps, and its attributions. */
export function about({ attributions, release, unknown }: Request): string[] {
  const gaps = unknown.map((name) => `${name} is unknown: no feed that provides it was loaded.`);
  return [`Inkling, release ${release}`, ...gaps, ...attributions];
}

/** Returns the heading as comment lines. */
export function heading(request: Request, mark = "#"): string {
  return about(request)
    .map((line) => `${mark} ${line}\n`)
    .join("");
}
