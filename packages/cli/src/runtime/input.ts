// input.ts: the file that is enriched, or standard input: its beginning, and all of it.

import { createReadStream, fstatSync, openSync, statSync } from "node:fs";
import { untilStopped } from "@inkling/bulk";
import { CliError, explainFileError } from "../terminal/errors.ts";

/** As a file name: standard input or output. */
export const STDIN_OR_OUT = "-";
/** The format and the columns are detected in this much of the file. */
const HEAD_BYTES = 256 * 1024;
const LF = 0x0a;

export interface Input {
  readonly head: string;
  /** Bytes; undefined of a pipe. */
  readonly size: number | undefined;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** Reads the beginning, and gives all of it back. @throws CliError */
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
    const rest = untilStopped(stream as AsyncIterable<Uint8Array>, signal);
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
      chunks: (async function* () {
        yield* begun;
        yield* rest;
      })(),
    };
  } catch (error) {
    throw explainFileError(error, file);
  }
}
