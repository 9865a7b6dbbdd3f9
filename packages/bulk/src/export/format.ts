// format.ts: what all export formats have in common.
//
// A format is a generator of pieces. It opens no file, so it can be written anywhere, stopped between two pieces, and
// tested in memory. export.ts writes the pieces.

import { formatIp, IpAddress, networksOf, RangeColumns } from "@inkling/engine";
import { type IpTable, MEMBERS, type Member, type Table } from "../members.ts";
import type { AnswerRanges, ExportSource } from "./source.ts";

/** A part of a file; `file` is one of the format's files. */
export interface Piece {
  readonly file: string;
  readonly data: string | Uint8Array;
}

export interface Request {
  readonly source: ExportSource;
  readonly lookup: Table;
  /** One of the format's; undefined is its own type for this lookup. */
  readonly databaseType?: string | undefined;
  /** Flags without data. */
  readonly unknown: readonly string[];
  /** Texts that licences require where the data is shown. */
  readonly attributions: readonly string[];
  /** Names the release. */
  readonly release: string;
  /** Epoch seconds at which the release was made. */
  readonly builtAt: number;
}

export interface ExportFormat {
  readonly name: string;
  readonly what: string;
  /** Tables that it can hold; the first is the default. */
  readonly lookups: readonly [Table, ...Table[]];
  /** Types of database that it can be, and the table that each holds. */
  readonly databaseTypes?: Readonly<Record<string, Table>>;
  /** A folder's pieces name files in it; others name what is added to the file's name, often "". */
  readonly isFolder: boolean;
  pieces(request: Request): Iterable<Piece>;
}

/** The columns after a row's network, which is the prefix of its facts. */
export const columnsOf = (table: IpTable): readonly Member[] =>
  MEMBERS[table].filter(({ name }) => name !== "network_prefix");

/** Characters of a piece of text, about. */
const PIECE = 1 << 18;

/** Runs long work. @yields `pause` whenever it pauses @returns its result */
export function* paused<T, B>(work: Generator<undefined, T>, pause: B): Generator<B, T> {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    yield pause;
  }
}

/** Joins lines to pieces; an empty line is a pause. */
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

/** A format of one text file. */
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
 * All networks with an answer, IPv4 first, in address order.
 * @yields the same object each time, good until the next one: there are 15 million
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

/** `make` of an answer's text, called once for each answer. */
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
 * The same ranges with a text of each answer: neighbours with the same text become one.
 * @param textOf "" = no answer
 */
export function* reduced(
  ranges: AnswerRanges,
  textOf: (answer: string) => string,
): Generator<undefined, AnswerRanges> {
  const answers: string[] = [""];
  const numbers = new Map([["", 0]]);
  const numberOf = onceEach(ranges.answers, (answer) => {
    const text = answer === "" ? "" : textOf(answer);
    const known = numbers.get(text);
    if (known !== undefined) return known;
    numbers.set(text, answers.length);
    return answers.push(text) - 1;
  });
  const v4 = yield* withValues(ranges.v4, numberOf);
  const v6 = yield* withValues(ranges.v6, numberOf);
  return { v4, v6, answers };
}

/** Ranges between two pauses. */
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

/** As `203.0.113.0/24`. */
export const networkText = ({ address, bits }: Network) => `${formatIp(address)}/${bits}`;

/** The head of a file: its release, its gaps, its attributions. */
export function about({ attributions, release, unknown }: Request): string[] {
  const gaps = unknown.map((name) => `${name} is unknown: no feed with it was loaded.`);
  return [`Inkling, release ${release}`, ...gaps, ...attributions];
}

/** Lines of a comment at the top of a file. */
export function heading(request: Request, mark = "#"): string {
  return about(request)
    .map((line) => `${mark} ${line}\n`)
    .join("");
}
