// input.ts: the file that is read, or standard input: its beginning, and all of it, as UTF-8.

import { createReadStream, fstatSync, openSync, statSync } from "node:fs";
import { decode, type Encoding } from "@inkling/bulk/decode";
import { untilStopped } from "@inkling/bulk/errors";
import { CliError, explainFileError } from "../terminal/errors.ts";

/** As a file name: standard input or output. */
export const STDIN_OR_OUT = "-";
/** The format and the columns are detected in this much of the file. */
const HEAD_BYTES = 256 * 1024;
const LF = 0x0a;

export interface Input {
  readonly head: string;
  /** Bytes, as they are stored; undefined of a pipe. */
  readonly size: number | undefined;
  /** How many of them were read so far. */
  bytesRead(): number;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** What it was decoded from: gzip, zstd, UTF-16. */
  readonly encodings: readonly Encoding[];
}

/** Reads the beginning, and gives all of it back. @throws CliError, BulkError */
export async function openInput(file: string, signal: AbortSignal): Promise<Input> {
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
    let isWhole = false;
    while (length < HEAD_BYTES && !isWhole) {
      const { value, done } = await rest.next();
      isWhole = done === true;
      if (value === undefined) break;
      begun.push(value);
      length += value.length;
      if (!isFile && value.includes(LF)) break; // a pipe may not hold more for long
    }
    const head = Buffer.concat(begun).subarray(0, HEAD_BYTES);
    const lineEnd = isWhole && length <= HEAD_BYTES ? length : head.lastIndexOf(LF) + 1;
    return {
      head: head
        .subarray(0, lineEnd || head.length)
        .toString("utf8")
        .replace(/^\uFEFF/, ""),
      size: isFile ? stats.size : undefined,
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

/** A longer line is read in parts. */
const MAX_LINE = 1 << 20;

/** The lines of a file or of standard input, without blank ones. @throws CliError, BulkError */
export async function* linesOf(file: string, signal: AbortSignal): AsyncGenerator<string> {
  const { chunks } = await openInput(file, signal);
  const decoder = new TextDecoder();
  let held = "";
  for await (const chunk of chunks) {
    held += decoder.decode(chunk, { stream: true });
    const lines = held.split("\n");
    held = lines.pop()!;
    if (held.length > MAX_LINE) {
      lines.push(held);
      held = "";
    }
    yield* lines.map((line) => line.trim()).filter((line) => line !== "");
  }
  const last = (held + decoder.decode()).trim();
  if (last !== "") yield last;
}
