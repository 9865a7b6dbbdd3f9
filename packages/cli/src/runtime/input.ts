// input.ts: reads a file or standard input as UTF-8: first its beginning, and then all of it.

import { createReadStream, fstatSync, openSync, readFileSync, type Stats, statSync } from "node:fs";
import { decode, type Encoding } from "@inkling/bulk/decode";
import { untilStopped } from "@inkling/bulk/errors";
import { trimmed } from "@inkling/bulk/values";
import { CliError, explainFileError } from "../terminal/errors.ts";

/** The file name that stands for standard input or output. */
export const STDIN_OR_OUT = "-";
/** Number of bytes at the start of the file from which the format and the columns are detected. */
const HEAD_BYTES = 256 * 1024;
const LF = 0x0a;

export interface Input {
  /** The first rows. If there is at least one complete row, the text ends with a complete row. */
  readonly head: string;
  /** The size in bytes as stored; undefined for a pipe. */
  readonly size: number | undefined;
  /** Bytes read so far. */
  bytesRead(): number;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** The encodings from which the input was decoded: gzip, zstd. */
  readonly encodings: readonly Encoding[];
  /** Is this input the file that has this name or descriptor? */
  isSameAs(other: string | number): boolean;
}

/**
 * Opens the input and reads its beginning. `chunks` returns all of it, including the beginning.
 * @param lastRowEnd returns where the last complete row of the first bytes ends; 0 means that no row is complete, so
 *   more bytes are read
 * @throws CliError, BulkError
 */
export async function openInput(
  file: string,
  signal: AbortSignal,
  lastRowEnd: (bytes: Uint8Array) => number,
): Promise<Input> {
  try {
    const descriptor = file === STDIN_OR_OUT ? 0 : openSync(file, "r");
    if (file !== STDIN_OR_OUT && statSync(file).isDirectory())
      throw new CliError(`${file} is a folder`, "name a file");
    const stats = fstatSync(descriptor);
    const isFile = stats.isFile();
    const stream = createReadStream("", {
      fd: descriptor,
      highWaterMark: 1 << 20,
      autoClose: file !== STDIN_OR_OUT,
    });
    let bytesRead = 0;
    const stored = async function* () {
      for await (const chunk of untilStopped(stream as AsyncIterable<Uint8Array>, signal)) {
        bytesRead += chunk.length;
        yield chunk;
      }
    };
    const { chunks: rest, encodings } = await decode(stored());
    const begun: Uint8Array[] = [];
    let length = 0;
    let rowEnd = 0;
    for (let enough = isFile ? HEAD_BYTES : 1; rowEnd === 0; ) {
      const { value } = await rest.next();
      if (value === undefined) break;
      begun.push(value);
      length += value.length;
      if (length < enough) continue;
      rowEnd = endOfHead(Buffer.concat(begun), lastRowEnd); // a pipe may deliver no more than one row for a long time
      if (length > HEAD_BYTES) enough = 2 * length;
    }
    const all = Buffer.concat(begun);
    if (rowEnd === 0 && length <= HEAD_BYTES) rowEnd = length;
    rowEnd ||= endOfHead(all, lastRowEnd) || all.lastIndexOf(LF, HEAD_BYTES) + 1 || HEAD_BYTES;
    return {
      head: all
        .subarray(0, rowEnd)
        .toString("utf8")
        .replace(/^\uFEFF/, ""),
      size: isFile ? stats.size : undefined,
      isSameAs: (other) => isFile && isSame(stats, other),
      bytesRead: () => bytesRead,
      chunks: (async function* () {
        yield* begun;
        yield* rest;
      })(),
      encodings,
    };
  } catch (error) {
    throw explainFileError(error, file);
  }
}

/** Returns the end of the complete rows in which formats and columns are detected; 0 if there is no complete row. */
const endOfHead = (bytes: Uint8Array, lastRowEnd: (bytes: Uint8Array) => number): number =>
  lastRowEnd(bytes.subarray(0, HEAD_BYTES)) || lastRowEnd(bytes);

function isSame({ dev, ino }: Stats, other: string | number): boolean {
  const stats = typeof other === "number" ? fstatSync(other) : statSync(other, { throwIfNoEntry: false });
  return stats !== undefined && stats.dev === dev && stats.ino === ino;
}

/** Reads a whole file, or standard input for "-". @throws CliError */
export async function readText(file: string): Promise<string> {
  try {
    return file === STDIN_OR_OUT ? await Bun.stdin.text() : readFileSync(file, "utf8");
  } catch (error) {
    throw explainFileError(error, file);
  }
}

/** Longer lines may be split into parts. */
const MAX_LINE = 1 << 20;

/**
 * Returns the line without surrounding white space. In an email address, white space beyond ASCII belongs to the
 * address, as in the API. Other values never contain such white space.
 */
const valueIn = (line: string) => (line.includes("@") ? trimmed(line) : line.trim());

/**
 * Yields the lines of a file or of standard input, without blank lines.
 * @throws CliError, BulkError
 */
export async function* linesOf(file: string, signal: AbortSignal): AsyncGenerator<string> {
  for await (const { line } of numberedLinesOf(file, signal)) yield line;
}

/** Like {@link linesOf}. The numbers begin at 1 and count blank lines too. */
export async function* numberedLinesOf(
  file: string,
  signal: AbortSignal,
): AsyncGenerator<{ readonly line: string; readonly number: number }> {
  const { chunks } = await openInput(file, signal, (bytes) => bytes.length);
  let number = 0;
  for await (const lines of linesIn(chunks, MAX_LINE)) {
    for (const text of lines) {
      number++;
      const line = valueIn(text);
      if (line !== "") yield { line, number };
    }
  }
}

/**
 * Splits a UTF-8 stream into lines, grouped by chunk.
 * @param longest maximum characters of an incomplete line that are held back; a longer one is yielded in parts, but a
 *   complete line is yielded whole, however long it is
 * @returns lines without their ends (LF, CRLF or CR); the last line does not need an end
 */
export async function* linesIn(
  chunks: AsyncIterable<Uint8Array>,
  longest = Number.POSITIVE_INFINITY,
): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let held = "";
  let endsInCr = false; // the LF of a CRLF may be in the next chunk
  for await (const chunk of chunks) {
    let text = decoder.decode(chunk, { stream: true });
    if (text === "") continue;
    if (endsInCr && text.startsWith("\n")) text = text.slice(1);
    endsInCr = text.endsWith("\r");
    const [first = "", ...others] = text.split(/\r\n?|\n/);
    const lines = [held + first, ...others]; // the text that was held back is not searched again
    held = lines.pop() ?? "";
    if (held.length > longest) {
      lines.push(held);
      held = "";
    }
    yield lines;
  }
  held += decoder.decode();
  if (held !== "") yield [held];
}
